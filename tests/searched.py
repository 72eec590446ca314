"""Made-up runs that search the highest rate: a plan, and records as a server would give them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import msgspec

from groundspeed import deciding, plan, spec
from groundspeed.analyse import Findings, RunRecords, analyse
from groundspeed.record import LagSummary
from tests.examples import make_measured, make_provenance, make_record, make_run, make_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Outcome, Record

CLOSED_LOOP_PER_S = 2000.0


def plan_of(
    *environments: str,
    bound: str = "10ms",
    within: str = "10%",
    at_most: str = "2h",
    workloads: str = "[simple-update]",
    clients: str = "[8]",
) -> Plan:
    """Plan a search on environments of these names."""
    entries = ", ".join(
        f"{name}: {{target: embedded, storage: {{directory: /{name}}}}}"
        for name in environments or ("one", "two")
    )
    suite = spec.load_suite(
        f"suite: example\nenvironments: {{{entries}}}\nworkloads: {workloads}\n"
        f"clients: {clients}\nscale: 1\nmeasure: {{until: capacity, bound: {{p99: {bound}}},"
        f" within: {within}, at_most: {at_most}}}\n",
        source="example",
    )
    return plan.make_plan(
        suite, source="example", rng=Random(5), groundspeed_version="0", scripts={}
    )


def measured(trial: Trial, p99_s: float, tps_per_s: float) -> Outcome:
    """Measure a trial with this p99 and throughput."""
    made = make_measured(tps_per_s, p50_s=p99_s / 4)
    if trial.rate_per_s is None:
        return made
    lag = LagSummary(mean_s=p99_s / 8, p99_s=p99_s / 2, max_s=p99_s)
    return msgspec.structs.replace(made, schedule_lag=lag)


def until(limits: Mapping[str, float], *, noise: float = 0.0) -> Callable[[Trial], Outcome]:
    """Make servers whose p99 reaches 10 ms at these rates and goes on as its cube.

    With `noise` the limit of each slice is another one, by a log-normal factor of that width.
    """
    rng = Random(3)

    def load(trial: Trial) -> Outcome:
        if trial.rate_per_s is None:
            return measured(trial, 0.02, CLOSED_LOOP_PER_S)
        limit = limits[trial.cell.environment] * rng.lognormvariate(0, noise)
        return measured(trial, 0.01 * (trial.rate_per_s / limit) ** 3, trial.rate_per_s)

    return load


def search(made: Plan, load: Callable[[Trial], Outcome], most: int = 10_000) -> list[Record]:
    """Run a plan as a run does, round by round, up to so many records."""
    records: list[Record] = []
    while todo := deciding.remaining(made, records):
        for trial in todo:
            if len(records) == most:
                return records
            provenance = make_provenance(storage=make_storage(label=trial.cell.environment))
            records.append(
                make_record(trial, load(trial), number=len(records), provenance=provenance)
            )
    return records


def run_of(made: Plan, records: list[Record], run_id: str = "20260102-example") -> RunRecords:
    """Put the records of a search apart as the store does."""
    return msgspec.structs.replace(
        make_run([r for r in records if r.trial.rate_per_s is None], run_id=run_id),
        environments=tuple(e.name for e in made.environments),
        search=made.search,
        slices=tuple(r for r in records if r.trial.rate_per_s is not None),
        planned_trial_count=len(records),
    )


def found(made: Plan, load: Callable[[Trial], Outcome]) -> Findings:
    """Search and analyse."""
    return analyse([run_of(made, search(made, load))])
