"""The publications that come with groundspeed: packaged JSON files, found by name."""

from __future__ import annotations

import difflib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from groundspeed.errors import UsageError
from groundspeed.published.publication import parse

if TYPE_CHECKING:
    from groundspeed.published.publication import Publication

_PACKAGE = "groundspeed.published"
_SUFFIX = ".json"


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """List the publications of the catalogue by name."""
    files = resources.files(_PACKAGE).iterdir()
    return tuple(
        sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))
    )


def publication(name: str) -> Publication:
    """Read a publication of the catalogue. Raises UsageError when there is none of that name."""
    return parse(content(name), name=name)


def content(name: str) -> bytes:
    """Read the file of a publication. Raises UsageError when there is none of that name."""
    # Looked up in the list and never joined to a path as given: a name is not a way out of here.
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"published are {', '.join(names())}"
        raise UsageError(f"{name}: no such publication in the catalogue", hint)
    return resources.files(_PACKAGE).joinpath(name + _SUFFIX).read_bytes()
