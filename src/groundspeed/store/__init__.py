"""One directory a run: `plan.json`, `records.jsonl`, `raw/`, `series/`. Append-only.

A record is on the disk before `append` returns. A line torn by a crash is recognised, set aside
and named in a caution; it never takes a neighbour with it.
"""

from groundspeed.store.files import (
    PLAN_FILE,
    RECORDS_FILE,
    RESERVE_BYTES,
    RESERVE_FILE,
    create_run,
    read_plan,
    sync_directory,
    write_durably,
)
from groundspeed.store.locks import RunLock
from groundspeed.store.reading import (
    RunInfo,
    imported_files,
    list_runs,
    read_records,
    read_run,
    run_info,
)
from groundspeed.store.writing import RunStore

__all__ = [
    "PLAN_FILE",
    "RECORDS_FILE",
    "RESERVE_BYTES",
    "RESERVE_FILE",
    "RunInfo",
    "RunLock",
    "RunStore",
    "create_run",
    "imported_files",
    "list_runs",
    "read_plan",
    "read_records",
    "read_run",
    "run_info",
    "sync_directory",
    "write_durably",
]
