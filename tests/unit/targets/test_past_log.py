from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import UsageError
from groundspeed.targets.past_log import read_log

if TYPE_CHECKING:
    from pathlib import Path

EPOCH_S = 1_767_225_600


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_all_files_of_a_pgbench_are_one_log(tmp_path: Path) -> None:
    first = write(tmp_path / "log.7", [f"0 1 1000 0 {EPOCH_S} 0", f"0 2 3000 0 {EPOCH_S + 2} 9"])
    second = write(tmp_path / "log.7.1", [f"1 1 2000 0 {EPOCH_S} 500000"])
    before = first.read_bytes()
    found = read_log([first, second], duration_s=3, has_lag=False, has_retries=False)
    assert (found.totals.count, found.totals.sum_us) == (3, 6000)
    assert (found.totals.min_us, found.totals.max_us) == (1000, 3000)
    assert found.totals.first_us == EPOCH_S * 1_000_000
    assert [row.count for row in found.seconds] == [2, 0, 1]
    assert first.read_bytes() == before


def test_columns_behind_the_time_are_as_told(tmp_path: Path) -> None:
    log = write(
        tmp_path / "log.7", [f"0 1 1000 0 {EPOCH_S} 0 40 2", f"0 2 failed 0 {EPOCH_S} 9 0 1"]
    )
    found = read_log([log], duration_s=None, has_lag=True, has_retries=True)
    assert found.totals.lag is not None
    assert found.totals.lag.sum_us == 40
    assert (found.totals.failed, found.totals.retries) == (1, 3)


def test_a_line_that_is_torn_is_counted(tmp_path: Path) -> None:
    log = write(tmp_path / "log.7", [f"0 1 1000 0 {EPOCH_S} 0", "0 2 20"])
    assert read_log([log], duration_s=1, has_lag=False, has_retries=False).totals.malformed == 1


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    for name in ("nothing", "."):
        with pytest.raises(UsageError, match="cannot be read as a log"):
            read_log([tmp_path / name], duration_s=1, has_lag=False, has_retries=False)
