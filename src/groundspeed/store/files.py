"""The files of a run directory: their names, how they are written for good, plan and record lines.

What goes wrong with a file is told as a StoreError of one line.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import msgspec

from groundspeed import plan as plans
from groundspeed import record as records
from groundspeed.errors import StoreError
from groundspeed.record import Caution

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import Plan
    from groundspeed.record import Record

PLAN_FILE = "plan.json"
RECORDS_FILE = "records.jsonl"
# Blocks put by, so that the record of a trial that filled the disk still finds room.
RESERVE_FILE = "reserve"
RESERVE_BYTES = 1024 * 1024
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def store_error(error: OSError, path: Path) -> StoreError:
    """Word what went wrong with a file."""
    if error.errno in NO_ROOM:
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


def create_run(results_dir: Path, plan: Plan, run_id: str, *, may_be_begun: bool = False) -> Path:
    """Make the directory of a new run below `results_dir` and write its plan. Raises StoreError.

    The plan is there whole or not at all; `may_be_begun`: an earlier process may have made the
    directory and died before it wrote one.
    """
    run_dir = results_dir / run_id
    try:
        run_dir.mkdir(parents=True, exist_ok=may_be_begun)
        (run_dir / "raw").mkdir(exist_ok=may_be_begun)
        (run_dir / "series").mkdir(exist_ok=may_be_begun)
        write_durably(run_dir / PLAN_FILE, plans.encode(plan))
    except OSError as error:
        raise store_error(error, run_dir) from None
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


def decode_lines(data: bytes, path: Path) -> tuple[tuple[Record, ...], tuple[Caution, ...]]:
    """Read the records in `data`; a caution for each line that is none."""
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


def seconds_path(run_dir: Path, trial_id: str, attempt: int) -> Path:
    """Name the file with a trial's rows of the transaction log."""
    return run_dir / "series" / f"{trial_id}.{attempt}.csv"


def evidence_path(run_dir: Path, trial_id: str, attempt: int) -> Path:
    """Name the file with what probes saw in each second of a trial."""
    return run_dir / "series" / f"{trial_id}.{attempt}.evidence.parquet"
