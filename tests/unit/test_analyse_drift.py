from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse import Answer
from groundspeed.analyse.drift import drift_ratio, run_drift
from groundspeed.analyse.figures import TrialFigures
from groundspeed.analyse.gate import GateAnswer, gate
from groundspeed.analyse.sides import shared
from groundspeed.analyse.two_sides import compare_sides
from tests.sided import around, two_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.sides import Side

STEADY = [1000.0, 1001.0, 999.0, 1000.5, 999.5, 1000.0, 1000.2, 999.8]
SLIPPING = [1100.0, 1101.0, 1099.0, 1100.0, 1000.0, 1001.0, 999.0, 1000.0]


def shift(baseline: Side, candidate: Side) -> float:
    return drift_ratio([cell.tps_per_s for cell in shared(baseline, candidate).cells])


def test_it_is_twice_the_largest_shift_of_any_half() -> None:
    sides = two_runs({1: STEADY, 8: SLIPPING}, {1: STEADY, 8: STEADY})
    assert shift(*sides) == pytest.approx(1.1**2 - 1, rel=0.01)


def test_steady_runs_hardly_drift_and_short_ones_cannot_tell() -> None:
    assert shift(*two_runs({1: STEADY}, {1: STEADY})) < 0.002
    assert shift(*two_runs({1: [1.0, 9.0, 1.0]}, {1: [1.0]})) == 0.0


def test_the_middle_of_an_odd_number_is_in_neither_half() -> None:
    values = [1.0, 1.0, 50.0, 2.0, 2.0]
    assert shift(*two_runs({1: values}, {1: [1.0]})) == pytest.approx(3.0)


def test_runs_that_drift_differ_only_beyond_it() -> None:
    faster = [1.1 * value for value in STEADY]
    (steady,) = compare_sides([two_runs({1: STEADY}, {1: faster})])
    assert steady.cells[0].answer is Answer.FASTER
    (found,) = compare_sides([two_runs({1: STEADY, 8: SLIPPING}, {1: faster, 8: SLIPPING})])
    assert found.cells[0].answer is Answer.UNDECIDED
    assert found.cells[0].why.startswith("the difference is not clear of how the runs drift")
    assert [c.code for c in found.cautions[:2]] == ["other-time", "drift"]


def test_a_gate_between_runs_that_drift_neither_fails_nor_passes_by_less() -> None:
    slower = [0.85 * value for value in STEADY]
    assert gate([two_runs({1: STEADY}, {1: slower})], max_loss_ratio=0.05).answer is GateAnswer.FAIL
    found = gate(
        [two_runs({1: STEADY, 8: SLIPPING}, {1: slower, 8: around(1050.0, 8)})],
        max_loss_ratio=0.05,
    )
    assert [cell.answer for cell in found.cells] == [GateAnswer.UNDECIDED] * 2
    assert found.cells[0].needs.startswith("too near the limit for two runs that drift by 2")


def run_at(levels: Sequence[float], steady: Sequence[int] = (1,)) -> list[TrialFigures]:
    """Make the trials of a cell of eight clients at these levels, and of others that stay."""
    return [
        TrialFigures(
            run_id="r",
            block_index=100 * index + clients,
            environment="a",
            workload="tpcb-like",
            clients=clients,
            threads=1,
            scale=10,
            duration_s=1,
            tps_per_s=level if clients == 8 else 1000.0 + index % 3,
            p99_s=0.01,
        )
        for index, level in enumerate(levels)
        for clients in (*steady, 8)
    ]


def test_a_fall_over_the_run_is_told_with_its_cell() -> None:
    (caution,) = run_drift(run_at([1000 * 0.97**i for i in range(10)]), "the {}".format)
    assert caution.code == "drift-over-run"
    assert caution.message.startswith(
        "throughput drifted over the run in 1 of 2 cells, most with the a, tpcb-like, 8 clients: it"
        " fell by 24% from first to last repeat"
    )


@pytest.mark.parametrize(
    "levels",
    [
        [1000.0, 900.0, 1000.0, 905.0, 1010.0, 890.0, 1005.0, 895.0],
        # Certain, and smaller than anybody asks for.
        [1000 * 1.001**i for i in range(10)],
        # In order, and too few to be sure.
        [1000.0, 900.0, 800.0, 700.0],
    ],
)
def test_noise_trifles_and_few_repeats_are_no_drift(levels: list[float]) -> None:
    assert run_drift(run_at(levels)) == ()


def test_an_order_that_is_rare_in_one_cell_is_not_in_many() -> None:
    # One of 120 orders, and its reverse: 2 in 120, within 5% for one cell and not for six.
    five = [1000.0, 900.0, 800.0, 700.0, 600.0]
    assert run_drift(run_at(five, steady=())) != ()
    assert run_drift(run_at(five, steady=(1, 2, 3, 4, 5))) == ()
