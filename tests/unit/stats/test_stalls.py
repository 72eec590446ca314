from __future__ import annotations

import pytest

from groundspeed.stats.stalls import LowRun, low_runs, worst_mean


def test_neighbouring_low_values_are_one_run() -> None:
    values = [100.0] * 5 + [9.0, 0.0, 5.0] + [100.0] * 5 + [9.9] + [10.0] * 2 + [100.0] * 9

    assert low_runs(values) == (
        LowRun(first=5, count=3, lowest=0.0),
        LowRun(first=13, count=1, lowest=9.9),
    )


def test_runs_at_both_ends() -> None:
    runs = low_runs([0.0, *[50.0] * 6, 1.0, 1.0])

    assert [(run.first, run.count) for run in runs] == [(0, 1), (7, 2)]


@pytest.mark.parametrize("values", [[], [0.0] * 9, [0.0] * 6 + [5.0] * 5, [7.0]])
def test_what_has_no_pace_has_no_stalls(values: list[float]) -> None:
    assert low_runs(values) == ()


def test_the_worst_neighbours() -> None:
    assert worst_mean([5.0, 1.0, 2.0, 9.0], 2) == 1.5
    assert worst_mean([5.0, 1.0], 2) == 3


@pytest.mark.parametrize("count", [0, 3])
def test_there_must_be_as_many(count: int) -> None:
    with pytest.raises(ValueError, match="neighbours among 2"):
        worst_mean([1.0, 2.0], count)
