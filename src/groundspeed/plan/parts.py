"""What a plan consists of; types, and what follows from their own fields alone."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from groundspeed.plan.kubernetes import ClusterRequest

PLAN_FORMAT = 1
# The engine of plans that name none.
POSTGRES = "postgres"

# Measured with pgbench -i on PostgreSQL 16: scale 100 takes 1,496 MiB of table and index.
DATASET_BYTES_PER_SCALE = 15_700_000

# A pgbench command of a script, in any case.
_SLEEP = re.compile(r"^\s*\\sleep\b", re.MULTILINE | re.IGNORECASE)


class TargetKind(Enum):
    """Who owns the server of an environment: the run, or somebody else."""

    EMBEDDED = "embedded"
    SERVER = "server"
    # In a Kubernetes cluster: the run's there, or given there by its Service.
    KUBERNETES = "kubernetes"
    # Of figures that were imported: nobody here can start it again.
    IMPORTED = "imported"


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
    # Major version of the server; None takes what there is, which postgres does not.
    version: int | None = None
    # Of plans that are older, where `decode` moves it to `version`.
    postgres_version: int | None = None
    bin_dir: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    listen: str = "socket"
    # Without its password: that one never reaches a plan.
    dsn: str | None = None
    password_env: str | None = None
    # Of the emulated machine: what its server and its page cache have together.
    memory_bytes: int | None = None
    # Memory that its data set takes in the server, for another engine than postgres.
    server_bytes: int | None = None
    # What only its engine understands, checked and spelt out by that one.
    options: tuple[tuple[str, str], ...] = ()
    # A second server that follows the first; the load goes to the first alone.
    replica: EnvironmentPlan | None = None
    # Of one in Kubernetes, and of no other.
    cluster: ClusterRequest | None = None


def replica_name(environment: str) -> str:
    """Give the name of the second server of an environment; no suite can name one so."""
    return f"{environment}/replica"


class EngineNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What one environment of an engine needs; upper bounds, but for the time.

    With less than the least it fails for sure: that is what its data set takes alone.
    """

    disk_bytes: int
    memory_bytes: int
    set_up_s: float
    least_disk_bytes: int = 0
    least_memory_bytes: int = 0


class ResolvedEngine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that a suite asked for, found: what its options mean, spelt out.

    `loads` are options by workload, `options` by environment; those of its replica are under
    `replica_name`.
    """

    name: str
    loads: dict[str, tuple[tuple[str, str], ...]]
    options: dict[str, tuple[tuple[str, str], ...]]
    needs: EngineNeeds


class ResolvedProfile(NamedTuple):
    """A profile that a suite asked for, found: its label and its JSON text."""

    label: str
    json: str


class WorkloadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the clients do: a built-in pgbench script or the text of the user's own.

    Of another engine it is `load`: options of its load tool, checked and spelt out by that one.
    """

    name: str
    script: str | None = None
    writes: bool
    load: tuple[tuple[str, str], ...] = ()
    # Of its trials, where it differs from the others'.
    duration_s: float | None = None

    @property
    def pauses(self) -> bool:
        """Whether its clients sleep between their statements."""
        return self.script is not None and _SLEEP.search(self.script) is not None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of factors.

    Of imported figures alone, `threads` or `scale` is 0 where the source does not tell.
    """

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of one cell. Trials of one block differ in the environment alone.

    A `twin` measures the baseline a second time in its block: the two of them show how much two
    measurements of the same differ. It is no repeat and belongs to no comparison of environments.
    """

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
    twin: bool = False


class Sequential(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan that stops when it is decided does so; its rounds are the repeats of its trials.

    One looks for the first time after `first_look_count` rounds; there are `round_count` of them at
    most. `family_count` comparisons share the error. `at_most_s` bounds `set_up_s`, what setting up
    is taken to need, plus what the records of the trials say they took and what lay between them,
    at least `between_s` each: all of it is in the plan and the records, so a run that goes on
    counts the same.
    """

    margin_ratio: float
    at_most_s: float
    first_look_count: int
    round_count: int
    family_count: int
    set_up_s: float
    between_s: float
    # Trials of later rounds are not watched; see plan.rounds.
    watched_round_count: int


class CapacitySearch(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan searches the highest rate at which p99 latency stays within `bound_s`.

    Its rounds are the repeats of its trials. Those of the first round are closed loops, the others
    are slots: the rate of each follows from the records before it, see `analyse.capacity`. A cell
    is found when the ends of its interval are within `within_ratio` of each other; slices that all
    agree need about `first_look_count` rounds for that. Times as those of `Sequential`.
    """

    bound_s: float
    within_ratio: float
    at_most_s: float
    first_look_count: int
    round_count: int
    set_up_s: float
    between_s: float
    watched_round_count: int

    @property
    def step_ratio(self) -> float:
        """From one rate to the next: an interval is at least two of them."""
        return self.within_ratio / 2


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """A publication of the catalogue whose figures stand beside those of the run.

    `environments` are pairs: a name of ours, and what the publication calls the same.
    """

    publication: str
    environments: tuple[tuple[str, str], ...]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What running the plan will take. Times are rough; sizes are upper bounds."""

    trial_count: int
    load_s: float
    wall_s: float
    disk_bytes_per_environment: int
    memory_bytes: int
    # Of a plan that stops when it is decided: until the first answers; the others are upper bounds.
    first_look_s: float | None = None


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
    # None where every trial of the plan is measured, whatever comes of it.
    sequential: Sequential | None = None
    # None where no rate is searched; never beside `sequential`.
    search: CapacitySearch | None = None
    # A name that the rooms of tools, targets and probes know.
    engine: str = POSTGRES
    # Of one environment; None where the scale tells.
    needs: EngineNeeds | None = None
    # Pods that share the clients of each trial; 1 is the process that runs it all.
    generator_count: int = 1
    # None where the suite names no publication.
    beside: Beside | None = None

    @property
    def stopping(self) -> Sequential | CapacitySearch | None:
        """How it stops before its last trial; None where every trial is measured."""
        return self.sequential or self.search

    @property
    def is_imported(self) -> bool:
        """Whether its trials are figures of others, which cannot be measured again."""
        return any(e.kind is TargetKind.IMPORTED for e in self.environments)

    def dataset_bytes(self, scale: int) -> int | None:
        """Size of what reads may have to fetch from storage; None for one all in memory."""
        return scale * DATASET_BYTES_PER_SCALE if self.engine == POSTGRES else None

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
