"""What an analysis of evidence comes to: bottlenecks, courses, scaling, guards. Types, no logic.

Everything is in base units and unrounded; `report` scales and words it.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from groundspeed.record.evidence import EventKind


class Bottleneck(Enum):
    """What held an environment back."""

    CLIENT = "client-bound"
    CPU = "CPU-bound"
    CPU_STARVED = "CPU-starved"
    LOCK = "lock-bound"
    WAL_SYNC = "WAL-sync-bound"
    READ_IO = "read-IO-bound"
    WRITE_BANDWIDTH = "write-bandwidth-bound"
    IOPS_CAPPED = "IOPS-capped"
    CHECKPOINT = "checkpoint-bound"
    MEMORY = "memory-bound"
    NETWORK = "network-bound"
    CONNECTION = "connection-bound"
    # Of servers with one thread for all clients.
    SINGLE_THREAD = "CPU-bound single thread"
    FSYNC_STALL = "fsync-stall"
    FORK = "fork-bound"
    UNKNOWN = "unknown"


class Confidence(Enum):
    """How far the clues carry a diagnosis: nothing speaks against it, something does, a guess."""

    SURE = "sure"
    LIKELY = "likely"
    WEAK = "weak"


class Clue(msgspec.Struct, frozen=True, kw_only=True):
    """One figure that a diagnosis rests on.

    `name` is what it is in a few words ("of database time waits for the log to be synced"); `unit`
    is the suffix of its base unit (ratio, s, bytes_per_s, per_s, count); `source` is where it was
    seen ("pg_stat_activity, 600 samples").
    """

    name: str
    value: float
    unit: str
    source: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What held one trial back; three clues, or those there are where it is unknown.

    `remedy` is one sentence on what would change it. `others` are the bottlenecks that came next,
    with their clues strong enough to be named.
    """

    trial_id: str
    bottleneck: Bottleneck
    confidence: Confidence
    clues: tuple[Clue, ...]
    remedy: str
    others: tuple[Bottleneck, ...] = ()


class CellDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What held a cell back: the diagnosis most of its trials agree in, and by how many."""

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    diagnosis: Diagnosis
    agreeing_count: int
    trial_count: int


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds below a tenth of the trial's median throughput, and the event they coincide with."""

    first_second_index: int
    second_count: int
    lowest_per_s: float
    coincides: EventKind | None = None
    detail: str = ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Two levels, a step down without recovery: an exhausted burst bucket, or its like.

    `cause` says what is known of it ("credits of the emulated device ran out"), "" where nothing
    is. `bucket_count` is what the bucket held beyond its refill, in transactions.
    """

    at_s: float
    before_per_s: float
    after_per_s: float
    bucket_count: float
    cause: str = ""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How one trial went over its time.

    `steady_from_s` is where its steady state begins, found and not assumed; None where it never
    came, or where `is_too_short` to tell. `cv_ratio` is the coefficient of variation of its
    seconds, `worst_ratio` the worst ten seconds over the median; both NaN in trials too short for
    them. `trend_per_minute_ratio` is the slope of the steady part relative to its median, with its
    95% interval where there is one.
    """

    trial_id: str
    steady_from_s: float | None
    cv_ratio: float
    worst_ratio: float
    is_too_short: bool = False
    trend_per_minute_ratio: float | None = None
    trend_low: float | None = None
    trend_high: float | None = None
    stalls: tuple[Stall, ...] = ()
    step: Step | None = None


class ScalingPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Throughput at a number of clients, and what the fit says there."""

    clients: int
    tps_per_s: float
    fitted_per_s: float | None
    used: bool


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Throughput over clients, by the Universal Scalability Law where it can be fitted.

    X(n) = lambda n / (1 + sigma (n - 1) + kappa n (n - 1)). `why` says why there is no fit (too few
    numbers of clients, a plateau made by a cap). Intervals are 95%, None where they cannot be
    given. `knee_clients` is where throughput reaches 90% of its peak; `peak_clients` where it turns
    down, None where it does not in the measured range.
    """

    environment: str
    workload: str
    scale: int
    points: tuple[ScalingPoint, ...]
    lambda_per_s: float | None = None
    sigma_ratio: float | None = None
    sigma_low: float | None = None
    sigma_high: float | None = None
    kappa_ratio: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None
    residual_ratio: float | None = None
    knee_clients: float | None = None
    peak_clients: float | None = None
    why: str = ""


class GuardKind(Enum):
    """Which guard found something."""

    DATASET = "dataset"
    PARITY = "parity"
    BURST = "burst"
    SANITY = "sanity"
    CLUSTER = "cluster"


class CellKey(msgspec.Struct, frozen=True, kw_only=True):
    """A cell by its factors; `environment` is "" where it holds for all environments."""

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int


class GuardFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison or a cell that may fool its reader, and why.

    `code` is a stable slug (did-not-measure-storage, confounded, burst-against-baseline,
    scale-below-clients, little, schedule-lag, noisy-neighbours, steal, same-node); `message` one
    sentence with its figures. `cells` are where it matters; empty: everywhere.
    """

    kind: GuardKind
    code: str
    message: str
    cells: tuple[CellKey, ...] = ()
    environments: tuple[str, ...] = ()
