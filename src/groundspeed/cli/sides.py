"""What people type for the two sides of a comparison becomes runs and environments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from groundspeed import published, store
from groundspeed.analyse.sides import Side
from groundspeed.cli.arguments import RUN_DIR
from groundspeed.errors import UsageError
from groundspeed.importing import PUBLISHED_SUFFIX, run_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse import RunRecords

_TWO, _THREE = 2, 3
# Before the name of a publication, where else a run stands.
_PUBLISHED = "published:"


class _Asked(NamedTuple):
    """A side as typed; the path of a publication is its name behind `published:`."""

    path: Path
    environment: str | None


def sides_of(operands: Sequence[str]) -> tuple[tuple[Side, Side], ...]:
    """Read RUN ENV ENV, or RUN[:ENV] RUN[:ENV], as (baseline, candidate) pairs.

    A RUN is a run directory or published:NAME, a publication of the catalogue. Two runs without an
    environment are compared in each that both have. Raises UsageError and StoreError.
    """
    if len(operands) == _THREE:
        path = _run_path(operands[0])
        asked = [_Asked(path, name) for name in operands[1:]]
    elif len(operands) == _TWO:
        asked = [_asked(text) for text in operands]
    else:
        raise UsageError(
            "two sides are compared",
            "name a run and two of its environments, or two runs; RUN:ENV names one environment",
        )
    first, second = asked
    # One object for one directory, however it was typed: that is how a run is known for one.
    paths = {path.resolve(): path for path in (second.path, first.path)}
    runs = {resolved: _read(path) for resolved, path in paths.items()}
    ours, theirs = runs[first.path.resolve()], runs[second.path.resolve()]
    first, second = _in_full(first, ours), _in_full(second, theirs)
    return tuple(
        _pair(first, second, (ours, theirs), names)
        for names in _environments(first, second, (ours, theirs))
    )


def _run_path(text: str) -> Path:
    return Path(text) if text.startswith(_PUBLISHED) else RUN_DIR.convert(text, None, None)


def _read(path: Path) -> RunRecords:
    if not str(path).startswith(_PUBLISHED):
        return store.read_run(path)
    name = str(path).removeprefix(_PUBLISHED)
    publication, slash, environment = name.partition("/")
    if slash:
        raise UsageError(
            f"{name}: no such publication", f"did you mean {_PUBLISHED}{publication}:{environment}?"
        )
    return run_records(published.publication(name), published.content(name))


def _in_full(asked: _Asked, run: RunRecords) -> _Asked:
    """Let people leave out that an environment is published, which its name says."""
    full = f"{asked.environment}{PUBLISHED_SUFFIX}"
    if asked.environment not in run.environments and full in run.environments:
        return asked._replace(environment=full)
    return asked


def _asked(text: str) -> _Asked:
    """Split RUN:ENV; a directory with a colon in its name is taken for what it is."""
    if text.startswith(_PUBLISHED):
        name, _, environment = text.removeprefix(_PUBLISHED).partition(":")
        return _Asked(Path(_PUBLISHED + name), environment or None)
    try:
        return _Asked(RUN_DIR.convert(text, None, None), None)
    except UsageError:
        path, colon, environment = text.rpartition(":")
        if not colon:
            raise
        return _Asked(RUN_DIR.convert(path, None, None), environment)


def _environments(
    first: _Asked, second: _Asked, runs: tuple[RunRecords, RunRecords]
) -> list[tuple[str, str]]:
    ours, theirs = runs
    if ours is theirs and None in (first.environment, second.environment):
        raise UsageError(
            f"{first.path} is one run, and its environments are what can be compared",
            f"name two of: {', '.join(ours.environments)}",
        )
    if first.environment is None and second.environment is None:
        names = [name for name in ours.environments if name in theirs.environments]
        if names:
            return [(name, name) for name in names]
        if len(ours.environments) == len(theirs.environments) == 1:
            return [(ours.environments[0], theirs.environments[0])]
        raise UsageError(
            f"{first.path} and {second.path} have no environment of one name",
            "name them, as in RUN:ENV RUN:ENV",
        )
    for asked, run in ((first, ours), (second, theirs)):
        if asked.environment is not None:
            _refuse_unknown(asked.environment, run, asked.path)
    left = first.environment or _like(second.environment, ours, first.path)
    right = second.environment or _like(first.environment, theirs, second.path)
    if ours is theirs and left == right:
        raise UsageError(f"{left!r} is compared with itself", "name two environments")
    return [(left, right)]


def _like(name: str | None, run: RunRecords, path: Path) -> str:
    """Choose the environment of the other side's name, or the only one there is."""
    if len(run.environments) == 1 and name not in run.environments:
        return run.environments[0]
    _refuse_unknown(name or "", run, path)
    return name or ""


def _refuse_unknown(name: str, run: RunRecords, path: Path) -> None:
    if name not in run.environments:
        raise UsageError(
            f"{path} has no environment {name!r}", f"name one of: {', '.join(run.environments)}"
        )


def _pair(
    first: _Asked, second: _Asked, runs: tuple[RunRecords, RunRecords], names: tuple[str, str]
) -> tuple[Side, Side]:
    ours, theirs = runs
    if ours is theirs:
        titles = names
    else:
        ids = (ours.run_id, theirs.run_id)
        if ids[0] == ids[1]:
            ids = (str(first.path), str(second.path))
        titles = (f"{ids[0]}:{names[0]}", f"{ids[1]}:{names[1]}")
    return (
        Side(name=titles[0], run=ours, environment=names[0]),
        Side(name=titles[1], run=theirs, environment=names[1]),
    )
