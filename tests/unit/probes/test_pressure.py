from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.pressure import Pressure
from groundspeed.record.machine import PressureWork
from tests.unit.probes.kernel_trees import write_files

if TYPE_CHECKING:
    from pathlib import Path


def line(kind: str, total: int) -> str:
    return f"{kind} avg10=99.00 avg60=9.00 avg300=0.00 total={total}\n"


def test_pressure_is_the_growth_over_the_time(tmp_path: Path) -> None:
    first = {
        "pressure/cpu": line("some", 1_000_000) + line("full", 0),
        "pressure/io": line("some", 0) + line("full", 500),
    }
    write_files(tmp_path, first)
    pressure = Pressure(tmp_path)
    assert pressure.begin()
    last = {
        "pressure/cpu": line("some", 3_000_000) + line("full", 0),
        "pressure/io": line("some", 40_000_000) + line("full", 500),
    }
    write_files(tmp_path, last)
    work = pressure.work(10.0)
    assert work.cpu_some_ratio == pytest.approx(0.2)
    assert work.io_some_ratio == 1.0
    assert work.io_full_ratio == 0.0
    # No file, no figure.
    assert work.memory_some_ratio is None
    assert work.memory_full_ratio is None


def test_a_kernel_without_pressure(tmp_path: Path) -> None:
    write_files(tmp_path, {"pressure/cpu": "nonsense\n"})
    pressure = Pressure(tmp_path)
    assert not pressure.begin()
    assert pressure.work(1.0) == PressureWork()
