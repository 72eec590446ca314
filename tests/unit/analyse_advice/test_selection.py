from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.advice import Purpose, advise
from groundspeed.analyse.advice.rivals import By, duel
from groundspeed.stats.sequential import rule_for
from tests.advised import findings_of

if TYPE_CHECKING:
    from groundspeed.analyse import Findings

THREE = {"tpcb-like": {"slow": 500.0, "mid": 700.0, "fast": 1000.0}}


def chosen(findings: Findings, purpose: Purpose) -> tuple[str | None, str | None, str]:
    (row,) = [c for c in advise(findings).choices if c.purpose is purpose]
    return row.best, row.runner_up, row.reason


def test_best_and_runner_up_are_ranked_by_their_own_pairs() -> None:
    best, runner_up, reason = chosen(findings_of(THREE), Purpose.MIXED)
    # The baseline is the slowest: the report itself compares neither with the other.
    assert (best, runner_up) == ("fast", "mid")
    assert reason.startswith("better than mid in 2 of 2 cells, 1.4")
    assert "95% " in reason


def test_each_workload_has_its_purpose() -> None:
    speeds = {
        "select-only": {"a": 1000.0, "b": 1500.0},
        "simple-update": {"a": 1000.0, "b": 500.0},
        "tpcb-like": {"a": 1000.0, "b": 500.0},
    }
    rows = {c.purpose: c for c in advise(findings_of(speeds)).choices}
    assert {p: r.best for p, r in rows.items() if r.by == "throughput"} == {
        Purpose.WRITES: "a",
        Purpose.READS: "b",
        Purpose.MIXED: "a",
    }
    assert rows[Purpose.READS].workloads == ("select-only",)
    assert rows[Purpose.LATENCY].best is None


def test_two_that_are_alike_are_not_ranked() -> None:
    speeds = {"tpcb-like": {"slow": 500.0, "x": 1000.0, "y": 1000.0}}
    best, runner_up, reason = chosen(findings_of(speeds, spread=0.005), Purpose.MIXED)
    assert (best, runner_up) == (None, None)
    assert reason == "x or y: equivalent in 2 cells"


def test_what_is_not_decided_is_not_ranked() -> None:
    speeds = {"tpcb-like": {"a": 1000.0, "b": 1010.0}}
    best, _, reason = chosen(findings_of(speeds, spread=0.2), Purpose.MIXED)
    assert best is None
    assert reason.startswith("a or b: ")


def test_the_best_stands_although_the_runner_up_is_open() -> None:
    speeds = {"tpcb-like": {"fast": 2000.0, "x": 1000.0, "y": 1000.0}}
    best, runner_up, reason = chosen(findings_of(speeds, spread=0.005), Purpose.MIXED)
    assert (best, runner_up) == ("fast", None)
    assert "the runner-up is not decided: x or y: equivalent" in reason


def test_three_pairs_rank_nobody() -> None:
    best, _, reason = chosen(findings_of(THREE, repeats=3), Purpose.MIXED)
    assert best is None
    assert "3 pairs" in reason


def test_trials_that_nobody_watched_are_ranked_too_but_for_their_course() -> None:
    unwatched = msgspec.structs.replace(findings_of(THREE, worst={"mid": 0.5}), trials=())
    assert chosen(unwatched, Purpose.MIXED)[:2] == ("fast", "mid")
    assert Purpose.BURSTY not in {choice.purpose for choice in advise(unwatched).choices}


def test_a_run_that_stopped_by_its_results_is_ranked_at_its_looks() -> None:
    findings = findings_of({"tpcb-like": {"slow": 500.0, "x": 1000.0, "y": 1100.0}}, repeats=20)
    early = rule_for(1, margin_ratio=0.03, most_pairs=40)
    late = rule_for(1, margin_ratio=0.03, most_pairs=40)
    late = msgspec.structs.replace(late, looks=(21, 40), shares=(0.5, 0.5))
    assert chosen(msgspec.structs.replace(findings, rule=early), Purpose.MIXED)[0] == "y"
    best, _, reason = chosen(msgspec.structs.replace(findings, rule=late), Purpose.MIXED)
    # The same pairs, before the first look that the run was allowed.
    assert best is None
    assert reason.startswith("x or y: 20 pairs, 21 are needed")


def test_bursts_are_judged_by_the_worst_ten_seconds_where_there_are_any() -> None:
    speeds = {"tpcb-like": {"a": 1000.0, "b": 1000.0}}
    scattered = findings_of(speeds, scatter={"a": 0.05, "b": 0.4})
    rows = {c.purpose: c for c in advise(scattered).choices}
    assert (rows[Purpose.BURSTY].best, rows[Purpose.BURSTY].by) == ("a", "scatter of seconds (CV)")
    stalled = findings_of(speeds, scatter={"a": 0.05, "b": 0.4}, worst={"a": 0.2, "b": 0.9})
    rows = {c.purpose: c for c in advise(stalled).choices}
    assert (rows[Purpose.BURSTY].best, rows[Purpose.BURSTY].by) == ("b", By.WORST.value)


def test_a_shorter_p99_at_full_load_is_told_and_chooses_nobody() -> None:
    best, _, reason = chosen(findings_of(THREE), Purpose.LATENCY)
    assert best is None
    assert "no rate was searched" in reason
    assert "At full load, by p99: fast is better than mid in 2 of 2 cells, 1.4" in reason


def test_one_environment_is_no_choice() -> None:
    assert advise(findings_of({"tpcb-like": {"a": 1000.0}})).choices == ()


@pytest.mark.parametrize("by", list(By))
def test_a_duel_seen_from_the_other_side_is_its_mirror(by: By) -> None:
    findings = findings_of(THREE, scatter={"mid": 0.3}, worst={"mid": 0.5, "fast": 0.8})
    there = duel(findings, "mid", "fast", {"tpcb-like"}, by)
    back = duel(findings, "fast", "mid", {"tpcb-like"}, by)
    assert (there.won, there.lost) == (back.lost, back.won)
    for cell, (ratio, _, _) in there.ratios.items():
        assert ratio == pytest.approx(1 / back.ratios[cell][0])
