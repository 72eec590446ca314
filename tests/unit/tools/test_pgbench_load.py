"""pgbench in the terms that all load tools share."""

from __future__ import annotations

import msgspec
import pytest

from groundspeed.plan import WorkloadPlan
from groundspeed.tools import engines, pgbench
from groundspeed.tools.load_tool import Pace
from groundspeed.tools.pgbench_load import PgbenchLoad
from tests.examples import make_trial
from tests.golden import pgbench_output
from tests.unit.tools.test_pgbench import FINISHED, case_of

TOOL = PgbenchLoad()
READS = WorkloadPlan(name="select-only", writes=False)


def pace(rate_per_s: float) -> Pace:
    return Pace(rate_per_s=rate_per_s, cpu_count=2)


@pytest.mark.parametrize("name", FINISHED)
def test_a_report_is_told_whole(name: str) -> None:
    trial, workload, _ = case_of(name)
    stdout = pgbench_output.read(name).stdout
    report, totals = pgbench.parse(stdout), TOOL.read(trial, workload, stdout)
    assert totals.differences == pgbench.mismatches(trial, workload, report)
    told = msgspec.structs.asdict(report)
    common = {key: value for key, value in msgspec.structs.asdict(totals).items() if key in told}
    assert len(common) >= 8
    assert common == {key: told[key] for key in common}
    # Its transaction log tells these.
    assert totals.latency is None


def test_the_share_that_is_logged_is_the_one_in_the_command() -> None:
    trial = make_trial(workload="select-only", threads=1)
    slow, fast = pace(100.0), pace(5_000_000.0)
    assert TOOL.log_share_ratio(trial, slow) == 1
    assert "--sampling-rate" not in " ".join(
        TOOL.command(trial, READS, conninfo="host=h", pace=slow).argv
    )
    ratio = TOOL.log_share_ratio(trial, fast)
    assert 0 < ratio < 1
    assert TOOL.command(trial, READS, conninfo="host=h", pace=fast) == pgbench.command(
        trial, READS, conninfo="host=h", sampling_ratio=ratio
    )


def test_it_takes_the_time_that_was_asked() -> None:
    trial = make_trial(duration_s=7)
    assert TOOL.expected_s(trial, READS, pace(1.0)) == 7


def test_one_that_is_cut_short_tells_no_rate() -> None:
    assert TOOL.rate_per_s("tps = 100.0 (without initial connection time)") == 0


def test_it_is_the_load_tool_of_postgres() -> None:
    assert engines.load_tool("postgres").program == TOOL.program
    assert TOOL.keeps_log
