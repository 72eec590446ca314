"""A suite becomes a plan: its environments and workloads spelt out, its trials put in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import SpecError
from groundspeed.plan import estimating, ordering, rounds
from groundspeed.plan.naming import slugs
from groundspeed.plan.parts import (
    EnvironmentPlan,
    Plan,
    ResolvedProfile,
    StorageRequest,
    TargetKind,
    WorkloadPlan,
)

if TYPE_CHECKING:
    # For types alone: records carry trials, and the probe process, which reads records' types,
    # would otherwise load all that decoding a suite takes.
    from collections.abc import Mapping
    from random import Random

    from groundspeed import spec


def make_plan(  # noqa: PLR0913 - what a suite names in files is read by the caller
    suite: spec.Suite,
    *,
    source: str,
    rng: Random,
    groundspeed_version: str,
    scripts: Mapping[str, str],
    profiles: Mapping[str, ResolvedProfile] | None = None,
) -> Plan:
    """Expand a suite into its trials, in blocks shuffled by `rng`.

    A block holds one combination of workload, clients, threads and repeat, once for every
    environment, in shuffled order: what the machine does to one, it does to all. `scripts` maps
    the path of each script workload to its text; a missing one raises KeyError. `profiles` has the
    storage profile of each environment that emulates one; without it only its name is planned.
    A suite that stops when it is decided has rounds for repeats, as many as it may need. Raises
    SpecError for PostgreSQL settings that emulation cannot have, and where its time is too short to
    decide anything.
    """
    environments = _environments(suite, profiles or {})
    workloads = tuple(_workload(workload, scripts) for workload in suite.workloads)
    sequential = rounds.sequential(suite, environments, workloads)
    trials = ordering.trials(suite, environments, workloads, sequential, rng)
    return Plan(
        groundspeed_version=groundspeed_version,
        suite_name=suite.suite,
        description=suite.description,
        seed=suite.seed,
        suite=suite.model_dump(mode="json"),
        source=source,
        environments=environments,
        workloads=workloads,
        trials=trials,
        estimate=estimating.estimate(suite, environments, workloads, trials, sequential),
        probes=suite.measure.probes,
        vary=suite.vary,
        drain=suite.measure.drain,
        sequential=sequential,
    )


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _environments(
    suite: spec.Suite, profiles: Mapping[str, ResolvedProfile]
) -> tuple[EnvironmentPlan, ...]:
    plans: list[EnvironmentPlan] = []
    for (name, asked), slug in zip(
        suite.environments.items(), slugs(tuple(suite.environments)), strict=True
    ):
        if asked.target == "server":
            plans.append(
                EnvironmentPlan(
                    name=name,
                    slug=slug,
                    kind=TargetKind.SERVER,
                    dsn=asked.dsn,
                    password_env=asked.password_env,
                )
            )
            continue
        plans.append(_embedded(suite, name, slug, asked, profiles.get(name)))
    return tuple(plans)


def _embedded(
    suite: spec.Suite,
    name: str,
    slug: str,
    asked: spec.EmbeddedEnvironment,
    profile: ResolvedProfile | None,
) -> EnvironmentPlan:
    emulate = asked.storage.emulate
    label = emulate if isinstance(emulate, str) else None
    if emulate is not None:
        _refuse_unseen_io(suite, name, asked)
    settings = {**suite.postgres.settings, **asked.settings}
    return EnvironmentPlan(
        name=name,
        slug=slug,
        kind=TargetKind.EMBEDDED,
        storage=StorageRequest(
            directory=asked.storage.directory,
            emulate=profile.label if profile else label,
            wal_directory=asked.storage.wal_directory,
            profile=profile.json if profile else None,
        ),
        postgres_version=asked.version or suite.postgres.version,
        bin_dir=asked.bin_dir or suite.postgres.bin_dir,
        settings=tuple((key, _setting(value)) for key, value in settings.items()),
        listen=asked.listen,
        memory_bytes=asked.memory,
    )


def _refuse_unseen_io(suite: spec.Suite, name: str, asked: spec.EmbeddedEnvironment) -> None:
    """Refuse I/O that goes past the C library, where the emulator could not see it."""
    settings = {**suite.postgres.settings, **asked.settings}
    # PostgreSQL reads the names of settings in any case, and takes the last of them.
    method = next((v for k, v in reversed(settings.items()) if k.lower() == "io_method"), None)
    if str(method).lower() == "io_uring":
        raise SpecError(
            f"environments.{name}: io_method io_uring goes past the emulated storage",
            "set io_method to worker or sync in the settings of this environment",
        )


def _workload(asked: spec.Workload, scripts: Mapping[str, str]) -> WorkloadPlan:
    if isinstance(asked, str):
        return WorkloadPlan(name=asked, writes=asked != "select-only")
    return WorkloadPlan(name=asked.name, script=scripts[asked.script], writes=asked.writes)
