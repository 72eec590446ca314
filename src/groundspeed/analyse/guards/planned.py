"""What guards can tell from a plan, before anything runs: differences and bursts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.diagnosis import GuardFinding, GuardKind
from groundspeed.analyse.guards import parity_facts, planned_pods
from groundspeed.analyse.guards.buckets import buckets_of
from groundspeed.analyse.guards.parity import differing, judge
from groundspeed.analyse.guards.parity_facts import Fact, Known
from groundspeed.analyse.guards.planned_settings import settings_facts
from groundspeed.analyse.guards.wording import span_text
from groundspeed.plan import TargetKind
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.guards.buckets import Bucket
    from groundspeed.plan import EnvironmentPlan, Plan

CODE = "plans-the-burst"


def plan_differences(plan: Plan, *, baseline: str | None = None) -> tuple[GuardFinding, ...]:
    """Find what will confound comparisons with the baseline, as far as the plan says it.

    Settings, versions, memory, storage and the way a server is reached are known; of a given
    server only the last. `baseline` is the first environment unless it is named.
    """
    names = [environment.name for environment in plan.environments]
    first = plan.environment(baseline if baseline in names else names[0])
    vary = None if plan.vary is None else frozenset(plan.vary)
    findings = (
        judge(
            (first.name, other.name),
            differing(_known(first, plan.engine), _known(other, plan.engine)),
            vary,
        )
        for other in plan.environments
        if other is not first
    )
    return tuple(finding for finding in findings if finding is not None)


def _known(environment: EnvironmentPlan, engine: str) -> Known:
    if environment.kind is TargetKind.SERVER:
        reached = parity_facts.connection(environment.dsn or "")
        return Known(facts=reached, server_is_known=False)
    if environment.cluster is not None:
        return planned_pods.known(environment, environment.cluster, parity_facts.version(engine))
    facts: dict[Fact, str] = {
        parity_facts.version(engine): str(environment.version),
        Fact("version", "programs"): environment.bin_dir or parity_facts.DEFAULT,
        parity_facts.MEMORY: "of the machine"
        if environment.memory_bytes is None
        else format_bytes(environment.memory_bytes),
        parity_facts.PATH: "unix socket" if environment.listen == "socket" else "TCP on loopback",
        parity_facts.MACHINE: parity_facts.THIS_MACHINE,
    }
    facts |= settings_facts(environment)
    for name, value in environment.options:
        facts[Fact("settings", name)] = value
    if environment.storage is not None:
        asked = environment.storage
        label = f"{asked.emulate} (emulated)" if asked.emulate else str(asked.directory)
        facts[parity_facts.STORAGE] = label
        if not asked.emulate:
            facts[Fact("storage", "log on")] = asked.wal_directory or str(asked.directory)
        if asked.profile is not None:
            facts[parity_facts.FIGURES] = parity_facts.figures(asked.profile)
    return Known(facts=facts, server_is_known=True)


def planned_burst(plan: Plan) -> tuple[GuardFinding, ...]:
    """Say of emulated burst buckets how long they last against the trials of the plan.

    An emulated device begins each trial with a full bucket; a plan that drains with an empty one,
    and then there is nothing to say.
    """
    if plan.drain:
        return ()
    return tuple(
        finding
        for environment in plan.environments
        if environment.storage is not None
        for bucket in buckets_of(environment.storage.profile)
        for finding in _bursts(plan, environment, bucket)
    )


def _bursts(plan: Plan, environment: EnvironmentPlan, bucket: Bucket) -> Iterator[GuardFinding]:
    own = [t.duration_s for t in plan.trials if t.cell.environment == environment.name]
    if not own or bucket.peak_per_s is None or bucket.lasts_s is None:
        return
    label = environment.storage.emulate if environment.storage is not None else environment.name
    longest_s = max(own)
    burst = (
        f"{label}'s burst of {bucket.rate_text(bucket.peak_per_s)} lasts at least"
        f" {span_text(bucket.lasts_s)} at full load"
    )
    loads = f"{len(own)} trials take {span_text(sum(own))} and each begins with a full bucket"
    told = (
        "this measures the burst"
        if longest_s <= bucket.lasts_s
        else f"means may mix it with the baseline of {bucket.rate_text(bucket.rate_per_s)}"
    )
    yield GuardFinding(
        kind=GuardKind.BURST,
        code=CODE,
        message=f"{burst}; a trial lasts {span_text(longest_s)} ({loads}): {told};"
        " --drain spends the credits first",
        environments=(environment.name,),
    )
