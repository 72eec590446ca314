from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.advice import Purpose, Topic, advise
from groundspeed.analyse.losses import loss_rows
from groundspeed.record.losses import Ending, LossRecord
from groundspeed.report.advice_view import advice_view
from tests.advised import findings_of
from tests.examples import make_storage
from tests.kept import ALL, NOTHING, SECOND, kept_findings

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.advice import Choice
    from groundspeed.record.losses import Promise

PROMISES = {"none": ALL, "second": SECOND, "always": NOTHING}
SPEEDS = {
    "put": {"none": 8000.0, "second": 4000.0, "always": 1000.0},
    "fetch": {"none": 9000.0, "second": 9000.0, "always": 9000.0},
}
USES = {Purpose.CACHE, Purpose.SESSIONS, Purpose.RECORD}


def rows_of(findings: Findings) -> dict[Purpose, Choice]:
    return {row.purpose: row for row in advise(findings).choices}


def sentences_of(findings: Findings) -> list[str]:
    return [a.sentence for a in advise(findings).findings if a.topic is Topic.DURABILITY]


def test_each_use_gets_the_fastest_of_those_that_promise_enough() -> None:
    rows = rows_of(kept_findings(SPEEDS, PROMISES, spread=0.003))
    assert {use: rows[use].best for use in USES} == {
        Purpose.CACHE: "none",
        Purpose.SESSIONS: "second",
        Purpose.RECORD: "always",
    }
    assert rows[Purpose.CACHE].runner_up == "second"
    assert rows[Purpose.CACHE].reason.endswith("; promised: nothing is kept")
    assert "2.0" in rows[Purpose.CACHE].reason
    assert "95% " in rows[Purpose.CACHE].reason
    assert rows[Purpose.SESSIONS].by == "throughput where 1 s may be lost"
    only = rows[Purpose.RECORD].reason
    assert only.startswith("the only one here that promises enough: nothing acknowledged is lost")
    assert "; at worst 0.12" in only
    assert "the requests/s of none, at put, 20 clients (95% " in only


def test_what_promises_more_and_is_faster_is_taken_for_less_too() -> None:
    speeds = {"put": {"none": 1000.0, "second": 1000.0, "always": 3000.0}}
    rows = rows_of(kept_findings(speeds, PROMISES))
    assert {rows[use].best for use in USES} == {"always"}


def test_a_tie_is_not_decided_and_says_who_is_left() -> None:
    speeds = {"put": {"none": 8000.0, "second": 4000.0, "too": 4000.0, "slow": 500.0}}
    promises = {"none": ALL, "second": SECOND, "too": SECOND, "slow": NOTHING}
    row = rows_of(kept_findings(speeds, promises, spread=0.003))[Purpose.SESSIONS]
    assert (row.best, row.runner_up) == (None, None)
    assert row.reason == (
        "second or too: equivalent in 1 cell; each is ahead of slow; promised: up to 1 s is lost"
    )


def test_few_pairs_recommend_nobody() -> None:
    row = rows_of(kept_findings(SPEEDS, PROMISES, repeats=3))[Purpose.SESSIONS]
    assert row.best is None
    assert "3 pairs" in row.reason


def test_where_nobody_promises_enough_it_says_what_to_add() -> None:
    speeds = {"put": {"none": 8000.0, "second": 4000.0}}
    rows = rows_of(kept_findings(speeds, {"none": ALL, "second": SECOND}))
    assert rows[Purpose.RECORD].best is None
    assert rows[Purpose.RECORD].reason == (
        "no environment here promises that; nearest is second (up to 1 s is lost);"
        " add an environment with keep: all"
    )


def test_the_same_promise_everywhere_is_no_choice() -> None:
    findings = kept_findings(SPEEDS, dict.fromkeys(PROMISES, SECOND))
    assert not USES & set(rows_of(findings))
    assert sentences_of(findings) == []
    assert not USES & set(rows_of(findings_of({"tpcb-like": {"a": 1.0, "b": 2.0}})))


def test_cost_is_told_by_throughput_and_p99_against_who_keeps_least() -> None:
    findings = kept_findings(SPEEDS, PROMISES, spread=0.003)
    second, always, _ = sentences_of(findings)
    assert second.startswith(
        "Durability, up to 1 s is lost, against none, nothing is kept: second 0.5"
    )
    assert "x the requests/s at put, 20 clients (95% 0.4" in second or "95% 0.5" in second
    assert "; p99 2.0" in second or "; p99 1.9" in second
    assert always.startswith("Durability, nothing acknowledged is lost, against none")
    assert "fetch" not in second + always


def test_who_keeps_least_need_not_be_the_baseline() -> None:
    speeds = {"put": {"always": 1000.0, "none": 8000.0}}
    (sentence,) = sentences_of(kept_findings(speeds, {"always": NOTHING, "none": ALL}))
    assert "against none, nothing is kept: always 0.12" in sentence
    assert "; p99 8.0" in sentence or "; p99 7.9" in sentence


def test_another_storage_is_told_beside_the_cost() -> None:
    speeds = {"put": {"none": 8000.0, "second": 4000.0}}
    storages = {"none": "ssd", "second": "net"}
    promises = {"none": ALL, "second": SECOND}
    (sentence,) = sentences_of(kept_findings(speeds, promises, storages=storages))
    assert "second, on net and not on ssd, 0.5" in sentence


def test_reads_that_are_alike_do_not_suffer() -> None:
    *_, reads = sentences_of(kept_findings(SPEEDS, PROMISES, spread=0.003))
    assert reads.startswith(
        "Reads do not suffer where more is kept (fetch), against none: equivalent in 2 of 2 cells"
    )


def test_reads_that_are_slower_suffer() -> None:
    speeds = {**SPEEDS, "fetch": {"none": 9000.0, "second": 9000.0, "always": 6000.0}}
    *_, reads = sentences_of(kept_findings(speeds, PROMISES, spread=0.003))
    assert reads.startswith("Reads suffer where more is kept (fetch), against none: slower in 1 of")
    assert "always 0.66" in reads
    assert "equivalent in 1 of 2 cells" in reads


def test_reads_of_few_pairs_are_not_decided() -> None:
    *_, reads = sentences_of(kept_findings(SPEEDS, PROMISES, repeats=3))
    assert reads.startswith("Whether reads suffer where more is kept is not decided everywhere")


def test_workloads_of_another_engine_go_by_what_its_suite_says() -> None:
    rows = rows_of(kept_findings(SPEEDS, PROMISES))
    assert rows[Purpose.WRITES].workloads == ("put",)
    assert rows[Purpose.READS].workloads == ("fetch",)


def test_an_environment_without_a_known_promise_is_left_out() -> None:
    rows = rows_of(kept_findings(SPEEDS, {"second": SECOND, "always": NOTHING}))
    assert rows[Purpose.CACHE].best == "second"


def tried(findings: Findings, *records: LossRecord) -> Findings:
    return msgspec.structs.replace(findings, losses=loss_rows(records))


def make_loss(
    environment: str, promise: Promise, missing_count: int, *, storage: str = "disk"
) -> LossRecord:
    return LossRecord(
        groundspeed_version="0.1.0",
        environment=environment,
        ending=Ending.POWER_CUT,
        attempt=1,
        started_at="2026-01-02T03:04:05+00:00",
        written_s=2.0,
        acknowledged_count=5000,
        missing_count=missing_count,
        oldest_missing_s=0.25 if missing_count else None,
        recovery_s=0.1,
        storage=make_storage(label=storage),
        promise=promise,
    )


def test_what_was_really_lost_stands_beside_the_promise() -> None:
    found = tried(kept_findings(SPEEDS, PROMISES, spread=0.003), make_loss("second", SECOND, 1200))
    row = rows_of(found)[Purpose.SESSIONS]
    assert row.best == "second"
    assert row.reason.endswith(
        "promised: up to 1 s is lost; second was tried and lost 1,200 of 5,000 in 1 emulated power"
        " cut, the oldest 0.250 s old"
    )


def test_a_promise_that_broke_recommends_nobody() -> None:
    findings = kept_findings(SPEEDS, PROMISES, spread=0.003)
    found = tried(findings, make_loss("always", NOTHING, 3))
    rows = rows_of(found)
    assert (rows[Purpose.SESSIONS].best, rows[Purpose.SESSIONS].is_alone) == ("second", True)
    assert rows[Purpose.RECORD].best is None
    left_out = "left out: always, which broke its promise when it was tried"
    assert rows[Purpose.SESSIONS].reason.endswith(left_out)
    assert rows[Purpose.RECORD].reason.endswith(left_out)
    # A cache may lose it all.
    assert "left out" not in rows[Purpose.CACHE].reason


def test_tries_of_another_storage_or_promise_say_nothing() -> None:
    findings = kept_findings(SPEEDS, PROMISES, spread=0.003)
    found = tried(
        findings,
        make_loss("always", SECOND, 3),
        make_loss("always", NOTHING, 3, storage="tape"),
    )
    assert rows_of(found)[Purpose.RECORD].reason == rows_of(findings)[Purpose.RECORD].reason


def test_the_only_one_has_no_runner_up() -> None:
    rows = {row.purpose: row for row in advice_view(kept_findings(SPEEDS, PROMISES)).choices}
    assert rows["system of record"].runner_up == "-"
