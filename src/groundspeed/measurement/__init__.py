"""What a finished load amounts to: a measurement, or a failure that says why.

The load tool's report, its log and what was asked must agree; where they do not, there is no
number.
Pure: it reads what the load left behind and executes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.measurement.judgement import Judgement, failed
from groundspeed.measurement.logged import as_logged, judge_past
from groundspeed.measurement.told import as_told, judge_without_log, told_mean
from groundspeed.record import Failed

if TYPE_CHECKING:
    from groundspeed.plan import Trial, WorkloadPlan
    from groundspeed.ports import LoadResult
    from groundspeed.tools.load_tool import LoadTool, Pace

__all__ = ["Judgement", "judge", "judge_past", "judge_without_log", "told_mean"]


def judge(
    tool: LoadTool, trial: Trial, workload: WorkloadPlan, result: LoadResult, *, pace: Pace
) -> Judgement:
    """Decide whether a load did what was asked, and sum it up.

    `pace` is that with which its command was made, on the machine that ran it.
    """
    if result.returncode != 0:
        return _ended_badly(tool, result)
    try:
        report = tool.read(trial, workload, result.stdout)
    except ValueError as error:
        return failed(str(error))
    if report.differences:
        return Judgement(
            outcome=Failed(
                reason=f"{tool.program} did not do what was asked: {'; '.join(report.differences)}",
                retryable=False,
            )
        )
    if not tool.keeps_log:
        return as_told(trial, report)
    if result.log is None or result.log.count == 0 or result.log.max_us is None:
        return failed("no transaction succeeded")
    return as_logged(tool, trial, report, result.log, pace)


def _ended_badly(tool: LoadTool, result: LoadResult) -> Judgement:
    told = tool.error_line(result.stderr) or f"return code {result.returncode}"
    if result.returncode < 0:
        told = f"killed by signal {-result.returncode}"
    return failed(f"{tool.program} failed: {told}")
