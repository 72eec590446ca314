"""Searching the highest rate on a real PostgreSQL, and what pgbench's latency is with a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
import yaml

from groundspeed import deciding, store
from groundspeed.analyse import analyse
from groundspeed.analyse.capacity.shapes import CapacityState
from groundspeed.analyse.capacity.slices import outcome_of
from groundspeed.cli import session
from groundspeed.record import Measured
from groundspeed.stats.rate_search import ladder
from tests.small_runs import SETTINGS, Listening, embedded, plan_of, suite_of

if TYPE_CHECKING:
    from groundspeed.plan import Plan
    from tests.small_runs import Place


def search_plan() -> Plan:
    """One cell, all of it in memory, slices of a second."""
    suite = {
        "suite": "capacity",
        "postgres": {"version": 16, "settings": SETTINGS},
        "environments": {"memory": embedded("/dev/shm")},
        "workloads": ["select-only"],
        "clients": [2],
        "scale": 1,
        "measure": {
            "until": "capacity",
            "bound": {"p99": "50ms"},
            "within": "50%",
            "slice": "1s",
            "at_most": "40s",
            "probes": "off",
        },
    }
    return plan_of(yaml.safe_dump(suite, sort_keys=False))


def test_a_search_ends_by_itself_and_is_told(place: Place) -> None:
    """Whether the rate is found or the time is over, which hangs on how noisy the machine is."""
    made = search_plan()
    run_dir = place.new_run(made)
    listening, watch = Listening(), place.watch(run_dir)
    session.run_plan(made, run_dir, passwords={}, listener=listening)
    assert watch.left() == []
    run = store.read_run(run_dir)
    (first,) = run.records
    assert isinstance(first.outcome, Measured)
    rates = ladder(first.outcome.tps_per_s, 0.25)
    assert len(run.slices) >= 6
    for record in run.slices:
        assert record.trial.rate_per_s in rates
        asked = record.provenance.command
        assert asked[asked.index("-R") + 1] == f"{record.trial.rate_per_s:.12g}"
    everything = [first, *run.slices]
    assert [r.trial.repeat_index for r in everything] == list(range(len(everything)))
    assert deciding.remaining(made, everything) == ()
    assert "searches have ended after" in listening.notes[-1]
    (capacity,) = analyse([run]).capacities
    assert len(capacity.slices) == len(run.slices)
    assert capacity.state is not CapacityState.UNKNOWN
    (info,) = store.list_runs(run_dir.parent)
    assert (info.state, info.measured_count) == ("complete", len(everything))


def test_latency_counts_from_when_a_transaction_was_due_and_a_queue_ends_with_its_slice(
    place: Place,
) -> None:
    """First far more than any server does, then hardly anything."""
    text = suite_of(
        {"memory": embedded("/dev/shm")}, workloads=["select-only"], repeats=2, probes="off"
    )
    planned = plan_of(text)
    rates = (1e6, 50.0)
    trials = tuple(
        msgspec.structs.replace(trial, rate_per_s=rate)
        for trial, rate in zip(planned.trials, rates, strict=True)
    )
    made = msgspec.structs.replace(planned, trials=trials)
    run_dir = place.new_run(made)
    session.run_plan(made, run_dir, passwords={}, listener=Listening())
    overloaded, after = (record for record in store.read_run(run_dir).records)
    assert isinstance(overloaded.outcome, Measured)
    assert isinstance(after.outcome, Measured)
    lag = overloaded.outcome.schedule_lag
    assert lag is not None
    # What was done late waited nearly the whole second; its latency has that in it.
    assert lag.p99_s > 0.3
    assert overloaded.outcome.latency.p99_s >= 0.99 * lag.p99_s
    assert overloaded.outcome.latency.mean_s >= lag.mean_s
    assert after.outcome.latency.p99_s < overloaded.outcome.latency.p99_s / 2
    found = outcome_of(overloaded, 10.0)
    assert found is not None
    # Within any bound, and yet most of what was due was never begun.
    assert not found.holds
    assert found.missed_ratio == pytest.approx(1 - overloaded.outcome.tps_per_s / 1e6, abs=0.05)
