"""A suite becomes a plan: its environments and workloads spelt out, its trials put in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import SpecError
from groundspeed.plan import estimating, ladder, ordering, pod_refusals, pods, rounds
from groundspeed.plan.naming import slugs
from groundspeed.plan.parts import (
    POSTGRES,
    Beside,
    EnvironmentPlan,
    Plan,
    ResolvedEngine,
    ResolvedProfile,
    StorageRequest,
    TargetKind,
    WorkloadPlan,
    replica_name,
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
    engine: ResolvedEngine | None = None,
) -> Plan:
    """Expand a suite into its trials, in blocks shuffled by `rng`.

    A block holds one combination of workload, clients, threads and repeat, once for every
    environment, in shuffled order: what the machine does to one, it does to all. `scripts` maps
    the path of each script workload to its text; a missing one raises KeyError. `profiles` has the
    storage profile of each environment that emulates one; without it only its name is planned.
    `engine` spells out what a suite asks of another engine than postgres.
    A suite that stops by itself has rounds for repeats, as many as it may need. Raises
    SpecError for PostgreSQL settings that emulation or a cluster cannot have, and where its time is
    too short to decide anything.
    """
    environments = _environments(suite, profiles or {}, engine)
    workloads = tuple(_workload(workload, scripts, engine) for workload in suite.workloads)
    needs = None if engine is None else engine.needs
    sequential = rounds.sequential(suite, environments, workloads, needs)
    search = ladder.capacity_search(suite, environments, workloads)
    trials = ordering.trials(suite, environments, workloads, sequential or search, rng)
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
        estimate=estimating.estimate(
            suite, environments, workloads, trials, sequential or search, needs=needs
        ),
        probes=suite.measure.probes,
        vary=suite.vary,
        drain=suite.measure.drain,
        sequential=sequential,
        search=search,
        engine=suite.engine,
        needs=needs,
        generator_count=suite.generators,
        beside=_beside(suite),
    )


def _beside(suite: spec.Suite) -> Beside | None:
    """Pair environments with those of a publication: by name, but where the suite says else."""
    if suite.published is None:
        return None
    theirs = suite.published_environments
    return Beside(
        publication=suite.published,
        environments=tuple((name, theirs.get(name, name)) for name in suite.environments),
    )


def setting_texts(settings: Mapping[str, object]) -> dict[str, str]:
    """Write settings as a server's configuration has them."""
    return {name: _setting(value) for name, value in settings.items()}


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _environments(
    suite: spec.Suite, profiles: Mapping[str, ResolvedProfile], engine: ResolvedEngine | None
) -> tuple[EnvironmentPlan, ...]:
    options = {} if engine is None else engine.options
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
                    options=options.get(name, ()),
                )
            )
            continue
        if asked.target == "kubernetes":
            plans.append(_in_kubernetes(suite, name, slug, asked))
            continue
        made = _embedded(suite, name, slug, asked, profiles.get(name))
        if engine is not None:
            needed = engine.needs.least_memory_bytes
            made = msgspec.structs.replace(made, options=options[name], server_bytes=needed)
        if asked.replica is not None:
            made = _with_replica(made, asked.replica, profiles, options)
        plans.append(made)
    pod_refusals.refuse(plans)
    return tuple(plans)


def _in_kubernetes(
    suite: spec.Suite, name: str, slug: str, asked: spec.KubernetesEnvironment
) -> EnvironmentPlan:
    if asked.service is not None:
        return EnvironmentPlan(
            name=name,
            slug=slug,
            kind=TargetKind.KUBERNETES,
            cluster=pods.cluster_request(asked, None),
        )
    version = asked.version or suite.postgres.version
    settings = {**suite.postgres.settings, **asked.settings}
    return EnvironmentPlan(
        name=name,
        slug=slug,
        kind=TargetKind.KUBERNETES,
        version=version,
        settings=tuple(setting_texts(settings).items()),
        cluster=pods.cluster_request(asked, version),
    )


def _with_replica(
    primary: EnvironmentPlan,
    asked: spec.Replica,
    profiles: Mapping[str, ResolvedProfile],
    options: Mapping[str, tuple[tuple[str, str], ...]],
) -> EnvironmentPlan:
    """Add a second server: as the first one where nothing else is asked, on its own storage."""
    name = replica_name(primary.name)
    replica = msgspec.structs.replace(
        primary,
        name=name,
        slug=f"{primary.slug}-replica",
        storage=_storage(asked.storage, profiles.get(name)),
        settings=tuple(setting_texts(asked.settings).items()),
        memory_bytes=asked.memory,
        options=options.get(name, ()),
    )
    return msgspec.structs.replace(primary, replica=replica)


def _storage(asked: spec.Storage, profile: ResolvedProfile | None) -> StorageRequest:
    label = asked.emulate if isinstance(asked.emulate, str) else None
    return StorageRequest(
        directory=asked.directory,
        emulate=profile.label if profile else label,
        wal_directory=asked.wal_directory,
        profile=profile.json if profile else None,
    )


def _embedded(
    suite: spec.Suite,
    name: str,
    slug: str,
    asked: spec.EmbeddedEnvironment,
    profile: ResolvedProfile | None,
) -> EnvironmentPlan:
    if asked.storage.emulate is not None:
        _refuse_unseen_io(suite, name, asked)
    is_postgres = suite.engine == POSTGRES
    ours = suite.postgres.settings if is_postgres else suite.settings
    settings = {**ours, **asked.settings}
    return EnvironmentPlan(
        name=name,
        slug=slug,
        kind=TargetKind.EMBEDDED,
        storage=_storage(asked.storage, profile),
        version=asked.version or (suite.postgres.version if is_postgres else None),
        bin_dir=asked.bin_dir or (suite.postgres.bin_dir if is_postgres else None),
        settings=tuple(setting_texts(settings).items()),
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


def _workload(
    asked: spec.Workload, scripts: Mapping[str, str], engine: ResolvedEngine | None
) -> WorkloadPlan:
    if isinstance(asked, str):
        return WorkloadPlan(name=asked, writes=asked != "select-only")
    if engine is not None:
        load = engine.loads[asked.name]
        own_s = getattr(asked, "duration", None)
        return WorkloadPlan(name=asked.name, writes=asked.writes, load=load, duration_s=own_s)
    script = scripts[asked.script]  # type: ignore[union-attr] # a suite has scripts or an engine
    return WorkloadPlan(name=asked.name, script=script, writes=asked.writes)
