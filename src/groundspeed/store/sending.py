"""Sends of a run directory what another one has not got; it only reads.

The run may write into the directory meanwhile: files only grow, and one that was written anew in
that moment arrives with another sum and is sent again the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import StoreError
from groundspeed.store.files import RECORDS_FILE, store_error
from groundspeed.store.transfer import (
    FORMAT,
    Closing,
    Have,
    Opening,
    Part,
    Wanted,
    blocks_of,
    files_of,
    sha256_of,
    whole_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read_wanted(line: bytes) -> Wanted:
    """Read what a receiver says. Raises StoreError when it is of another format."""
    try:
        wanted = msgspec.json.decode(line, type=Wanted)
    except msgspec.DecodeError:
        raise StoreError(
            "what is wanted of the results is not understood", "groundspeed collect asks for them"
        ) from None
    if wanted.format != FORMAT:
        raise StoreError(
            f"results are wanted in format {wanted.format}, this groundspeed has {FORMAT}",
            "use the same groundspeed on both sides",
        )
    return wanted


def send(run_dir: Path, wanted: Wanted) -> Iterator[bytes]:
    """Give the answer to what is wanted, piece by piece. Raises StoreError."""
    yield _line(Opening(is_there=run_dir.is_dir()))
    there = {each.path: each for each in wanted.have}
    count = 0
    # Measured before all others are listed: what these records name is then among them.
    records_bytes = _whole_bytes(run_dir / RECORDS_FILE)
    for path in files_of(run_dir):
        if path in wanted.without:
            continue
        part = _part(run_dir / path, path, there.get(path), records_bytes)
        if part is None:
            continue
        yield _line(part)
        yield from _blocks(run_dir / path, part)
        count += 1
    yield _line(Closing(part_count=count))


def _part(path: Path, name: str, theirs: Have | None, records_bytes: int) -> Part | None:
    """Say what is sent of a file; None where nothing is new."""
    try:
        # Before its size: what is written in between makes it newer than what is sent.
        modified_ns = path.stat().st_mtime_ns
        end = records_bytes if name == RECORDS_FILE else whole_bytes(path)
        if theirs is not None and (theirs.size_bytes, theirs.modified_ns) == (end, modified_ns):
            return None
        offset = _known_bytes(path, end, theirs)
        sha256 = sha256_of(path, end)
    except FileNotFoundError:
        # Gone since it was listed, as a file that is replaced is for a moment.
        return None
    except OSError as error:
        raise store_error(error, path) from None
    file = Have(path=name, size_bytes=end, modified_ns=modified_ns, sha256=sha256)
    return Part(offset_bytes=offset, file=file)


def _known_bytes(path: Path, end: int, theirs: Have | None) -> int:
    if theirs is None or theirs.size_bytes > end:
        return 0
    return theirs.size_bytes if sha256_of(path, theirs.size_bytes) == theirs.sha256 else 0


def _whole_bytes(path: Path) -> int:
    try:
        return whole_bytes(path)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise store_error(error, path) from None


def _blocks(path: Path, part: Part) -> Iterator[bytes]:
    try:
        yield from blocks_of(path, part.offset_bytes, part.file.size_bytes)
    except OSError as error:
        raise store_error(error, path) from None


def _line(message: Opening | Part | Closing) -> bytes:
    return msgspec.json.encode(message) + b"\n"
