"""What every load tool can tell: what to type for a trial, and what its output amounts to.

Each tool is a class of its own below this room; the rest of the house knows them by this protocol
alone. Nothing is executed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from groundspeed.record import Caution

if TYPE_CHECKING:
    from groundspeed.plan import Command, Trial, WorkloadPlan


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a load is expected to go; `rate_per_s` is 0 where nothing is known yet."""

    rate_per_s: float
    cpu_count: int


class ProgressLine(msgspec.Struct, frozen=True, kw_only=True):
    """One of a tool's own progress reports. `elapsed_s` is None where it does not tell."""

    elapsed_s: float | None
    tps_per_s: float


class ToldLatency(msgspec.Struct, frozen=True, kw_only=True):
    """Latency as a tool sums it up itself, where it keeps no log; seconds.

    `distribution` are (upper bound in s, count) pairs, ascending: no more requests than `count`
    took longer than the bound before and at most this one. Empty where the tool does not tell.
    """

    mean_s: float
    min_s: float
    max_s: float
    # (q in (0, 1), seconds) pairs, ascending, as told.
    quantiles: tuple[tuple[float, float], ...]
    distribution: tuple[tuple[float, int], ...] = ()


class LoadTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool says it did; a transaction is what its clients repeat.

    `differences` says where that is not what was asked. `latency` is None for a tool whose
    transaction log tells more.
    """

    transaction_count: int
    tps_per_s: float
    failed_count: int = 0
    # Of those that failed; None where it does not tell, and a log may.
    serialization_count: int | None = None
    deadlock_count: int | None = None
    skipped_count: int = 0
    over_limit_count: int | None = None
    retried_count: int = 0
    retries_count: int = 0
    initial_connection_s: float | None = None
    differences: tuple[str, ...] = ()
    latency: ToldLatency | None = None
    cautions: tuple[Caution, ...] = ()


class LoadTool(Protocol):
    """A program that makes load."""

    @property
    def program(self) -> str:
        """Name of the program, as on a command line."""
        ...

    @property
    def keeps_log(self) -> bool:
        """Whether it writes each transaction into a log, which the target then reads."""
        ...

    @property
    def tells_rate_after_s(self) -> float:
        """After how long a load that is cut short has told its rate; seconds."""
        ...

    def warm_up_command(self, trial: Trial, workload: WorkloadPlan, *, conninfo: str) -> Command:
        """Command of a trial's warm-up; it may run longer and is then ended from outside."""
        ...

    def command(
        self, trial: Trial, workload: WorkloadPlan, *, conninfo: str, pace: Pace
    ) -> Command:
        """Command of the measured part of a trial."""
        ...

    def log_share_ratio(self, trial: Trial, pace: Pace) -> float:
        """Share of the transactions that `command` lets it log; in (0, 1], 1 without a log."""
        ...

    def expected_s(self, trial: Trial, workload: WorkloadPlan, pace: Pace) -> float:
        """Say how long `command` is expected to make load, where the pace holds."""
        ...

    def read(self, trial: Trial, workload: WorkloadPlan, stdout: str) -> LoadTotals:
        """Read its report. Raises ValueError naming what it lacks."""
        ...

    def rate_per_s(self, stdout: str) -> float:
        """Transactions a second by the output of a load that was cut short; 0 when unknown."""
        ...

    def parse_progress(self, line: str) -> ProgressLine | None:
        """Read a line of its output; None when it is no progress report."""
        ...

    def error_line(self, stderr: str) -> str:
        """Pick the line that says what went wrong; may be empty."""
        ...
