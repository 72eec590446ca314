from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.kernel_files import read_whole
from groundspeed.probes.processor_counters import (
    Frequencies,
    Times,
    busiest_core_ratio,
    parse_stat,
)
from tests.unit.probes.kernel_trees import write_files

if TYPE_CHECKING:
    from pathlib import Path

STAT = b"""\
cpu  110 20 30 1000 40 5 6 7 50 9
cpu0 60 10 15 400 40 5 6 7 50 9
cpu10 50 10 15 600 0 0 0 0 0 0
intr 99 1 2 3
ctxt 1234
procs_running 4
procs_blocked 1
"""


def test_busy_time_holds_guests_once_and_no_steal() -> None:
    reading = parse_stat(STAT)
    assert reading is not None
    assert reading.every == Times(busy=171, idle=1000, io_wait=40, steal=7)
    assert set(reading.cores) == {b"cpu0", b"cpu10"}
    assert reading.switches == 1234
    # One of those that run is the reader.
    assert reading.runnable == 3


def test_an_old_kernel_tells_no_steal() -> None:
    reading = parse_stat(b"cpu 1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7")
    assert reading is not None
    assert reading.every == Times(busy=19, idle=4, io_wait=5, steal=0)
    assert reading.switches is None


@pytest.mark.parametrize("text", [b"", b"cpu 1 2\n", b"cpu a b c d e f g\n", b"intr 1\n", b"cpu"])
def test_what_tells_nothing_is_none(text: bytes) -> None:
    assert parse_stat(text) is None


def test_counters_that_fall_did_not_grow() -> None:
    grown = Times(busy=20, idle=99, io_wait=3, steal=2).since(Times(10, 100, 4, 1))
    assert grown == Times(busy=10, idle=0, io_wait=0, steal=1)
    assert grown.ratio(grown.busy) == 10 / 11
    assert Times(0, 0, 0, 0).ratio(0) == 0


def test_the_busiest_core_is_one_that_was_there_before() -> None:
    before = parse_stat(b"cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n")
    after = parse_stat(
        b"cpu 0 0 0 0 0 0 0 0\ncpu0 30 0 0 70 0 0 0 0\ncpu1 0 0 60 40 0 0 0 0\n"
        b"cpu2 500 0 0 0 0 0 0 0\n"
    )
    assert before is not None
    assert after is not None
    assert busiest_core_ratio(before, after) == pytest.approx(0.6)


def test_frequency_and_heat(tmp_path: Path) -> None:
    for core, (khz, throttles) in enumerate([(2_000_000, 3), (3_000_000, 3), (4_000_000, 4)]):
        folder = f"devices/system/cpu/cpu{core}"
        files = {
            f"{folder}/cpufreq/scaling_cur_freq": f"{khz}\n",
            f"{folder}/thermal_throttle/core_throttle_count": f"{throttles}\n",
            f"{folder}/thermal_throttle/package_throttle_count": "10\n",
            f"{folder}/topology/physical_package_id": "0\n",
            # The first two are threads of one core and tell the same count.
            f"{folder}/topology/core_id": f"{core // 2}\n",
        }
        write_files(tmp_path, files)
    frequencies = Frequencies(tmp_path)
    assert frequencies.mean_hz() == 3e9
    assert frequencies.throttle_count() == 3 + 4 + 10


def test_a_kernel_that_tells_no_frequency(tmp_path: Path) -> None:
    frequencies = Frequencies(tmp_path)
    assert frequencies.mean_hz() is None
    assert frequencies.throttle_count() is None


def test_this_machine_was_busy_while_we_were() -> None:
    before = parse_stat(read_whole("/proc/stat"))
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    after = parse_stat(read_whole("/proc/stat"))
    assert before is not None
    assert after is not None
    assert after.every.since(before.every).busy / os.sysconf("SC_CLK_TCK") > 0.2
    assert 0 < busiest_core_ratio(before, after) <= 1
