"""Made-up sides of comparisons for tests: pairs of one run, or two runs of other days."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.sides import Side
from tests.examples import make_measured, make_paired_records, make_record, make_run, make_trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse import RunRecords
    from groundspeed.record import Record


def one_run(ratios: dict[int, Sequence[float]]) -> tuple[Side, Side]:
    """Make environments a and b of one run; by clients the ratio of b over a in each block."""
    records: list[Record] = []
    for clients, values in ratios.items():
        records += make_paired_records(values, clients=clients, first_block=len(records))
    run = make_run(records)
    return (
        Side(name="a", run=run, environment="a"),
        Side(name="b", run=run, environment="b"),
    )


def run_of(
    tps: dict[int, Sequence[float]],
    *,
    run_id: str,
    day: int = 1,
    environment: str = "a",
    workload: str = "tpcb-like",
) -> RunRecords:
    """Make a run of one environment; by clients the TPS of each repeat, 0 for none."""
    records = [
        msgspec.structs.replace(
            make_record(
                make_trial(
                    environment=environment,
                    workload=workload,
                    clients=clients,
                    repeat_index=index,
                    block_index=100 * clients + index,
                ),
                make_measured(value, p50_s=clients / value / 1.1 if value else math.nan),
            ),
            started_at=f"2026-01-{day:02}T03:{index:02}:{clients % 60:02}+00:00",
        )
        for clients, values in tps.items()
        for index, value in enumerate(values)
    ]
    return make_run(records, run_id=run_id)


def two_runs(
    before: dict[int, Sequence[float]], after: dict[int, Sequence[float]]
) -> tuple[Side, Side]:
    """Make the same environment in two runs."""
    return (
        Side(name="old:a", run=run_of(before, run_id="old"), environment="a"),
        Side(name="new:a", run=run_of(after, run_id="new", day=8), environment="a"),
    )


def around(centre: float, count: int, *, spread: float = 0.01, seed: int = 1) -> list[float]:
    """Draw values that scatter evenly around a centre on a log axis."""
    rng = Random(seed)
    return [centre * math.exp(rng.gauss(0, spread)) for _ in range(count)]


def dated_runs(
    levels: Sequence[float], *, spread: float = 0.02, seed: int = 1, repeats: int = 3
) -> list[RunRecords]:
    """Make a run a day, whose medians scatter around the levels given; at one and eight clients."""
    rng = Random(seed)
    runs = []
    for index, level in enumerate(levels):
        mood = level * math.exp(rng.gauss(0, spread))
        values = [mood * math.exp(rng.gauss(0, spread / 4)) for _ in range(repeats)]
        tps = {1: values, 8: [4000.0 * math.exp(rng.gauss(0, spread)) for _ in range(repeats)]}
        runs.append(run_of(tps, run_id=f"night-{index + 1:02}", day=index + 1))
    return runs
