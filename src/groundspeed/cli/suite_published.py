"""Whether what a suite names of a publication is there, before anything is measured."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from groundspeed import published
from groundspeed.errors import SpecError, UsageError

if TYPE_CHECKING:
    from groundspeed import spec

_WHERE = "published"
_PAIRS = "published_environments"


def check_published(suite: spec.Suite) -> None:
    """Raise SpecError for a publication, or environments of one, that are not there.

    Two environments at least and a workload have to be in it by name: fewer have no ratio.
    """
    if suite.published is None:
        return
    try:
        publication = published.publication(suite.published)
    except UsageError as error:
        raise SpecError(f"{_WHERE}: {error}", error.hint) from None
    figures = published.published_figures(publication)
    theirs = list(dict.fromkeys(figure.environment for figure in figures))
    for ours, name in suite.published_environments.items():
        if ours not in suite.environments:
            raise SpecError(*_unknown(f"{_PAIRS}.{ours}", ours, list(suite.environments)))
        if name not in theirs:
            raise SpecError(*_unknown(f"{_PAIRS}.{ours}", name, theirs))
    named = [suite.published_environments.get(name, name) for name in suite.environments]
    if len({*named} & {*theirs}) < 2:  # noqa: PLR2004 - a ratio is of two
        raise SpecError(
            f"{_WHERE}: {suite.published} has fewer than two of the environments by these names",
            f"it has {', '.join(theirs)}: name them so, or pair them in {_PAIRS}",
        )
    loads = list(dict.fromkeys(figure.workload for figure in figures))
    if not {w if isinstance(w, str) else w.name for w in suite.workloads} & {*loads}:
        raise SpecError(
            f"{_WHERE}: {suite.published} has none of the workloads by these names",
            f"it has {', '.join(loads)}: name a workload so",
        )


def _unknown(where: str, name: str, known: list[str]) -> tuple[str, str]:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"{where}: there is no environment {name!r}", hint
