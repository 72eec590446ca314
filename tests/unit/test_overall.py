from __future__ import annotations

from statistics import geometric_mean

import pytest

from groundspeed.analyse.decisions import ComparisonKey
from groundspeed.analyse.figures import TrialFigures
from groundspeed.analyse.overall import means_of, overall, unpaired_means
from groundspeed.analyse.sides import shared
from groundspeed.stats.sequential import rule_for
from groundspeed.stats.unpaired_ratio import unpaired_ratio
from tests.sided import around, two_runs


def key(clients: int, workload: str = "tpcb-like", environment: str = "b") -> ComparisonKey:
    return ComparisonKey(
        workload=workload,
        clients=clients,
        threads=1,
        scale=10,
        baseline="a",
        environment=environment,
    )


def test_cells_of_a_workload_are_averaged_as_ratios() -> None:
    [found] = overall({key(1): [(2.0, 1.0)] * 6, key(8): [(1.0, 2.0)] * 7, key(16): []})

    assert (found.cell_count, found.round_count) == (2, 6)
    assert found.ratio == pytest.approx(1)
    assert found.low == pytest.approx(1)
    assert found.high == pytest.approx(1)


def test_workloads_and_environments_stay_apart() -> None:
    found = overall(
        {
            key(1): [(2.0, 1.0)] * 6,
            key(1, workload="select-only"): [(3.0, 1.0)] * 6,
            key(1, environment="c"): [(5.0, 1.0)] * 3,
        }
    )

    assert [(f.workload, f.environment, f.ratio) for f in found] == [
        ("tpcb-like", "b", pytest.approx(2)),
        ("select-only", "b", pytest.approx(3)),
        ("tpcb-like", "c", pytest.approx(5)),
    ]
    assert found[2].low is None


def test_a_run_that_stopped_by_its_results_has_intervals_from_its_first_look_on() -> None:
    rule = rule_for(1, margin_ratio=0.03, most_pairs=20)
    pairs = [(1.0 + 0.01 * (i * 7 % 10), 1.0) for i in range(10)]
    [plain] = overall({key(1): pairs, key(8): pairs})
    [stopped] = overall({key(1): pairs, key(8): pairs}, rule)
    assert stopped.ratio == plain.ratio
    assert plain.low is not None
    assert stopped.low is not None
    assert stopped.low <= plain.low
    [early] = overall({key(1): pairs[:6], key(8): pairs[:6]}, rule)
    assert early.low is None


def figures(environment: str, clients: int, tps: float, block: int) -> TrialFigures:
    return TrialFigures(
        run_id="r",
        block_index=block,
        environment=environment,
        workload="tpcb-like",
        clients=clients,
        threads=1,
        scale=10,
        duration_s=1,
        tps_per_s=tps,
        p99_s=0.01,
    )


def test_one_cell_needs_no_mean_and_blocks_make_the_pairs() -> None:
    trials = [
        figures(environment, clients, tps * (1 + block % 2), 10 * block + clients)
        for block in range(6)
        for clients in (1, 8)
        for environment, tps in (("a", 100.0), ("b", 200.0))
    ]
    [mean] = means_of(trials, "a", None)
    # The machine was twice as fast in every other block, for both alike.
    assert (mean.environment, mean.cell_count, mean.round_count) == ("b", 2, 6)
    assert (mean.ratio, mean.low) == (pytest.approx(2), pytest.approx(2))
    assert means_of([t for t in trials if t.clients == 1], "a", None) == ()


def test_two_runs_are_averaged_without_rounds_and_more_carefully() -> None:
    sides = two_runs(
        {1: around(1000.0, 12), 8: around(4000.0, 12, seed=2)},
        {1: around(2000.0, 12, seed=3), 8: around(8000.0, 12, seed=4)},
    )
    cells = shared(*sides).cells
    [mean] = unpaired_means(cells, "old", "new")
    assert (mean.cell_count, mean.round_count) == (2, 0)
    assert mean.ratio == pytest.approx(2, rel=0.03)
    alone = [unpaired_ratio(c.tps_per_s.candidate, c.tps_per_s.baseline) for c in cells]
    assert all(one.low is not None for one in alone)
    assert mean.low is not None
    assert mean.low < geometric_mean(one.low for one in alone if one.low is not None)
    few = two_runs({1: [1.0] * 4, 8: [1.0] * 4}, {1: [2.0] * 4, 8: [2.0] * 4})
    [unsure] = unpaired_means(shared(*few).cells, "old", "new")
    # Four a side reach 95% for one cell, not for two.
    assert (unsure.ratio, unsure.low, unsure.high) == (pytest.approx(2), None, None)
