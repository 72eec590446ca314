from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.gate import GateAnswer, GateMetric, gate
from groundspeed.errors import UsageError
from groundspeed.record import Measured
from groundspeed.stats.sequential import rule_for
from tests.sided import around, one_run, two_runs

if TYPE_CHECKING:
    from groundspeed.analyse.sides import Side

STEADY = [1.0, 1.001, 0.999, 1.002, 0.998, 1.0005, 0.9995, 1.0]


def times(ratio: float, values: list[float] = STEADY) -> list[float]:
    return [ratio * value for value in values]


def test_no_loss_passes() -> None:
    found = gate([one_run({1: STEADY, 8: times(0.97)})], max_loss_ratio=0.05)
    assert found.answer is GateAnswer.PASS
    assert [(c.answer, c.needs) for c in found.cells] == [(GateAnswer.PASS, "")] * 2


def test_one_cell_with_a_certain_loss_fails_the_whole() -> None:
    found = gate([one_run({1: STEADY, 8: times(0.8)})], max_loss_ratio=0.05)
    assert found.answer is GateAnswer.FAIL
    assert [c.answer for c in found.cells] == [GateAnswer.PASS, GateAnswer.FAIL]
    # The smallest p-value of eight pairs, times the two cells.
    assert found.cells[1].p_value == pytest.approx(2 / 2**8)


def test_a_loss_within_the_limit_is_none() -> None:
    sides = one_run({1: times(0.8)})
    assert gate([sides], max_loss_ratio=0.25).answer is GateAnswer.PASS
    assert gate([sides], max_loss_ratio=0.1).answer is GateAnswer.FAIL


def test_without_a_loss_allowed_the_slightest_certain_one_fails() -> None:
    sides = one_run({1: times(0.99)})
    assert gate([sides], max_loss_ratio=0.0).answer is GateAnswer.FAIL


def test_an_interval_around_the_limit_is_undecided_and_says_what_it_would_take() -> None:
    values = [1.02, 0.9, 1.05, 0.93, 0.99, 1.0, 0.94, 1.03]
    found = gate([one_run({1: values})], max_loss_ratio=0.05)
    (cell,) = found.cells
    assert (found.answer, cell.answer) == (GateAnswer.UNDECIDED, GateAnswer.UNDECIDED)
    assert cell.needs.startswith("about ")
    assert cell.needs.endswith(" pairs in all, 8 there are")
    assert int(cell.needs.split()[1]) > 8


def test_a_loss_of_just_the_limit_would_take_for_ever() -> None:
    found = gate(
        [one_run({1: times(0.95, [1.03, 0.97, 1.01, 0.99, 1.02, 0.98])})], max_loss_ratio=0.05
    )
    assert found.cells[0].needs.startswith("the loss is about as large as the limit")


def test_too_few_pairs_decide_nothing() -> None:
    found = gate([one_run({1: [0.5, 0.5]})], max_loss_ratio=0.05)
    assert found.answer is GateAnswer.UNDECIDED
    assert found.cells[0].needs == "2 pairs, 6 are the fewest that can decide"


def test_a_loss_by_itself_among_many_cells_is_undecided() -> None:
    # Six pairs that agree: p = 1/64, within 2.5% for one cell and not for four.
    loss = times(0.8, STEADY[:6])
    alone = gate([one_run({1: loss})], max_loss_ratio=0.05)
    assert alone.answer is GateAnswer.FAIL
    others = dict.fromkeys((2, 4, 8), STEADY[:6])
    found = gate([one_run({1: loss, **others})], max_loss_ratio=0.05)
    assert found.answer is GateAnswer.UNDECIDED
    assert found.cells[0].needs.startswith("a loss by itself")


def test_two_runs_are_held_against_each_other_unpaired() -> None:
    before = {1: around(1000.0, 8, seed=1)}
    passed = gate([two_runs(before, {1: around(1000.0, 8, seed=2)})], max_loss_ratio=0.05)
    assert passed.answer is GateAnswer.PASS
    failed = gate([two_runs(before, {1: around(880.0, 8, seed=2)})], max_loss_ratio=0.05)
    assert failed.answer is GateAnswer.FAIL
    assert not failed.cells[0].is_paired
    assert [c.code for c in failed.cautions] == ["other-time", "drift"]


def test_a_cell_that_was_not_measured_again_is_not_passed_over() -> None:
    before = {1: around(1000.0, 8), 8: around(4000.0, 8)}
    found = gate([two_runs(before, {1: around(1000.0, 8, seed=2)})], max_loss_ratio=0.05)
    assert found.cells[0].answer is GateAnswer.PASS
    assert found.answer is GateAnswer.UNDECIDED
    assert found.missing == ("tpcb-like at 8 clients: not measured in new:a",)


def test_a_cell_that_stands_still_is_undecided() -> None:
    found = gate([two_runs({1: around(1000.0, 8)}, {1: [0.0] * 8})], max_loss_ratio=0.05)
    assert found.cells[0].needs == "no trial has a throughput above 0"
    assert found.answer is GateAnswer.UNDECIDED


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(UsageError, match="no cell in common"):
        gate([two_runs({1: [1.0]}, {2: [1.0]})], max_loss_ratio=0.05)


def test_a_run_that_stopped_itself_is_tested_at_its_looks() -> None:
    rule = rule_for(1, margin_ratio=0.03, most_pairs=20)

    def stopped(ratios: list[float]) -> tuple[Side, Side]:
        baseline, candidate = one_run({1: ratios})
        run = msgspec.structs.replace(baseline.run, rule=rule)
        return (
            msgspec.structs.replace(baseline, run=run),
            msgspec.structs.replace(candidate, run=run),
        )

    (cell,) = gate([stopped(times(0.8))], max_loss_ratio=0.05).cells
    look = max(look for look in rule.looks if look <= len(STEADY))
    # Half of the error is spent at the first look.
    assert look == rule.looks[0]
    assert cell.p_value == pytest.approx(2 / 2**look)
    (cell,) = gate([stopped(times(0.8)[: look - 1])], max_loss_ratio=0.05).cells
    assert cell.answer is GateAnswer.UNDECIDED
    assert f"{look} are the fewest" in cell.needs


def with_p99(side: Side, clients: int, factor: float) -> Side:
    """Lengthen p99 of one cell of a side, and nothing else."""
    records = tuple(
        msgspec.structs.replace(
            record,
            outcome=msgspec.structs.replace(
                record.outcome,
                latency=msgspec.structs.replace(
                    record.outcome.latency, p99_s=factor * record.outcome.latency.p99_s
                ),
            ),
        )
        if isinstance(record.outcome, Measured) and record.trial.cell.clients == clients
        else record
        for record in side.run.records
    )
    return msgspec.structs.replace(side, run=msgspec.structs.replace(side.run, records=records))


def test_latency_is_asked_about_only_where_it_has_a_limit() -> None:
    before = {1: around(1000.0, 8), 8: around(4000.0, 8, seed=3)}
    old, new = two_runs(before, {1: around(1000.0, 8, seed=2), 8: around(4000.0, 8, seed=4)})
    sides = (old, with_p99(new, 8, 1.5))

    assert gate([sides], max_loss_ratio=0.05).answer is GateAnswer.PASS
    found = gate([sides], max_loss_ratio=0.05, max_p99_rise_ratio=0.1)

    assert found.answer is GateAnswer.FAIL
    [failed] = [cell for cell in found.cells if cell.answer is GateAnswer.FAIL]
    assert (failed.metric, failed.clients) == (GateMetric.P99, 8)
    # A latency is told as it was measured: above 1 is longer.
    assert failed.ratio.ratio == pytest.approx(1.5, rel=0.05)
    assert failed.ratio.low is not None
    assert failed.ratio.high is not None
    assert 1.1 < failed.ratio.low < failed.ratio.ratio < failed.ratio.high
    assert [c.answer for c in found.cells if c is not failed] == [GateAnswer.PASS] * 3
    assert gate([sides], max_loss_ratio=0.05, max_p99_rise_ratio=0.7).answer is GateAnswer.PASS


def test_a_shorter_latency_passes_and_one_at_the_limit_is_undecided() -> None:
    old, new = two_runs({1: around(1000.0, 8)}, {1: around(1000.0, 8, seed=2)})

    def answer(factor: float) -> GateAnswer:
        sides = (old, with_p99(new, 1, factor))
        return gate([sides], max_loss_ratio=0.5, max_p99_rise_ratio=0.2).answer

    assert answer(0.3) is GateAnswer.PASS
    assert answer(1.2) is GateAnswer.UNDECIDED
    assert answer(2.0) is GateAnswer.FAIL


def test_both_figures_of_all_cells_share_the_error() -> None:
    sides = one_run({1: times(0.8, STEADY[:6])})
    assert gate([sides], max_loss_ratio=0.05).answer is GateAnswer.FAIL
    found = gate([sides], max_loss_ratio=0.05, max_p99_rise_ratio=5.0)
    # Six pairs that agree: p = 1/64, within 2.5% for one figure and not for two.
    assert found.cells[0].p_value == pytest.approx(2 / 2**6)
    assert found.answer is GateAnswer.UNDECIDED


def test_a_latency_that_is_not_known_is_undecided() -> None:
    old, new = two_runs({1: around(1000.0, 8)}, {1: around(1000.0, 8, seed=2)})
    found = gate([(old, with_p99(new, 1, 0.0))], max_loss_ratio=0.05, max_p99_rise_ratio=0.1)
    assert found.cells[1].needs == "no trial has a p99 latency above 0"
    assert found.answer is GateAnswer.UNDECIDED
