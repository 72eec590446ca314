"""Reads the transaction log of a pgbench that ended long ago, with the native reader."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import msgspec

from groundspeed import native
from groundspeed.errors import UsageError
from groundspeed.record import LogTotals, SecondRow
from groundspeed.targets.log_reading import LogAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class PastLog(msgspec.Struct, frozen=True, kw_only=True):
    """All of a log; seconds count from its first line."""

    totals: LogTotals
    seconds: tuple[SecondRow, ...]


def read_log(
    files: Sequence[Path], *, duration_s: int | None, has_lag: bool, has_retries: bool
) -> PastLog:
    """Read the log files of one pgbench, one of each of its threads; none of them is changed.

    `has_lag` and `has_retries` say which columns stand at the end of a line. Without a duration
    the seconds end with the log. Raises UsageError for a file that cannot be read, TargetError
    where the native reader has not been built.
    """
    options = ["--seconds", str(duration_s)] if duration_s is not None else []
    options += ["--has-lag"] if has_lag else []
    options += ["--has-retries"] if has_retries else []
    done = subprocess.run(
        # Absolute: no name of a file is taken for an option.
        [native.executable_path("log_reader"), *options, *(file.resolve() for file in files)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    answer = LogAnswer()
    answer.feed(done.stdout)
    if done.returncode != 0 or answer.totals is None:
        told = done.stderr.decode(errors="replace").strip().splitlines() or ["it ended early"]
        raise UsageError(f"{files[0]}: cannot be read as a log: {told[0]}", "name a regular file")
    return PastLog(totals=answer.totals, seconds=tuple(answer.seconds))
