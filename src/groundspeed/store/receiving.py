"""Receives of a run directory what another side has, into one that `groundspeed report` can read.

Nothing that is there is lost: records are only added to, by whole lines, and a file that the other
side has another of is put aside. An answer may be torn at any byte; the next one goes on.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import StoreError
from groundspeed.store.files import PLAN_FILE, RECORDS_FILE, store_error, sync_directory
from groundspeed.store.transfer import (
    ASIDE,
    FORMAT,
    PART_SUFFIX,
    Closing,
    Have,
    Opening,
    Part,
    Wanted,
    files_of,
    sha256_of,
    travels,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

_LOCK_FILE = ".collecting.lock"
# A line of ours is far below that; what is longer was never one.
_LONGEST_LINE_BYTES = 64 * 1024
_OPENINGS = msgspec.json.Decoder(Opening)
_LINES: msgspec.json.Decoder[Part | Closing] = msgspec.json.Decoder(Part | Closing)


class _TornError(Exception):
    """The answer ended before its end."""


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one answer. `changed` are paths that have news.

    `is_whole` tells whether everything that the other side had is here now; `is_there` whether it
    had the run directory at all.
    """

    is_there: bool
    is_whole: bool
    changed: tuple[str, ...] = ()


class Receiver:
    """Keeps a local copy of a run directory; the sums of what is there are remembered."""

    def __init__(self, run_dir: Path) -> None:
        self._dir = run_dir
        self._known: dict[str, Have] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other receivers out, from asking until the answer is kept. Raises StoreError."""
        path = self._dir / _LOCK_FILE
        try:
            file = path.open("ab")
        except OSError as error:
            raise store_error(error, path) from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def wanted(self) -> Wanted:
        """Say what is here. Raises StoreError."""
        paths = [path for path in files_of(self._dir) if path != PLAN_FILE]
        # A plan is never changed, and the one that was made here knows where its suite is.
        without = (PLAN_FILE,) if (self._dir / PLAN_FILE).exists() else ()
        return Wanted(have=tuple(self._have(path) for path in paths), without=without)

    def _have(self, path: str) -> Have:
        whole = self._dir / path
        try:
            stat = whole.stat()
            known = self._known.get(path)
            found = (stat.st_size, stat.st_mtime_ns)
            if known is None or (known.size_bytes, known.modified_ns) != found:
                sha256 = sha256_of(whole, stat.st_size)
                known = Have(path=path, size_bytes=found[0], modified_ns=found[1], sha256=sha256)
                self._known[path] = known
        except OSError as error:
            raise store_error(error, whole) from None
        return known

    def keep(self, blocks: Iterable[bytes]) -> Received:
        """Keep what an answer brings. Raises StoreError where it cannot be kept here.

        A torn or damaged answer raises nothing: it is not whole.
        """
        stream = _Stream(blocks)
        changed: list[str] = []
        is_there = is_whole = False
        try:
            opening = stream.opening()
            if opening.format != FORMAT:
                raise StoreError(
                    f"results come in format {opening.format}, this groundspeed knows {FORMAT}",
                    "use the same groundspeed on both sides",
                )
            is_there, is_whole = opening.is_there, True
            while not isinstance(line := stream.line(), Closing):
                if self._keep_part(line, stream):
                    changed.append(line.file.path)
                else:
                    is_whole = False
        except (_TornError, msgspec.DecodeError):
            is_whole = False
        return Received(is_there=is_there, is_whole=is_whole, changed=tuple(changed))

    def _keep_part(self, part: Part, stream: _Stream) -> bool:
        """Keep a file; False when it did not arrive as it was sent."""
        name = part.file.path
        if PurePosixPath(name).is_absolute() or ".." in name.split("/") or not travels(name):
            raise StoreError(
                f"{name!r} was sent as a file of the run", "that is no run directory of groundspeed"
            )
        path = self._dir / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if part.offset_bytes or name == RECORDS_FILE:
                good = self._append(path, part, stream)
            else:
                good = self._replace(path, part, stream)
            if good:
                os.utime(path, ns=(part.file.modified_ns, part.file.modified_ns))
                self._known[name] = part.file
        except OSError as error:
            raise store_error(error, path) from None
        return good

    def _append(self, path: Path, part: Part, stream: _Stream) -> bool:
        size = path.stat().st_size if path.exists() else 0
        if size != part.offset_bytes:
            # Of records this is the answer where ours are not the beginning of theirs.
            raise StoreError(
                f"{path}: is not the beginning of what the cluster has",
                "name another directory with --out: this one is of another run",
            )
        try:
            with path.open("ab", buffering=0) as file:
                _write_lines(file, part, stream)
                os.fsync(file.fileno())
        except _TornError:
            if part.file.path != RECORDS_FILE:
                os.truncate(path, size)
            raise
        if sha256_of(path, part.file.size_bytes) == part.file.sha256:
            return True
        os.truncate(path, size)
        return False

    def _replace(self, path: Path, part: Part, stream: _Stream) -> bool:
        temporary = path.with_name(path.name + PART_SUFFIX)
        with temporary.open("wb") as file:
            for block in stream.take(part.file.size_bytes):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        if sha256_of(temporary, part.file.size_bytes) != part.file.sha256:
            temporary.unlink()
            return False
        if path.exists():
            self._put_aside(path, part.file.path)
        temporary.replace(path)
        sync_directory(path.parent)
        return True

    def _put_aside(self, path: Path, name: str) -> None:
        place = self._dir / ASIDE / name
        place.parent.mkdir(parents=True, exist_ok=True)
        number = 1
        while (target := place.with_name(f"{place.name}.{number}")).exists():
            number += 1
        path.rename(target)


def _write_lines(file: BinaryIO, part: Part, stream: _Stream) -> None:
    """Write what comes by whole lines: a reader beside us never meets half a record."""
    held = b""
    for block in stream.take(part.file.size_bytes - part.offset_bytes):
        whole = block.rfind(b"\n") + 1
        if not whole:
            held += block
            continue
        _write(file, held + block[:whole])
        held = block[whole:]
    _write(file, held)


def _write(file: BinaryIO, data: bytes) -> None:
    while data:
        data = data[file.write(data) :]


class _Stream:
    """Lines and counted bytes out of blocks of any size."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._held = b""

    def opening(self) -> Opening:
        return _OPENINGS.decode(self._line())

    def line(self) -> Part | Closing:
        return _LINES.decode(self._line())

    def _line(self) -> bytes:
        while (end := self._held.find(b"\n")) < 0:
            if len(self._held) > _LONGEST_LINE_BYTES:
                raise _TornError
            self._held += self._next()
        line, self._held = self._held[:end], self._held[end + 1 :]
        return line

    def take(self, count: int) -> Iterator[bytes]:
        while count > 0:
            block = self._held or self._next()
            yield block[:count]
            # Only once it was used: nothing is taken for good that was not.
            self._held = block[count:]
            count -= len(block[:count])

    def _next(self) -> bytes:
        block = next(self._blocks, None)
        if block is None:
            raise _TornError
        return block
