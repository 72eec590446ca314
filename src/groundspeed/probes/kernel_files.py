"""Files of /proc and /sys as bytes: kept open where they are read again and again.

A file that cannot be read is empty; who reads it says what is absent. It parses no more than a
number behind a label.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# /proc/stat of a machine with hundreds of processors still fits.
_CHUNK_BYTES = 1 << 16
_U32_COUNT = 1 << 32


class KeptFile:
    """A file that is read once a second through one descriptor: no look-up of its path."""

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        self._descriptor: int | None = None

    def read(self) -> bytes:
        """Read it from its begin; empty where it cannot be read (any more)."""
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_RDONLY)
            # The kernel hands out a file made of records (diskstats) in pieces of a page.
            text = b""
            while chunk := os.pread(self._descriptor, _CHUNK_BYTES, len(text)):
                text += chunk
        except OSError:
            self.close()
            return b""
        return text

    def read_record(self, most_bytes: int) -> bytes:
        """Read a file of one short record with one call; empty where it cannot be read."""
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_RDONLY)
            return os.pread(self._descriptor, most_bytes, 0)
        except OSError:
            self.close()
            return b""

    def close(self) -> None:
        """Let go of the descriptor; reading opens the file again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def read_bytes(path: Path | str, most_bytes: int = _CHUNK_BYTES) -> bytes:
    """Read a file of one record with three calls; empty where it cannot be read.

    One made of many records (vmstat, mountinfo, net/*) would end after a page: `read_whole`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, most_bytes)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def read_whole(path: Path | str) -> bytes:
    """Read a file of any length; empty where it cannot be read."""
    file = KeptFile(path)
    try:
        return file.read()
    finally:
        file.close()


def whole_number(text: bytes) -> int | None:
    """Give the number that is all of a file; None where it is something else, such as "max"."""
    try:
        return int(text)
    except ValueError:
        return None


def number_after(text: bytes, label: bytes) -> int | None:
    """Give the whole number behind a label at the begin of a line, such as b"Dirty:"."""
    at = 0 if text.startswith(label) else text.find(b"\n" + label) + 1
    if not at and not text.startswith(label):
        return None
    words = text[at + len(label) : at + len(label) + 40].split(None, 1)
    return whole_number(words[0]) if words else None


def grown(before: int, after: int) -> int:
    """Tell how much a counter grew, at least 0, also where it has 32 bits and began anew.

    /proc/diskstats prints its times as 32 bits on every machine. A counter that fell from a low
    value belongs to a device that was made again, or is one of those that the kernel corrects
    (iowait); that is no growth.
    """
    if after >= before:
        return after - before
    wrapped = after + _U32_COUNT - before
    return wrapped if 0 <= wrapped < _U32_COUNT // 2 else 0


def numbers_of_list(text: bytes) -> frozenset[int]:
    """Give the members of a kernel list such as b"0-3,8"; empty where it is none."""
    members: set[int] = set()
    for part in text.split(b","):
        low, _, high = part.strip().partition(b"-")
        if not low.isdigit() or (high and not high.isdigit()):
            return frozenset()
        members.update(range(int(low), int(high or low) + 1))
    return frozenset(members)
