"""What happened: a `Record` for every trial, whatever came of it, and its versioned codec.

Raw values are kept and every statistic can be made again from them. This module measures nothing
and judges nothing.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from groundspeed.errors import StoreError
from groundspeed.plan import POSTGRES, Trial
from groundspeed.record.cluster import ClusterFacts
from groundspeed.record.evidence import Evidence, Series
from groundspeed.record.imported import UNKNOWN, Imported, ImportKind
from groundspeed.record.storage import CreditsLeft, StorageFacts, StorageSecond, StorageWork

__all__ = [
    "PLACE_SETTINGS",
    "RECORD_FORMAT",
    "UNKNOWN",
    "Caution",
    "ClusterFacts",
    "CreditsLeft",
    "Evidence",
    "Failed",
    "Histogram",
    "HostFacts",
    "ImportKind",
    "Imported",
    "LagSummary",
    "LagTotals",
    "LatencySummary",
    "LogTotals",
    "Measured",
    "Outcome",
    "Phase",
    "Provenance",
    "Record",
    "SecondRow",
    "SecondTally",
    "Series",
    "ServerFacts",
    "Setting",
    "Skipped",
    "StorageFacts",
    "StorageSecond",
    "StorageWork",
    "decode",
    "encode",
]

RECORD_FORMAT = 1


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """A doubt that rides on a record. `code` is a stable slug, `message` one line for people."""

    code: str
    message: str


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of values by log-linear bucket.

    `buckets` are (index, count) pairs, ascending; 2**sub_bucket_bits buckets to an octave. Layout
    and arithmetic: `groundspeed.stats.histogram`. Values are microseconds.
    """

    sub_bucket_bits: int = 7
    buckets: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        """The number of values, 0 or more."""
        return sum(count for _, count in self.buckets)


class LatencySummary(msgspec.Struct, frozen=True, kw_only=True):
    """Latency of the transactions that succeeded, from the transaction log; seconds.

    Percentiles have the relative error of the histogram (at most 1%); the maximum is exact. NaN is
    what the source of an imported record does not tell; in the file it is null.
    """

    mean_s: float
    stddev_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    p999_s: float
    max_s: float


class LagSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How late transactions started against their schedule (only with a rate); seconds.

    NaN as in `LatencySummary`.
    """

    mean_s: float
    p99_s: float
    max_s: float


class LogTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The whole transaction log of one pgbench, as the native log reader sums it up."""

    count: int
    failed: int
    serialization: int
    deadlock: int
    skipped: int
    retried: int
    retries: int
    sum_us: int
    # Whole, however large: parts of a log add up to just what the whole log has.
    sum_squares_us2: int
    # None without a transaction.
    min_us: int | None
    max_us: int | None
    # Wall-clock time of the first and the last line; microseconds since 1970.
    first_us: int | None
    last_us: int | None
    malformed: int
    out_of_range: int
    late: int
    punch_failures: int
    bytes: int
    histogram: Histogram
    lag: LagTotals | None = None

    @property
    def rate_per_s(self) -> float:
        """Logged transactions a second between the first and the last line; 0 when unknown."""
        if self.first_us is None or self.last_us is None or self.last_us <= self.first_us:
            return 0.0
        return self.count / (self.last_us - self.first_us) * 1e6


class LagTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Schedule lag over a whole log."""

    count: int
    sum_us: int
    max_us: int
    histogram: Histogram


class SecondRow(msgspec.Struct, frozen=True, kw_only=True):
    """One second of a trial, from the transaction log; `index` counts from its start."""

    index: int
    count: int
    failed: int
    skipped: int
    # None in a second without a transaction that succeeded: a stall is a row too.
    mean_us: float | None
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    max_us: float | None


class SecondTally(msgspec.Struct, frozen=True, kw_only=True):
    """One second of one log with all its latencies, to be added to the same second of others.

    As the log reader writes it; `buckets` as in `Histogram`.
    """

    index: int
    count: int
    failed: int
    skipped: int
    sum_us: int
    # None without a transaction that succeeded.
    min_us: int | None
    max_us: int | None
    sub_bucket_bits: int
    buckets: tuple[tuple[int, int], ...]

    @property
    def histogram(self) -> Histogram:
        """Its latencies."""
        return Histogram(sub_bucket_bits=self.sub_bucket_bits, buckets=self.buckets)


class Measured(msgspec.Struct, frozen=True, kw_only=True, tag="measured"):
    """A trial that ran to its end and did what was asked.

    Counts are None where the source of an imported record does not tell them.
    """

    tps_per_s: float
    transaction_count: int | None
    failed_count: int | None
    serialization_failure_count: int | None
    deadlock_failure_count: int | None
    retried_count: int | None
    retries_count: int | None
    # Not sent at all because their schedule was over the latency limit already (with a rate).
    skipped_count: int | None
    over_limit_count: int | None = None
    initial_connection_s: float | None = None
    latency: LatencySummary
    schedule_lag: LagSummary | None = None
    # Share of the transactions that were logged; below 1 the percentiles rest on a sample. 0
    # without a log: then there are none, and no histogram.
    log_sampling_ratio: float
    histogram: Histogram


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """A trial without a measurement. `retryable`: `resume` tries it again."""

    reason: str
    retryable: bool


class Skipped(msgspec.Struct, frozen=True, kw_only=True, tag="skipped"):
    """A trial that was not tried, and why."""

    reason: str


Outcome = Measured | Failed | Skipped


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A server setting in force that differs from its default; `unit` as in pg_settings."""

    name: str
    value: str
    unit: str | None = None
    source: str


# They say where a server lives and what it is called, not how it works: every run has others.
PLACE_SETTINGS = frozenset(
    {
        "cluster_name",
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "log_directory",
        "log_filename",
        "port",
        "unix_socket_directories",
    }
)


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the server says of itself."""

    version: str
    version_num: int
    settings: tuple[Setting, ...]
    extensions: tuple[str, ...] = ()


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that ran the load (and an embedded server)."""

    kernel: str
    cpu_model: str
    cpu_count: int
    memory_bytes: int
    virtualization: str
    governor: str | None = None
    clock_source: str | None = None
    transparent_huge_pages: str | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Under which circumstances a record came about. Absent parts were not reached."""

    groundspeed_version: str
    command: tuple[str, ...] = ()
    # A name as `Plan.engine`.
    engine: str = POSTGRES
    # The load tool.
    tool: str = "pgbench"
    tool_version: str | None = None
    # Of records that are older, where `decode` moves it to `tool_version`.
    pgbench_version: str | None = None
    server: ServerFacts | None = None
    host: HostFacts | None = None
    storage: StorageFacts | None = None
    # None of a server that is not in Kubernetes.
    cluster: ClusterFacts | None = None
    # How write trials come to start from the same state, see docs/method.md.
    reset: str | None = None
    # None for what groundspeed measured itself.
    imported: Imported | None = None


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """How long one phase of a trial took."""

    name: str
    elapsed_s: float


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at one trial."""

    format: int = RECORD_FORMAT
    trial: Trial
    attempt: int
    # Wall-clock time, for people; durations come from the monotonic clock.
    started_at: str
    elapsed_s: float
    phases: tuple[Phase, ...] = ()
    outcome: Outcome
    provenance: Provenance
    cautions: tuple[Caution, ...] = ()
    # None where no device was emulated, and in records that are older.
    storage_work: StorageWork | None = None
    # None where nothing was watched, and in records that are older.
    evidence: Evidence | None = None


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """Write a record as one line of JSON, with its newline."""
    return _ENCODER.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    """Read one line. Raises msgspec.DecodeError for a torn one, StoreError for a later format."""
    try:
        record = _DECODER.decode(line)
    except msgspec.ValidationError:
        record = _with_unknown(line)
    if record.format != RECORD_FORMAT:
        raise StoreError(
            f"record format {record.format}, this groundspeed knows {RECORD_FORMAT}",
            f"use groundspeed {record.provenance.groundspeed_version}",
        )
    old = record.provenance
    if old.pgbench_version is None:
        return record
    moved = msgspec.structs.replace(old, tool_version=old.pgbench_version, pgbench_version=None)
    return msgspec.structs.replace(record, provenance=moved)


def _with_unknown(line: bytes) -> Record:
    """Read a record whose source did not tell all: JSON has null for what is NaN in memory."""
    try:
        whole = msgspec.json.decode(line, type=dict[str, Any])
    except UnicodeDecodeError as error:
        # Only here every string is looked at.
        raise msgspec.DecodeError(str(error)) from None
    outcome = whole.get("outcome")
    for name in ("latency", "schedule_lag"):
        part = outcome.get(name) if isinstance(outcome, dict) else None
        if isinstance(part, dict):
            part.update({field: math.nan for field, value in part.items() if value is None})
    return msgspec.convert(whole, Record)
