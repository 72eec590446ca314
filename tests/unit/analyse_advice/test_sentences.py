from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse import analyse
from groundspeed.analyse.advice import Topic, advise, saving_sentence
from groundspeed.analyse.advice.cost import added_latency
from groundspeed.analyse.advice.rivals import Cell
from groundspeed.plan import Saved
from groundspeed.record import Caution
from tests.advised import findings_of
from tests.evident import evident_findings, make_scaling
from tests.examples import example_findings, make_run

if TYPE_CHECKING:
    from groundspeed.analyse import Findings


def sentences(findings: Findings, topic: Topic) -> list[str]:
    return [f.sentence for f in advise(findings).findings if f.topic is topic]


def test_cost_names_ratio_interval_pairs_and_milliseconds() -> None:
    findings = findings_of({"tpcb-like": {"disk": 1000.0, "cloud": 500.0}})
    (sentence,) = sentences(findings, Topic.COST)
    assert sentence.startswith("Reads and writes (tpcb-like): cloud has 0.5")
    assert "x the TPS of disk at 1 client (95% 0." in sentence
    assert ", 12 pairs)" in sentence
    # Two milliseconds a transaction against one; with eight clients four against two.
    longer = re.search(r"is on average ([0-9.]+) ms longer at 1 client", sentence)
    assert longer is not None
    assert float(longer[1]) == pytest.approx(1.0, abs=0.03)


def test_where_nothing_is_decided_the_intervals_are_told_if_there_are_any() -> None:
    alike = {"tpcb-like": {"a": 1000.0, "b": 1000.0}}
    (sentence,) = sentences(findings_of(alike, spread=0.3), Topic.COST)
    assert sentence.startswith(
        "Reads and writes (tpcb-like): not decided what b costs or gains; it has "
    )
    assert sentence.count("(95% ") == 2
    assert sentences(findings_of(alike, spread=0.3, repeats=3), Topic.COST) == []


def test_short_trials_are_steady_among_themselves() -> None:
    findings = findings_of({"tpcb-like": {"a": 1000.0, "b": 500.0}}, spread=0.05)
    unwatched = msgspec.structs.replace(findings, trials=())
    steady = sentences(unwatched, Topic.STEADINESS)
    assert len(steady) == 2
    told = re.fullmatch(
        r"a: trials of 5 s scatter by ([0-9.]+)% to ([0-9.]+)% \(CV\) among the 12 of a cell, in"
        r" 2 cells\.",
        steady[0],
    )
    assert told is not None
    assert 2 < float(told[1]) <= float(told[2]) < 10
    few = msgspec.structs.replace(findings, trials=(), figures=findings.figures[:8])
    assert sentences(few, Topic.STEADINESS) == []


def test_cost_names_what_held_it_back() -> None:
    found = [s for s in sentences(evident_findings(12), Topic.COST) if "slow-disk" in s]
    assert len(found) == 1
    assert "slow-disk (emulated) has" in found[0]
    assert "held back there: WAL-sync-bound (83% of database time waits" in found[0]


def test_each_replica_is_told_in_milliseconds() -> None:
    speeds = {"longhorn-1r": 1000.0, "longhorn-2r": 500.0, "longhorn-3r": 250.0}
    findings = findings_of({"simple-update": speeds}, clients=(1, 8, 32))
    first, second = sentences(findings, Topic.REPLICAS)
    assert first.startswith("longhorn, writes (simple-update): each replica from 1 to 2 adds")
    assert first.count("12 pairs") == 3
    assert "at 1 client (95% " in first
    assert "from 2 to 3" in second


def test_one_number_is_named_for_what_it_is() -> None:
    speeds = {"tpcb-like": {"disk": 1000.0, "x": 500.0, "y": 2000.0}, "select-only": {"disk": 1.0}}
    (sentence,) = sentences(findings_of(speeds, spread=0.002), Topic.MEAN)
    assert sentence.startswith(
        "One number for tpcb-like, the geometric mean of the ratios of its cells: x 0.5"
    )
    assert " y 2.0" in sentence
    assert "over 2 cells (95% " in sentence
    assert sentence.endswith("It stands for no load that anybody has.")
    alone = findings_of({"tpcb-like": {"a": 1.0, "b": 2.0}}, clients=(1,))
    assert sentences(alone, Topic.MEAN) == []


def test_other_names_have_no_replicas() -> None:
    assert sentences(findings_of({"tpcb-like": {"a": 1.0, "b": 2.0}}), Topic.REPLICAS) == []
    one = findings_of({"tpcb-like": {"longhorn-2r": 1.0, "b": 2.0}})
    assert sentences(one, Topic.REPLICAS) == []


def test_added_latency_is_clients_over_throughput() -> None:
    findings = findings_of({"tpcb-like": {"a": 1000.0, "b": 500.0}}, spread=1e-6)
    added = added_latency(findings, "b", "a", "tpcb-like")
    assert added[Cell("tpcb-like", 1, 1, 10)].difference == pytest.approx(0.001, rel=1e-3)
    assert added[Cell("tpcb-like", 8, 1, 10)].difference == pytest.approx(0.002, rel=1e-3)


def test_a_rate_that_was_asked_for_has_no_such_latency() -> None:
    findings = findings_of({"tpcb-like": {"longhorn-1r": 1000.0, "longhorn-2r": 500.0}})
    paced = msgspec.structs.replace(findings, cautions=(Caution(code="paced", message="paced"),))
    assert sentences(paced, Topic.REPLICAS) == []
    assert all("longer" not in s for s in sentences(paced, Topic.COST))


def test_growth_ends_at_the_knee_with_its_interval() -> None:
    found = sentences(evident_findings(), Topic.GROWTH)
    assert found[0].startswith(
        "tpcb-like on disk|a: stops growing at about 11 clients and turns down beyond about 32"
        " (contention 3.0%, 95% 2.1% to 4.2%)"
    )


def test_without_a_law_growth_is_told_as_measured() -> None:
    found = [s for s in sentences(evident_findings(), Topic.GROWTH) if "mem" in s]
    assert (
        "grows no more beyond 32 clients (a plateau made by a cap, from 8 clients on)" in found[0]
    )


def test_what_still_grows_is_said() -> None:
    scaling = make_scaling(why="too few numbers of clients")
    points = tuple(p for p in scaling.points if p.clients <= 8)
    findings = msgspec.structs.replace(
        evident_findings(), scalings=(msgspec.structs.replace(scaling, points=points),)
    )
    (sentence,) = sentences(findings, Topic.GROWTH)
    assert "still grows at 8 clients, the most that were measured" in sentence


def test_steadiness_tells_scatter_bursts_and_stalls() -> None:
    found = {s.partition(":")[0]: s for s in sentences(evident_findings(), Topic.STEADINESS)}
    assert "seconds scatter by 12% (CV) over" in found["disk|a"]
    assert "some of them with a checkpoint" in found["disk|a"]
    bursting = found["slow-disk (emulated)"]
    assert "it bursts: in 18 of 18 trials throughput steps down for good" in bursting
    assert "from 1,400 to 410/s after 3.20 s: credits" in bursting


def test_unwatched_runs_are_told_what_they_can_be() -> None:
    advice = advise(example_findings(12))
    assert {f.topic for f in advice.findings} == {Topic.COST, Topic.MEAN, Topic.STEADINESS}
    # What held them back takes somebody who looked.
    assert all("held back" not in f.sentence for f in advice.findings)


def test_nothing_measured_is_no_advice() -> None:
    advice = advise(analyse([make_run([])]))
    assert (advice.findings, advice.choices) == ((), ())


def test_each_sentence_names_its_cells() -> None:
    cells = {(c.environment, c.workload, c.clients) for c in evident_findings().cells}
    for found in advise(evident_findings()).findings:
        if found.topic is not Topic.GROWTH:
            assert {(c.environment, c.workload, c.clients) for c in found.cells} <= cells
            assert found.cells


def saved_run(*, at_most_s: float = 300.0, rounds: int = 10) -> Saved:
    return Saved(
        tried_count=48,
        planned_count=192,
        round_count=rounds,
        load_s=48.0,
        warm_up_s=1.0,
        fixed_load_s=720.0,
        family_count=2,
        fewest_repeats=7,
        fewest_load_s=28.0,
        at_most_s=at_most_s,
    )


def test_what_was_saved_is_told_against_what_is_usual_and_against_the_shortest() -> None:
    decided = findings_of({"tpcb-like": {"disk": 1000.0, "cloud": 500.0}})
    told = saving_sentence(msgspec.structs.replace(decided, saved=saved_run()))
    assert told == (
        "Stopped when decided: 2 comparisons after 48 s of load in 10 rounds of short trials. A"
        " fixed design of 60 s x 3 repeats would have taken 12 min of load, 15 times as much, and"
        " its 3 pairs a cell could have decided none. The shortest that can decide any, 7 trials of"
        " 5 s in each cell, takes 28 s; one does not know beforehand that it is enough."
    )


def test_what_stays_open_and_what_was_broken_off_is_not_called_decided() -> None:
    alike = findings_of({"tpcb-like": {"a": 1000.0, "b": 1000.0}}, spread=0.3)
    told = saving_sentence(msgspec.structs.replace(alike, saved=saved_run()))
    assert told.startswith(
        "0 of 2 comparisons decided after 48 s of load in 10 rounds of short trials; the others"
        " stay open: no time was left of 5 min for another look."
    )
    broken = msgspec.structs.replace(alike, saved=saved_run(), planned_trial_count=1000)
    assert saving_sentence(broken).startswith("So far 0 of 2 comparisons decided after")


def test_a_fixed_design_saved_nothing() -> None:
    assert saving_sentence(findings_of({"tpcb-like": {"a": 1000.0, "b": 500.0}})) == ""
