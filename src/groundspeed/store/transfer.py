"""How a run directory travels: what one side has, and what the other then sends.

The receiver sends one line of JSON, a `Wanted`. The answer is one line with an `Opening`, then for
each file that has news one line with a `Part` and its bytes, and last a `Closing`. An answer that
ends without one was torn; whatever arrived whole before that is good.
"""

from __future__ import annotations

import errno
import hashlib
from typing import TYPE_CHECKING

import msgspec

from groundspeed.store.files import RECORDS_FILE, RESERVE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = 1
# Where the receiver puts files by that the other side has another of.
ASIDE = "aside"
PART_SUFFIX = ".part"
CLUSTER_FILE = "cluster.json"
# Of one machine alone: its reserve, its report, what is half written, what it knows of a cluster.
_OWN_NAMES = frozenset({RESERVE_FILE, "report.html", CLUSTER_FILE})
_OWN_SUFFIXES = (".new", PART_SUFFIX, ".lock")
_BLOCK_BYTES = 64 * 1024


class Have(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a side has, up to `size_bytes`; `sha256` is over these bytes."""

    path: str
    size_bytes: int
    modified_ns: int
    sha256: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the receiver has; everything else is wanted, but for what it goes `without`."""

    format: int = FORMAT
    have: tuple[Have, ...] = ()
    without: tuple[str, ...] = ()


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of an answer. `is_there` tells whether the run directory is."""

    format: int = FORMAT
    is_there: bool


class Part(msgspec.Struct, frozen=True, kw_only=True, tag="part"):
    """What comes next: bytes of a file from `offset_bytes` to `file.size_bytes`.

    With an offset the receiver has the bytes before it; with 0 it gets the whole file.
    """

    offset_bytes: int
    file: Have


class Closing(msgspec.Struct, frozen=True, kw_only=True, tag="closing"):
    """The last line of an answer."""

    part_count: int


def files_of(run_dir: Path) -> Iterator[str]:
    """List what travels of a run directory, by path below it; records come last.

    So whoever has a record has its files: they are written before it, and sent before it.
    """
    found = sorted(
        path.relative_to(run_dir).as_posix()
        for path in run_dir.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    travelling = [path for path in found if travels(path)]
    yield from (path for path in travelling if path != RECORDS_FILE)
    yield from (path for path in travelling if path == RECORDS_FILE)


def travels(path: str) -> bool:
    """Tell whether a file of a run directory is the run's, and not of one machine alone."""
    first, *rest = path.split("/")
    if first == ASIDE or first.startswith(".") or (not rest and first in _OWN_NAMES):
        return False
    return not path.endswith(_OWN_SUFFIXES)


def whole_bytes(path: Path) -> int:
    """Measure a file, records up to the end of their last whole line alone. Raises OSError."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        if path.name != RECORDS_FILE:
            return end
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def blocks_of(path: Path, start: int, end: int) -> Iterator[bytes]:
    """Read some bytes of a file. Raises OSError, also when it ends before them."""
    with path.open("rb") as file:
        file.seek(start)
        while start < end:
            block = file.read(min(_BLOCK_BYTES, end - start))
            if not block:
                raise OSError(errno.EIO, "became shorter while it was read")
            start += len(block)
            yield block


def sha256_of(path: Path, end: int) -> str:
    """Hash the first `end` bytes of a file. Raises OSError."""
    whole = hashlib.sha256()
    for block in blocks_of(path, 0, end):
        whole.update(block)
    return whole.hexdigest()
