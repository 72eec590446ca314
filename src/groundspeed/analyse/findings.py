"""What goes into an analysis and what comes out: types without logic.

Everything is in base units and unrounded; `report` scales and words it.
"""

from __future__ import annotations

import math
from enum import Enum

import msgspec

from groundspeed.analyse.capacity.shapes import Capacity
from groundspeed.analyse.diagnosis import (
    CellDiagnosis,
    Course,
    Diagnosis,
    GuardFinding,
    Scaling,
)
from groundspeed.analyse.figures import GeometricMeanOfRatios, TrialFigures
from groundspeed.analyse.losses import LossRow
from groundspeed.plan import POSTGRES, Beside, CapacitySearch, Saved, Words, words_of
from groundspeed.published import Publication
from groundspeed.record import (
    Caution,
    ClusterFacts,
    Evidence,
    HostFacts,
    Imported,
    Record,
    SecondRow,
    Series,
    ServerFacts,
    StorageFacts,
    StorageWork,
)
from groundspeed.record.losses import Keeping
from groundspeed.stats.sequential import Rule


class RunRecords(msgspec.Struct, frozen=True, kw_only=True):
    """What is analysed: the records of one run directory, as the store reads them.

    `seconds` maps a trial id to its per-second rows; cautions are those of reading (a torn line).
    `writing_workloads` are those that write; None where that is not known, then all but
    `select-only` are taken to write. `series` maps a trial id to what probes saw in each second;
    `vary` are the facts in which environments are meant to differ, None where the suite does not
    say.
    """

    run_id: str
    suite_name: str
    description: str
    planned_trial_count: int
    environments: tuple[str, ...]
    workloads: tuple[str, ...]
    records: tuple[Record, ...]
    seconds: dict[str, tuple[SecondRow, ...]]
    cautions: tuple[Caution, ...] = ()
    writing_workloads: tuple[str, ...] | None = None
    series: dict[str, Series] = {}
    vary: tuple[str, ...] | None = None
    # Those whose script sleeps; None where that is not known.
    pausing_workloads: tuple[str, ...] | None = None
    # By which the run stopped when it was decided, and what that saved; None for a fixed design.
    rule: Rule | None = None
    saved: Saved | None = None
    # Of a run that searched the highest rate: how, and its slices at a rate. They are no repeats of
    # a cell, so nothing that compares or averages trials sees them among `records`.
    search: CapacitySearch | None = None
    slices: tuple[Record, ...] = ()
    # A name as `Plan.engine`.
    engine: str = POSTGRES
    # What stands beside its figures, and how its environments are paired with those of it.
    publication: Publication | None = None
    beside: Beside | None = None
    # What its environments promise of acknowledged writes; None where nobody said.
    keeping: Keeping | None = None


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A median over trials with its distribution-free 95% interval, and the range.

    In the unit of its metric. `low` and `high` are None where n is too small for the confidence;
    `confidence_ratio` is the one really reached (order statistics come in steps). Where no trial
    has a finite value `n` is 0 and the numbers are NaN.
    """

    n: int
    median: float
    low: float | None
    high: float | None
    confidence_ratio: float | None
    minimum: float
    maximum: float


class CellSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One cell over its repeats. `footnotes` are indices into `Findings.footnotes`."""

    run_ids: tuple[str, ...]
    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    tps_per_s: Estimate
    mean_s: Estimate
    p50_s: Estimate
    p95_s: Estimate
    p99_s: Estimate
    p999_s: Estimate
    max_s: Estimate
    # None where the source of an import does not tell.
    failed_transaction_count: int | None
    trial_ids: tuple[str, ...]
    footnotes: tuple[int, ...]
    emulated: bool = False


class Answer(Enum):
    """What a comparison came to; seen from the environment, against the baseline.

    Equivalent: the ratio is surely within the margin, whether or not it is 1.
    """

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    UNDECIDED = "not decided"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """An environment over the baseline in one cell: ratios of TPS and p99 inside blocks.

    A TPS ratio of 1.2 means 20% more throughput than the baseline. Intervals are None below six
    pairs, ratios are NaN without any pair. Each interval is at 95% by itself; where the run was
    stopped by its results, both intervals hold at every look at once. `answer` is that of the
    TPS ratio; `adjusted` says that it allows for the number of comparisons, so an interval may
    leave 1 and the answer be open. `p_value` is that of no difference in TPS, before this.
    `margin_ratio` is within what equivalent was said; `floor_ratio` the noise floor, as a ratio
    less 1, within which there is no verdict, None where the run did not measure it. `why` says in
    a few words why it is not decided, and `more_pairs_count` how many more pairs would tell; None
    where decided, unknown or out of reach.
    """

    workload: str
    clients: int
    threads: int
    scale: int
    baseline: str
    environment: str
    pair_count: int
    tps_ratio: float
    tps_low: float | None
    tps_high: float | None
    p99_ratio: float
    p99_low: float | None
    p99_high: float | None
    confidence_ratio: float | None
    answer: Answer
    why: str
    emulated: bool = False
    baseline_emulated: bool = False
    adjusted: bool = False
    margin_ratio: float = 0.03
    floor_ratio: float | None = None
    p_value: float = math.nan
    more_pairs_count: int | None = None


class DeviceWork(msgspec.Struct, frozen=True, kw_only=True):
    """What the emulated device of one cell did; medians over its n trials, NaN where unknown.

    Waits are of all server processes, for one transaction; `throttled_wait_s` is how long limits
    (IOPS, bandwidth) held requests back, those of the background write-back among them. Rates are
    requests to the device. Depth is the number of requests in it, `max_depth_count` that of the
    busiest second of any trial. `credits_left_ratio` is the emptiest burst bucket at the end of any
    trial, None without one.
    """

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    n: int
    read_wait_s: float
    write_wait_s: float
    sync_wait_s: float
    throttled_wait_s: float
    reads_per_s: float
    writes_per_s: float
    syncs_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    hit_ratio: float
    mean_depth_count: float
    max_depth_count: float
    late_ratio: float
    credits_left_ratio: float | None


class EnvironmentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one environment; `notes` say what varied within it."""

    environment: str
    run_ids: tuple[str, ...]
    server: ServerFacts | None
    host: HostFacts | None
    storage: StorageFacts | None
    # None of a server that is not in Kubernetes.
    cluster: ClusterFacts | None = None
    tool: str
    tool_version: str | None
    # A name as `Plan.engine`.
    engine: str = POSTGRES
    reset: str | None
    measured_count: int
    failed_count: int
    skipped_count: int
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    # The sources of imported figures, each once.
    imported: tuple[Imported, ...] = ()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A fact in which environments differ: its name and (environment, value) pairs."""

    fact: str
    values: tuple[tuple[str, str], ...]


class Footnote(msgspec.Struct, frozen=True, kw_only=True):
    """A caution, told once and pointed at; `count` is the number of trials that carry it."""

    code: str
    message: str
    count: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence for a workload, and the comparisons it rests on."""

    workload: str
    sentence: str
    decided: bool


class SecondsLine(msgspec.Struct, frozen=True, kw_only=True):
    """The per-second series of one trial, for a picture.

    `log_sampling_ratio` is the share of transactions that the counts of the rows are of.
    """

    environment: str
    workload: str
    clients: int
    threads: int
    trial_id: str
    repeat_index: int
    log_sampling_ratio: float = 1.0
    rows: tuple[SecondRow, ...]


class TrialEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One trial as probes saw it: for its time line and its story.

    `tps_per_s` and `p99_s` are those of its measurement, NaN where not told. `storage_work` is what
    its emulated device did.
    """

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    trial_id: str
    repeat_index: int
    evidence: Evidence
    series: Series
    diagnosis: Diagnosis
    course: Course
    tps_per_s: float = math.nan
    p99_s: float = math.nan
    storage_work: StorageWork | None = None


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a report shows."""

    suite_name: str
    description: str
    run_ids: tuple[str, ...]
    baseline: str
    environments: tuple[EnvironmentFacts, ...]
    planned_trial_count: int
    measured_count: int
    failed_count: int
    skipped_count: int
    cells: tuple[CellSummary, ...]
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    differences: tuple[Difference, ...]
    footnotes: tuple[Footnote, ...]
    cautions: tuple[Caution, ...]
    seconds: tuple[SecondsLine, ...]
    # Names of the environments whose storage was emulated, and what their devices did.
    emulated: tuple[str, ...] = ()
    device_work: tuple[DeviceWork, ...] = ()
    # What probes saw, why cells are as fast as they are, and what may fool a reader.
    diagnoses: tuple[CellDiagnosis, ...] = ()
    trials: tuple[TrialEvidence, ...] = ()
    scalings: tuple[Scaling, ...] = ()
    guards: tuple[GuardFinding, ...] = ()
    # Every measured trial, watched or not, and one number for each workload that has several cells.
    figures: tuple[TrialFigures, ...] = ()
    means: tuple[GeometricMeanOfRatios, ...] = ()
    # Of a run that stopped when it was decided: by what rule, and against what it saved load. That
    # is not known of several runs together.
    rule: Rule | None = None
    saved: Saved | None = None
    # Of runs that searched it: the highest rate of each cell within a latency bound.
    capacities: tuple[Capacity, ...] = ()
    # What probes saw of its slices. Apart from `trials`: each is at another rate.
    slice_trials: tuple[TrialEvidence, ...] = ()
    # Of what was measured, a name as `Plan.engine`; of several the first.
    engine: str = POSTGRES
    # What stands beside the figures, and how environments are paired with those of it.
    publication: Publication | None = None
    beside: Beside | None = None
    # What each environment promises of acknowledged writes, where that is known.
    keeping: Keeping = Keeping(promises=())
    # And what it lost when it was tried; empty where nobody did.
    losses: tuple[LossRow, ...] = ()
    # Those that change data; None where that is not known.
    writing_workloads: tuple[str, ...] | None = None
    first_started_at: str | None
    last_started_at: str | None

    @property
    def words(self) -> Words:
        """What is counted, in words."""
        return words_of(self.engine)
