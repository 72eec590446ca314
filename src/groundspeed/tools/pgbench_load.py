"""pgbench as a load tool among others: `load_tool.LoadTool` in the terms of `tools.pgbench`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.tools import pgbench
from groundspeed.tools.load_tool import LoadTotals

if TYPE_CHECKING:
    from groundspeed.plan import Command, Trial, WorkloadPlan
    from groundspeed.tools.load_tool import Pace, ProgressLine
    from groundspeed.tools.pgbench import Report


class PgbenchLoad:
    """Implements `LoadTool`; its transaction log tells latencies."""

    program = "pgbench"
    keeps_log = True
    # Its log tells of each transaction; so long for connecting, and for some to tell a rate.
    tells_rate_after_s = 0.2

    def warm_up_command(self, trial: Trial, workload: WorkloadPlan, *, conninfo: str) -> Command:
        """Command of a trial's warm-up: the same load."""
        return pgbench.warm_up_command(trial, workload, conninfo=conninfo)

    def command(
        self, trial: Trial, workload: WorkloadPlan, *, conninfo: str, pace: Pace
    ) -> Command:
        """Command of the measured part, logging as many transactions as its threads can spare."""
        ratio = self.log_share_ratio(trial, pace)
        return pgbench.command(trial, workload, conninfo=conninfo, sampling_ratio=ratio)

    def log_share_ratio(self, trial: Trial, pace: Pace) -> float:
        """Share of the transactions to log, so that logging does not show in the result."""
        return pgbench.sampling_ratio(
            pace.rate_per_s, threads=trial.cell.threads, cpu_count=pace.cpu_count
        )

    def expected_s(self, trial: Trial, workload: WorkloadPlan, pace: Pace) -> float:
        """As long as asked, whatever the pace."""
        del workload, pace
        return trial.duration_s

    def read(self, trial: Trial, workload: WorkloadPlan, stdout: str) -> LoadTotals:
        """Read pgbench's final report. Raises ValueError naming the line it lacks."""
        report = pgbench.parse(stdout)
        return totals(report, pgbench.mismatches(trial, workload, report))

    def rate_per_s(self, stdout: str) -> float:
        """Unknown: a pgbench that is cut short reports nothing; its log tells."""
        del stdout
        return 0.0

    def parse_progress(self, line: str) -> ProgressLine | None:
        """Read a line of pgbench's standard error."""
        return pgbench.parse_progress(line)

    def error_line(self, stderr: str) -> str:
        """Pick the line that says what went wrong; may be empty."""
        return pgbench.error_line(stderr)


def totals(report: Report, differences: tuple[str, ...] = ()) -> LoadTotals:
    """Give a report in the terms that all load tools share."""
    return LoadTotals(
        transaction_count=report.transaction_count,
        tps_per_s=report.tps_per_s,
        failed_count=report.failed_count,
        serialization_count=report.serialization_count,
        deadlock_count=report.deadlock_count,
        skipped_count=report.skipped_count,
        over_limit_count=report.over_limit_count,
        retried_count=report.retried_count,
        retries_count=report.retries_count,
        initial_connection_s=report.initial_connection_s,
        differences=differences,
    )
