"""A suite and a seed become a `Plan`: every trial, in order, with all that is needed to run it.

The plan is a file that can be read before anything runs and by which an interrupted run goes on.
This module runs nothing, reads nothing and draws its randomness from the generator it is given.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from groundspeed.errors import SpecError, StoreError

if TYPE_CHECKING:
    # For types alone: records carry trials, and the probe process, which reads records' types,
    # would otherwise load all that decoding a suite takes.
    from collections.abc import Mapping, Sequence
    from random import Random

    from groundspeed import spec

PLAN_FORMAT = 1

# Measured with pgbench -i on PostgreSQL 16: scale 100 takes 1,496 MiB of table and index.
DATASET_BYTES_PER_SCALE = 15_700_000
EMPTY_CLUSTER_BYTES = 40 * 1024**2
DEFAULT_MAX_WAL_BYTES = 1024**3
DEFAULT_SHARED_BUFFERS_BYTES = 128 * 1024**2
BACKEND_BYTES = 10 * 1024**2
# Rough, for the estimate only; the true ones are on every record.
INITIALISE_S_PER_SCALE = 0.15
ENVIRONMENT_SET_UP_S = 1.5
TRIAL_OVERHEAD_S = 0.8
RESET_S_PER_SCALE = 0.004


# A pgbench command of a script, in any case.
_SLEEP = re.compile(r"^\s*\\sleep\b", re.MULTILINE | re.IGNORECASE)


class TargetKind(Enum):
    """Who owns the server of an environment: the run, or somebody else."""

    EMBEDDED = "embedded"
    SERVER = "server"


class StorageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of an environment are asked to live.

    `emulate` is the label of the emulated profile and `profile` the whole of it, as JSON text of
    `storage.profile.Profile`; plans made before there was emulation have a label alone. Without
    them the files live in `directory` as it is; with them it is only where the real files lie, and
    None leaves that to the run.
    """

    directory: str | None = None
    emulate: str | None = None
    wal_directory: str | None = None
    profile: str | None = None


class EnvironmentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One thing compared. `slug` is its name made safe for file names, unique in the plan."""

    name: str
    slug: str
    kind: TargetKind
    storage: StorageRequest | None = None
    postgres_version: int | None = None
    bin_dir: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    listen: str = "socket"
    # Without its password: that one never reaches a plan.
    dsn: str | None = None
    password_env: str | None = None
    # Of the emulated machine: what its server and its page cache have together.
    memory_bytes: int | None = None


class ResolvedProfile(NamedTuple):
    """A profile that a suite asked for, found: its label and its JSON text."""

    label: str
    json: str


class WorkloadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the clients do: a built-in pgbench script or the text of the user's own."""

    name: str
    script: str | None = None
    writes: bool

    @property
    def pauses(self) -> bool:
        """Whether its clients sleep between their statements."""
        return self.script is not None and _SLEEP.search(self.script) is not None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of factors."""

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of one cell. Trials of one block differ in the environment alone."""

    trial_id: str
    block_index: int
    repeat_index: int
    cell: Cell
    duration_s: int
    warm_up_s: float
    protocol: str
    rate_per_s: float | None = None
    latency_limit_s: float | None = None
    max_tries: int = 1
    progress_s: int = 1
    random_seed: int


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What running the plan will take. Times are rough; sizes are upper bounds."""

    trial_count: int
    load_s: float
    wall_s: float
    disk_bytes_per_environment: int
    memory_bytes: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All trials in the order they will run, and all that is needed to run them."""

    format: int = PLAN_FORMAT
    groundspeed_version: str
    suite_name: str
    description: str
    seed: int
    suite: dict[str, Any]
    # Where the suite came from: a preset's name or the absolute path of the file.
    source: str
    environments: tuple[EnvironmentPlan, ...]
    workloads: tuple[WorkloadPlan, ...]
    trials: tuple[Trial, ...]
    estimate: Estimate
    # A word of record.evidence.ProbeLevel; plans that are older watch nothing.
    probes: str = "off"
    # In what environments are meant to differ; None where the suite does not say.
    vary: tuple[str, ...] | None = None
    # Burst credits of emulated devices are spent before each trial.
    drain: bool = False

    def environment(self, name: str) -> EnvironmentPlan:
        """Find an environment by name. Raises StopIteration when there is none."""
        return next(e for e in self.environments if e.name == name)

    def workload(self, name: str) -> WorkloadPlan:
        """Find a workload by name. Raises StopIteration when there is none."""
        return next(w for w in self.workloads if w.name == name)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A program and its arguments, as asked; executed only by a target.

    `program` is the name of a PostgreSQL or load tool. `files` are (name, text) pairs that the
    target writes into the working directory of the command before it starts.
    """

    program: str
    arguments: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line."""
        return (self.program, *self.arguments)


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
    Raises SpecError for PostgreSQL settings that emulation cannot have.
    """
    environments = _environments(suite, profiles or {})
    workloads = tuple(_workload(workload, scripts) for workload in suite.workloads)
    trials = _trials(suite, environments, workloads, rng)
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
        estimate=_estimate(suite, environments, workloads, trials),
        probes=suite.measure.probes,
        vary=suite.vary,
        drain=suite.measure.drain,
    )


def slugs(names: Sequence[str]) -> tuple[str, ...]:
    """Make names safe for file names: lower-case letters, digits and dashes, each one unique."""
    taken: list[str] = []
    for name in names:
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"
        slug, number = stem, 2
        while slug in taken:
            slug, number = f"{stem}-{number}", number + 1
        taken.append(slug)
    return tuple(taken)


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


def _threads(suite: spec.Suite, clients: int) -> tuple[int, ...]:
    if isinstance(suite.threads, str):
        return (clients,)
    return tuple(threads for threads in suite.threads if threads <= clients)


def _trials(
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
    rng: Random,
) -> tuple[Trial, ...]:
    combinations = [
        (workload, clients, threads)
        for workload in workloads
        for clients in suite.clients
        for threads in _threads(suite, clients)
    ]
    workload_slugs = dict(
        zip((w.name for w in workloads), slugs([w.name for w in workloads]), strict=True)
    )
    trials: list[Trial] = []
    block_index = 0
    for repeat_index in range(suite.measure.repeats):
        # Shuffled within a repeat, not over all repeats: an interrupted run then has seen every
        # cell about equally often.
        for workload, clients, threads in rng.sample(combinations, len(combinations)):
            random_seed = rng.getrandbits(31)
            for environment in rng.sample(list(environments), len(environments)):
                where = f"{workload_slugs[workload.name]}-c{clients}-j{threads}"
                trials.append(
                    Trial(
                        trial_id=f"{environment.slug}.{where}.r{repeat_index + 1}",
                        block_index=block_index,
                        repeat_index=repeat_index,
                        cell=Cell(
                            environment=environment.name,
                            workload=workload.name,
                            clients=clients,
                            threads=threads,
                            scale=suite.scale,
                        ),
                        duration_s=round(suite.measure.duration),
                        warm_up_s=suite.measure.warm_up,
                        protocol=suite.pgbench.protocol,
                        rate_per_s=suite.pgbench.rate,
                        latency_limit_s=suite.pgbench.latency_limit,
                        max_tries=suite.pgbench.max_tries,
                        progress_s=round(suite.pgbench.progress),
                        random_seed=random_seed,
                    )
                )
            block_index += 1
    return tuple(trials)


def _setting_bytes(environment: EnvironmentPlan, name: str, unit_bytes: int, default: int) -> int:
    value = dict(environment.settings).get(name)
    if value is None:
        return default
    match = re.fullmatch(r"\s*(\d+)\s*(kB|MB|GB|TB)?\s*", value)
    if match is None:
        return default
    units = {"kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
    return int(match[1]) * (units[match[2]] if match[2] else unit_bytes)


def _estimate(
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
    trials: Sequence[Trial],
) -> Estimate:
    owned = [e for e in environments if e.kind is TargetKind.EMBEDDED]
    load_s = sum(t.duration_s for t in trials)
    writes = {w.name: w.writes for w in workloads}
    wall_s = load_s + sum(
        t.warm_up_s
        + TRIAL_OVERHEAD_S
        + (RESET_S_PER_SCALE * suite.scale if writes[t.cell.workload] else 0)
        for t in trials
    )
    wall_s += len(environments) * (ENVIRONMENT_SET_UP_S + INITIALISE_S_PER_SCALE * suite.scale)
    wal_bytes = max(
        (_setting_bytes(e, "max_wal_size", 1024**2, DEFAULT_MAX_WAL_BYTES) for e in owned),
        default=0,
    )
    buffers_bytes = max(
        (_setting_bytes(e, "shared_buffers", 8192, DEFAULT_SHARED_BUFFERS_BYTES) for e in owned),
        default=0,
    )
    # WAL of the initialisation itself stays below twice max_wal_size; small datasets need less.
    dataset_bytes = suite.scale * DATASET_BYTES_PER_SCALE
    return Estimate(
        trial_count=len(trials),
        load_s=float(load_s),
        wall_s=wall_s,
        disk_bytes_per_environment=dataset_bytes
        + EMPTY_CLUSTER_BYTES
        + min(wal_bytes, 2 * dataset_bytes + 64 * 1024**2),
        memory_bytes=buffers_bytes + max(suite.clients) * BACKEND_BYTES,
    )


def encode(plan: Plan) -> bytes:
    """Write a plan as JSON, indented for people."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def decode(data: bytes, *, source: str) -> Plan:
    """Read a plan. Raises StoreError when it is no plan or of a later format."""
    try:
        plan = msgspec.json.decode(data, type=Plan)
    except msgspec.DecodeError:
        raise StoreError(f"{source}: not a plan", "name a run directory of groundspeed") from None
    if plan.format != PLAN_FORMAT:
        raise StoreError(
            f"{source}: plan format {plan.format}, this groundspeed knows {PLAN_FORMAT}",
            f"use groundspeed {plan.groundspeed_version}",
        )
    return plan
