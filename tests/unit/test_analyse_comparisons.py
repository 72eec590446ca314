from __future__ import annotations

import math

import msgspec
import pytest

from groundspeed.analyse import Answer, Findings, analyse
from groundspeed.analyse.decisions import rule_for
from groundspeed.errors import UsageError
from groundspeed.record import Failed
from tests.examples import (
    caution_codes,
    footnotes_of,
    make_measured,
    make_paired_records,
    make_record,
    make_run,
    make_trial,
    pool_runs,
)


def compare(ratios: list[float]) -> Findings:
    return analyse([make_run(make_paired_records(ratios))])


@pytest.mark.parametrize(
    ("ratios", "answer", "why"),
    [
        ([1.2, 1.3, 1.1, 1.25, 1.4, 1.15], Answer.FASTER, ""),
        ([0.8, 0.9, 0.7, 0.85, 0.95, 0.75], Answer.SLOWER, ""),
        ([0.9, 1.2, 1.3, 1.1, 1.25, 1.4], Answer.UNDECIDED, "the interval includes 1"),
        ([1.0] * 6, Answer.EQUIVALENT, ""),
        ([1.01, 1.02, 1.015, 1.005, 1.012, 1.02], Answer.EQUIVALENT, ""),
        ([2.0] * 3, Answer.UNDECIDED, "3 pairs, 6 are needed for a 95% interval"),
        ([2.0], Answer.UNDECIDED, "1 pair, 6 are needed for a 95% interval"),
    ],
)
def test_answer_follows_the_interval(ratios: list[float], answer: Answer, why: str) -> None:
    [comparison] = compare(ratios).comparisons

    assert (comparison.answer, comparison.why) == (answer, why)
    assert comparison.pair_count == len(ratios)
    assert (comparison.tps_low is None) == (len(ratios) < 6)


def test_a_ratio_above_one_is_more_throughput_and_less_latency() -> None:
    [comparison] = compare([2.0] * 6).comparisons

    assert (comparison.baseline, comparison.environment) == ("a", "b")
    assert comparison.tps_ratio == pytest.approx(2)
    assert comparison.p99_ratio == pytest.approx(0.5)


def test_pairs_never_cross_a_block() -> None:
    records = [
        make_record(make_trial(environment="a", block_index=0)),
        make_record(make_trial(environment="b", block_index=1)),
    ]
    [comparison] = analyse([make_run(records)]).comparisons

    assert comparison.pair_count == 0
    assert math.isnan(comparison.tps_ratio)
    assert comparison.why == "0 pairs, 6 are needed for a 95% interval"


def test_pairs_never_cross_a_run() -> None:
    findings = pool_runs(
        make_record(make_trial(environment="a")), make_record(make_trial(environment="b"))
    )

    assert findings.comparisons[0].pair_count == 0


def test_pairs_of_several_runs_are_pooled() -> None:
    runs = [
        make_run(
            [
                msgspec.structs.replace(r, started_at=f"2026-01-0{i}")
                for r in make_paired_records([1.5] * 3)
            ],
            run_id=f"run-{i}",
        )
        for i in (1, 2)
    ]
    [comparison] = analyse(runs).comparisons

    assert (comparison.pair_count, comparison.answer) == (6, Answer.FASTER)


def test_unlike_cells_are_compared_apart() -> None:
    records = make_paired_records([1.5] * 7, clients=1) + make_paired_records(
        [0.5] * 7, clients=8, first_block=7
    )
    findings = analyse([make_run(records)])

    assert [(c.clients, c.answer) for c in findings.comparisons] == [
        (1, Answer.FASTER),
        (8, Answer.SLOWER),
    ]


def test_a_pair_with_zero_throughput_is_dropped_and_footnoted() -> None:
    findings = compare([1.5] * 6 + [0.0])

    assert findings.comparisons[0].pair_count == 6
    note = "pairs with a throughput of zero or none are left out of comparing b and a"
    assert note in footnotes_of(findings, 0)
    assert note in footnotes_of(findings, 1)


def test_answers_allow_for_the_number_of_comparisons_and_intervals_do_not() -> None:
    records = make_paired_records([1.5] * 6, clients=1) + make_paired_records(
        [0.5] * 6, clients=8, first_block=6
    )
    one, other = analyse([make_run(records)]).comparisons

    assert (one.answer, other.answer) == (Answer.UNDECIDED, Answer.UNDECIDED)
    assert one.why == "6 pairs, 7 are needed to decide one of 2 comparisons"
    assert one.more_pairs_count == 1
    assert one.adjusted
    assert one.tps_low is not None
    assert one.tps_low > 1


def with_twins(ratios: list[float], twin_ratios: list[float]) -> Findings:
    """Compare with a baseline that is measured twice in each of the first blocks."""
    records = make_paired_records(ratios)
    for index, ratio in enumerate(twin_ratios):
        trial = make_trial(environment="a", block_index=index, trial_id=f"twin-{index}")
        trial = msgspec.structs.replace(trial, repeat_index=index, twin=True)
        records.append(make_record(trial, make_measured((1000.0 + 10 * index) * ratio)))
    return analyse([make_run(records)])


def test_twins_tell_the_noise_floor_and_are_no_pairs() -> None:
    findings = with_twins([1.05] * 8, [1.02, 0.99, 1.01, 0.98, 1.0, 1.03, 1.02])
    [comparison] = findings.comparisons

    assert comparison.pair_count == 8
    assert comparison.floor_ratio is not None
    assert 0.01 < comparison.floor_ratio < 0.03
    assert comparison.answer is Answer.FASTER
    assert "no-noise-floor" not in caution_codes(findings)


def test_no_verdict_is_given_under_the_noise_floor() -> None:
    [comparison] = with_twins([1.05] * 8, [1.06] * 7).comparisons

    assert comparison.floor_ratio == pytest.approx(0.06)
    assert comparison.answer is Answer.UNDECIDED
    assert comparison.why == "the difference is below the noise floor of 6.0%"


def test_a_run_that_stopped_when_decided_is_judged_by_its_rule() -> None:
    run = make_run(make_paired_records([1.2, 1.22, 1.25, 1.3, 1.24, 1.26, 1.28, 1.21]))
    rule = rule_for(2, margin_ratio=0.05, most_pairs=20)
    [fixed] = analyse([run]).comparisons
    [stopped] = analyse([msgspec.structs.replace(run, rule=rule)]).comparisons

    assert (stopped.answer, stopped.margin_ratio) == (Answer.FASTER, 0.05)
    assert stopped.p_value == pytest.approx(2 * fixed.p_value)
    assert stopped.tps_low is not None
    assert fixed.tps_low is not None
    assert stopped.tps_low < fixed.tps_low


def test_a_run_without_twins_says_that_its_floor_is_not_known() -> None:
    findings = compare([1.5] * 6)

    assert findings.comparisons[0].floor_ratio is None
    assert "no-noise-floor" in caution_codes(findings)
    assert "no-noise-floor" not in caution_codes(compare([1.5] * 3))


def test_a_named_baseline_is_used() -> None:
    findings = analyse([make_run(make_paired_records([2.0] * 6))], baseline="b")

    assert findings.baseline == "b"
    assert findings.comparisons[0].tps_ratio == pytest.approx(0.5)


def test_the_first_environment_with_a_measurement_is_the_baseline() -> None:
    records = [
        make_record(make_trial(environment="a"), Failed(reason="lost", retryable=True)),
        make_record(make_trial(environment="b")),
    ]

    assert analyse([make_run(records)]).baseline == "b"


def test_an_unknown_baseline_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as refused:
        analyse([make_run(make_paired_records([1.0]))], baseline="c")

    assert refused.value.message == "no environment is called 'c'"
    assert refused.value.hint == "name one of: a, b"


def test_no_run_is_refused() -> None:
    with pytest.raises(UsageError, match="no run"):
        analyse([])
