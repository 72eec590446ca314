from __future__ import annotations

import pytest

from groundspeed.analyse import Answer
from groundspeed.analyse.drift import drift_ratio
from groundspeed.analyse.gate import GateAnswer, gate
from groundspeed.analyse.sides import shared
from groundspeed.analyse.two_sides import compare_sides
from tests.sided import around, two_runs

STEADY = [1000.0, 1001.0, 999.0, 1000.5, 999.5, 1000.0, 1000.2, 999.8]
SLIPPING = [1100.0, 1101.0, 1099.0, 1100.0, 1000.0, 1001.0, 999.0, 1000.0]


def test_it_is_twice_the_largest_shift_of_any_half() -> None:
    sides = two_runs({1: STEADY, 8: SLIPPING}, {1: STEADY, 8: STEADY})
    assert drift_ratio(shared(*sides).cells) == pytest.approx(1.1**2 - 1, rel=0.01)


def test_steady_runs_hardly_drift_and_short_ones_cannot_tell() -> None:
    assert drift_ratio(shared(*two_runs({1: STEADY}, {1: STEADY})).cells) < 0.002
    assert drift_ratio(shared(*two_runs({1: [1.0, 9.0, 1.0]}, {1: [1.0]})).cells) == 0.0


def test_the_middle_of_an_odd_number_is_in_neither_half() -> None:
    values = [1.0, 1.0, 50.0, 2.0, 2.0]
    assert drift_ratio(shared(*two_runs({1: values}, {1: [1.0]})).cells) == pytest.approx(3.0)


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
