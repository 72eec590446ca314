"""Writes a run directory: every record is on the disk before the next trial starts."""

from __future__ import annotations

import csv
import fcntl
import io
import os
from typing import TYPE_CHECKING

import msgspec

from groundspeed import record as records
from groundspeed.store import parquet
from groundspeed.store.files import (
    NO_ROOM,
    RECORDS_FILE,
    RESERVE_BYTES,
    RESERVE_FILE,
    decode_lines,
    evidence_path,
    seconds_path,
    store_error,
    sync_directory,
    write_durably,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from groundspeed.errors import StoreError
    from groundspeed.record import Record, SecondRow, Series

_SECONDS_COLUMNS = (
    "second_index",
    "logged_count",
    "failed_count",
    "skipped_count",
    "mean_us",
    "p50_us",
    "p95_us",
    "p99_us",
    "max_us",
)


class RunStore:
    """The records of one run directory, for writing. Implements `ports.Store`."""

    def __init__(self, run_dir: Path) -> None:
        """Open a run directory; a torn last line is moved aside. Raises StoreError."""
        self._dir = run_dir
        self._path = run_dir / RECORDS_FILE
        try:
            data = self._path.read_bytes() if self._path.exists() else b""
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                self._set_aside(data[whole:])
                os.truncate(self._path, whole)
            self._records = list(decode_lines(data[:whole], self._path)[0])
            self._size = whole
            # Set once the disk was full: the trial at hand is still kept, then the run ends.
            self._full: StoreError | None = None
            self._file = self._path.open("ab", buffering=0)
            # Tells those who list runs that this one is open; it ends with the process.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise store_error(error, self._path) from None
        try:
            self._reserve()
            sync_directory(run_dir)
        except OSError as error:
            self.close()
            raise store_error(error, self._path) from None

    def _set_aside(self, torn: bytes) -> None:
        number = len(list(self._dir.glob("torn-*")))
        write_durably(self._dir / f"torn-{number}", torn)

    def _reserve(self) -> None:
        with (self._dir / RESERVE_FILE).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)

    def close(self) -> None:
        """Give back the reserve."""
        self._file.close()
        (self._dir / RESERVE_FILE).unlink(missing_ok=True)

    def records(self) -> tuple[Record, ...]:
        """All records so far, oldest first."""
        return tuple(self._records)

    def append(self, record: Record) -> None:
        """Keep a record for good. Raises StoreError; then the file is as it was before.

        On a full disk the reserve is given up first: this record is kept, and the error comes
        after it, so that the run ends with everything that was measured.
        """
        self._with_reserve(lambda: self._write(records.encode(record)), self._path)
        self._records.append(record)
        if self._full is not None:
            raise self._full

    def _with_reserve(self, write: Callable[[], object], path: Path) -> None:
        try:
            write()
        except OSError as error:
            self._full = store_error(error, path)
            if error.errno not in NO_ROOM:
                raise self._full from None
            (self._dir / RESERVE_FILE).unlink(missing_ok=True)
            try:
                write()
            except OSError as second_error:
                raise store_error(second_error, path) from None

    def _write(self, line: bytes) -> None:
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
            os.fsync(self._file.fileno())
        except OSError:
            os.truncate(self._path, self._size)
            raise
        self._size += len(line)

    def write_raw(self, name: str, text: str) -> None:
        """Keep the raw output of a tool. Raises StoreError."""
        self._write_file(self._dir / "raw" / name, text)

    def write_seconds(self, trial_id: str, attempt: int, rows: tuple[SecondRow, ...]) -> None:
        """Keep the per-second series of a trial as CSV. Raises StoreError."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(_SECONDS_COLUMNS)
        writer.writerows(msgspec.structs.astuple(row) for row in rows)
        self._write_file(seconds_path(self._dir, trial_id, attempt), text.getvalue())

    def write_series(self, trial_id: str, attempt: int, series: Series) -> None:
        """Keep what probes saw in each second of a trial as Parquet. Raises StoreError."""
        path, data = evidence_path(self._dir, trial_id, attempt), parquet.encode(series)
        self._with_reserve(lambda: path.write_bytes(data), path)

    def _write_file(self, path: Path, text: str) -> None:
        data = text.encode("utf-8", errors="backslashreplace")
        self._with_reserve(lambda: path.write_bytes(data), path)
