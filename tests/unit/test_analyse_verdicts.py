from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse import analyse
from tests.examples import make_measured, make_paired_records, make_record, make_run, make_trial

if TYPE_CHECKING:
    from groundspeed.record import Record


def sentence_of(*groups: list[Record]) -> str:
    records = [record for group in groups for record in group]
    [verdict] = analyse([make_run(records)]).verdicts
    return verdict.sentence


def test_faster_says_by_how_much_at_each_number_of_clients() -> None:
    sentence = sentence_of(
        make_paired_records([2.0, 2.1, 2.2, 1.9, 2.05, 2.15, 2.05], clients=1),
        make_paired_records([1.5] * 7, clients=8, first_block=7),
    )

    assert sentence == (
        "tpcb-like: b is faster than a, 2.06x its TPS at 1 client (95% 1.97 to 2.15) "
        "and 1.50x at 8 clients (1.50 to 1.50)."
    )


def test_what_is_won_lost_and_open_is_said_in_this_order() -> None:
    sentence = sentence_of(
        make_paired_records([0.97, 1.03] * 4, clients=1),
        make_paired_records([0.5] * 8, clients=8, first_block=8),
        make_paired_records([2.0] * 8, clients=16, first_block=16),
        make_paired_records([1.0] * 8, clients=32, first_block=24),
    )

    assert sentence == (
        "tpcb-like: b is faster than a, 2.00x its TPS at 16 clients (95% 2.00 to 2.00), "
        "but slower, 0.500x at 8 clients (0.500 to 0.500), "
        "and equivalent within 3%, 1.000x at 32 clients (1.000 to 1.000), "
        "and not decided at 1 client (the interval includes 1; about 46 more pairs would tell)."
    )


def test_equivalent_is_a_verdict_of_its_own() -> None:
    sentence = sentence_of(make_paired_records([1.0] * 6, clients=8))

    assert sentence == (
        "tpcb-like: b is equivalent to a within 3%, 1.000x its TPS at 8 clients "
        "(95% 1.000 to 1.000)."
    )


def test_what_would_tell_is_said_from_the_least_to_the_most() -> None:
    sentence = sentence_of(
        make_paired_records([1.5] * 6, clients=1),
        make_paired_records([1.5] * 6, clients=8, first_block=6),
        make_paired_records([0.9, 1.1] * 4, clients=16, first_block=12),
    )

    assert "at 1 and 8 clients (6 pairs, 7 are needed to decide one of 3 comparisons; " in sentence
    assert "comparisons; about 1 more pair would tell)" in sentence


def test_the_best_environment_comes_first() -> None:
    sentence = sentence_of(
        make_paired_records([1.5] * 7, environment="good"),
        make_paired_records([0.5] * 7, environment="bad"),
        make_paired_records([3.0] * 7, environment="best"),
    )

    assert sentence.index("best is") < sentence.index("good is") < sentence.index("bad is")


def test_environments_of_which_nothing_is_known_share_a_clause() -> None:
    sentence = sentence_of(
        make_paired_records([1.5] * 3, environment="b"),
        make_paired_records([0.5] * 3, environment="c"),
    )

    assert sentence == (
        "tpcb-like: not decided whether b or c is faster or slower than a at 1 client "
        "(3 pairs, 6 are needed for a 95% interval)."
    )


def test_many_cells_are_told_by_their_extremes_and_never_by_a_mean() -> None:
    groups = [
        make_paired_records([1 + clients / 10] * 8, clients=clients, first_block=8 * clients)
        for clients in (1, 2, 3, 4, 5)
    ]

    assert sentence_of(*groups) == (
        "tpcb-like: b is faster than a, 1.10x its TPS at 1 client (95% 1.10 to 1.10) "
        "and 1.50x at 5 clients (1.50 to 1.50) (least and most of 5 cells)."
    )


def test_one_environment_alone_has_a_number_and_no_verdict() -> None:
    records = [
        make_record(
            make_trial(clients=clients, repeat_index=repeat),
            make_measured(1000.0 * clients + repeat),
        )
        for clients in (1, 4)
        for repeat in range(6)
    ]
    [verdict] = analyse([make_run(records)]).verdicts

    assert not verdict.decided
    assert verdict.sentence == (
        "tpcb-like: a reaches 4,002 TPS at 4 clients (95% 4,000 to 4,005), the most of 2 cells; "
        "nothing to compare it with."
    )


def test_a_baseline_that_was_not_measured_there_is_said() -> None:
    records = [
        make_record(make_trial(environment="a", workload="select-only")),
        make_record(make_trial(environment="b", workload="tpcb-like")),
    ]
    first, second = analyse([make_run(records)]).verdicts

    assert first.sentence.startswith("select-only: a reaches 1,000 TPS at 1 client (n=1, no 95%")
    assert second.sentence == (
        "tpcb-like: nothing to compare: b measured, not in the same cells as a."
    )


def test_threads_are_named_where_they_vary() -> None:
    records = [
        make_record(make_trial(environment=e, clients=4, threads=t, block_index=t))
        for e in ("a", "b")
        for t in (1, 2)
    ]

    assert "at 4 clients on 1 thread and 4 clients on 2 threads (1 pair" in sentence_of(records)
