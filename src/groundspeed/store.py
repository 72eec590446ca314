"""One directory a run: `plan.json`, `records.jsonl`, `raw/`, `series/`. Append-only.

A record is on the disk before `append` returns. A line torn by a crash is recognised, set aside
and named in a caution; it never takes a neighbour with it.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import errno
import fcntl
import io
import os
from typing import TYPE_CHECKING, Self

import msgspec

from groundspeed import plan as plans
from groundspeed import record as records
from groundspeed.analyse import RunRecords
from groundspeed.errors import StoreError
from groundspeed.record import Caution, Failed, Measured, Record, SecondRow, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from groundspeed.plan import Plan

PLAN_FILE = "plan.json"
RECORDS_FILE = "records.jsonl"
# Blocks put by, so that the record of a trial that filled the disk still finds room.
RESERVE_FILE = "reserve"
RESERVE_BYTES = 1024 * 1024
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_LOCK_FILE = ".groundspeed.lock"
_SERIES_COLUMNS = (
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


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `groundspeed runs`. `state`: complete, interrupted, running, unreadable."""

    run_id: str
    path: str
    suite_name: str
    started_at: str
    planned_count: int
    measured_count: int
    failed_count: int
    skipped_count: int
    state: str


def _store_error(error: OSError, path: Path) -> StoreError:
    if error.errno in _NO_ROOM:
        return StoreError(
            f"{path}: the disk is full",
            "make room, then groundspeed resume the run directory",
        )
    return StoreError(f"{path}: {error.strerror}", "choose a directory you may write with --out")


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is there whole or not at all. Raises OSError."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_run(results_dir: Path, plan: Plan, run_id: str) -> Path:
    """Make the directory of a new run below `results_dir` and write its plan. Raises StoreError."""
    run_dir = results_dir / run_id
    try:
        run_dir.mkdir(parents=True)
        (run_dir / "raw").mkdir()
        (run_dir / "series").mkdir()
        write_durably(run_dir / PLAN_FILE, plans.encode(plan))
    except OSError as error:
        raise _store_error(error, run_dir) from None
    return run_dir


def read_plan(run_dir: Path) -> Plan:
    """Read the plan of a run. Raises StoreError when the directory holds none."""
    path = run_dir / PLAN_FILE
    try:
        data = path.read_bytes()
    except OSError:
        raise StoreError(
            f"{run_dir}: not a run directory", "groundspeed runs lists those there are"
        ) from None
    return plans.decode(data, source=str(path))


class RunLock:
    """Holds the results directory of a run for one groundspeed; a context manager.

    The lock is the kernel's and ends with the process, however that ends.
    """

    def __init__(self, results_dir: Path) -> None:
        self._path = results_dir / _LOCK_FILE
        self._file: io.TextIOWrapper | None = None

    def __enter__(self) -> Self:
        """Take the lock. Raises StoreError when another groundspeed has it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+")
        except OSError as error:
            raise _store_error(error, self._path.parent) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise StoreError(
                f"{self._path.parent}: another groundspeed (pid {owner}) is measuring into it",
                "wait until it ends: two at once would disturb each other's figures",
            ) from None
        self._file = file
        # Only told to others: a disk too full for it is found, and said, where records are kept.
        with contextlib.suppress(OSError):
            file.truncate(0)
            os.write(file.fileno(), str(os.getpid()).encode())
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


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
            self._records = list(_decode_lines(data[:whole], self._path)[0])
            self._size = whole
            # Set once the disk was full: the trial at hand is still kept, then the run ends.
            self._full: StoreError | None = None
            self._file = self._path.open("ab", buffering=0)
            # Tells those who list runs that this one is open; it ends with the process.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise _store_error(error, self._path) from None
        try:
            self._reserve()
            sync_directory(run_dir)
        except OSError as error:
            self.close()
            raise _store_error(error, self._path) from None

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
            self._full = _store_error(error, path)
            if error.errno not in _NO_ROOM:
                raise self._full from None
            (self._dir / RESERVE_FILE).unlink(missing_ok=True)
            try:
                write()
            except OSError as second_error:
                raise _store_error(second_error, path) from None

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
        writer.writerow(_SERIES_COLUMNS)
        writer.writerows(msgspec.structs.astuple(row) for row in rows)
        self._write_file(self._dir / "series" / f"{trial_id}.{attempt}.csv", text.getvalue())

    def _write_file(self, path: Path, text: str) -> None:
        data = text.encode("utf-8", errors="backslashreplace")
        self._with_reserve(lambda: path.write_bytes(data), path)


def _decode_lines(data: bytes, path: Path) -> tuple[tuple[Record, ...], tuple[Caution, ...]]:
    found: list[Record] = []
    cautions: list[Caution] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line:
            continue
        try:
            found.append(records.decode(line))
        except msgspec.DecodeError:
            message = f"{path.name} line {number} is torn and was left out; its trial has no record"
            cautions.append(Caution(code="torn-record", message=message))
    return tuple(found), tuple(cautions)


def _read_records(run_dir: Path) -> tuple[tuple[Record, ...], tuple[Caution, ...]]:
    path = run_dir / RECORDS_FILE
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise _store_error(error, path) from None
    found, cautions = _decode_lines(data, path)
    aside = len(list(run_dir.glob("torn-*")))
    if aside:
        message = f"{aside} torn line(s) at the end of {path.name} were set aside in torn-*"
        cautions += (Caution(code="torn-record", message=message),)
    return found, cautions


def read_run(run_dir: Path) -> RunRecords:
    """Read a run directory for analysis; changes nothing in it. Raises StoreError."""
    plan = read_plan(run_dir)
    found, cautions = _read_records(run_dir)
    return RunRecords(
        run_id=run_dir.resolve().name,
        suite_name=plan.suite_name,
        description=plan.description,
        planned_trial_count=len(plan.trials),
        environments=tuple(e.name for e in plan.environments),
        workloads=tuple(w.name for w in plan.workloads),
        writing_workloads=tuple(w.name for w in plan.workloads if w.writes),
        records=found,
        seconds={
            r.trial.trial_id: _read_seconds(run_dir, r)
            for r in found
            if isinstance(r.outcome, Measured)
        },
        cautions=cautions,
    )


def _read_seconds(run_dir: Path, record: Record) -> tuple[SecondRow, ...]:
    path = run_dir / "series" / f"{record.trial.trial_id}.{record.attempt}.csv"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
        return tuple(
            SecondRow(
                index=int(row[0]),
                count=int(row[1]),
                failed=int(row[2]),
                skipped=int(row[3]),
                mean_us=_optional(row[4]),
                p50_us=_optional(row[5]),
                p95_us=_optional(row[6]),
                p99_us=_optional(row[7]),
                max_us=_optional(row[8]),
            )
            for row in csv.reader(lines)
        )
    except (OSError, ValueError, IndexError):
        # A series is for pictures; the record has the figures, so a lost one costs no result.
        return ()


def _optional(text: str) -> float | None:
    return float(text) if text else None


def list_runs(results_dir: Path) -> tuple[RunInfo, ...]:
    """List the runs below a results directory, newest first; empty when it does not exist."""
    found = [_run_info(path.parent) for path in results_dir.glob(f"*/{PLAN_FILE}")]
    return tuple(sorted(found, key=lambda info: (info.started_at, info.run_id), reverse=True))


def _run_info(run_dir: Path) -> RunInfo:
    created_s = (run_dir / PLAN_FILE).stat().st_mtime
    started_at = dt.datetime.fromtimestamp(created_s, tz=dt.UTC).isoformat(timespec="seconds")
    try:
        plan = read_plan(run_dir)
        found, _ = _read_records(run_dir)
    except StoreError:
        # One run that cannot be read, by damage or a later version, must not hide the others.
        return RunInfo(
            run_id=run_dir.name,
            path=str(run_dir),
            suite_name="",
            started_at=started_at,
            planned_count=0,
            measured_count=0,
            failed_count=0,
            skipped_count=0,
            state="unreadable",
        )
    last = {record.trial.trial_id: record.outcome for record in found}
    outcomes = list(last.values())
    active = _is_locked(run_dir / RECORDS_FILE)
    complete = len(last) == len(plan.trials) and not any(
        isinstance(o, Failed) and o.retryable for o in outcomes
    )
    return RunInfo(
        run_id=run_dir.name,
        path=str(run_dir),
        suite_name=plan.suite_name,
        started_at=started_at,
        planned_count=len(plan.trials),
        measured_count=sum(isinstance(o, Measured) for o in outcomes),
        failed_count=sum(isinstance(o, Failed) for o in outcomes),
        skipped_count=sum(isinstance(o, Skipped) for o in outcomes),
        state="running" if active else "complete" if complete else "interrupted",
    )
