"""How long a person waits for `groundspeed --help` and for a report of 1,000 trials.

    python -m bench.interface [--quick]

Every time is that of a fresh process, from its start to its end. The run that is reported on is
synthetic: a plan in the shape of matrix-39 with records of real trials, repeated with noise, each
with the 60 rows of its per-second series, written by groundspeed's own store.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from bench.figures import MEMORY, Figure, conclude, interval, plan_of
from groundspeed import store
from groundspeed.cli import session
from groundspeed.cli.display import PlainDisplay
from groundspeed.cli.reports import FORMATS
from groundspeed.record import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Record, SecondRow

ASKED_HELP_S = 0.150
ASKED_REPORT_S = 3.0
TRIALS = 1000
SERIES_S = 60
NOISE_RATIO = 0.05
# What the installed command does; it is not always on the PATH of a benchmark.
GROUNDSPEED = (
    sys.executable,
    "-c",
    "import sys; from groundspeed.cli.main import main; sys.exit(main())",
)
REAL_SUITE = f"""
suite: real
seed: 1
environments: {{memory: {{target: embedded, storage: {{directory: {MEMORY}}}}}}}
workloads: [select-only, simple-update, tpcb-like]
clients: [1, 8]
threads: [1]
scale: 1
measure: {{duration: 3s, warm_up: 300ms, repeats: 1}}
"""


@dataclass(frozen=True, slots=True)
class Waited:
    """What fresh processes of one command took: wall clock and processor time, in seconds."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def once_more(self, command: Sequence[str]) -> None:
        """Run the command in a fresh process. Raises SystemExit when it fails."""
        started_s = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s.append(time.perf_counter() - started_s)
        self.cpu_s.append(usage.ru_utime + usage.ru_stime)
        if process.returncode != 0:
            raise SystemExit(f"{command}: exit code {process.returncode}")

    def figure(self, name: str, asked_s: float | None = None) -> Figure:
        """Word it. The processor time tells a slow command from a busy machine."""
        middle_s = median(self.wall_s)
        return Figure(
            name=name,
            asked="-" if asked_s is None else f"< {asked_s * 1e3:.0f} ms",
            measured=f"{middle_s * 1e3:.0f} ms",
            error=f"{interval(self.wall_s, 1e3, 0, ' ms')}, cpu {median(self.cpu_s) * 1e3:.0f} ms",
            met=None if asked_s is None else middle_s < asked_s,
        )


def real_records(directory: Path) -> tuple[list[Record], dict[str, tuple[SecondRow, ...]]]:
    """Measure a few small trials; give their records and their series by trial id."""
    plan = plan_of(REAL_SUITE)
    run_dir = store.create_run(directory, plan, "real")
    with PlainDisplay(plan, Console(stderr=True)) as display:
        session.run_plan(plan, run_dir, passwords={}, listener=display)
    found = store.read_run(run_dir)
    measured = [r for r in found.records if isinstance(r.outcome, Measured)]
    return measured, dict(found.seconds)


def synthetic_record(record: Record, trial: Trial, dice: random.Random) -> Record:
    """Make the record of another trial out of a real one, with noise."""
    outcome = record.outcome
    assert isinstance(outcome, Measured)  # noqa: S101 - only those are taken
    factor = dice.lognormvariate(0, NOISE_RATIO)
    latency = msgspec.structs.replace(
        outcome.latency,
        **{
            name: getattr(outcome.latency, name) / factor
            for name in outcome.latency.__struct_fields__
        },
    )
    outcome = msgspec.structs.replace(
        outcome, tps_per_s=outcome.tps_per_s * factor, latency=latency
    )
    return msgspec.structs.replace(record, trial=trial, outcome=outcome)


def synthetic_run(directory: Path) -> Path:
    """Write a run of 1,000 trials with their series; give its directory."""
    plan = plan_of("matrix-39", f"measure.duration={SERIES_S}s", "measure.repeats=13")
    plan = msgspec.structs.replace(plan, trials=plan.trials[:TRIALS])
    records, seconds = real_records(directory)
    run_dir = store.create_run(directory, plan, "synthetic")
    write_trials(run_dir, plan, records, seconds)
    return run_dir


def write_trials(
    run_dir: Path,
    plan: Plan,
    records: Sequence[Record],
    seconds: dict[str, tuple[SecondRow, ...]],
) -> None:
    """Write a record and a series for every trial of the plan, through the store."""
    dice = random.Random(1)  # noqa: S311 - the same run each time, nothing secret
    kept = store.RunStore(run_dir)
    by_workload = {
        name: cycle([r for r in records if r.trial.cell.workload == name])
        for name in {r.trial.cell.workload for r in records}
    }
    for trial in plan.trials:
        record = next(by_workload[trial.cell.workload])
        rows = islice(cycle(seconds[record.trial.trial_id]), SERIES_S)
        series = tuple(
            msgspec.structs.replace(
                row, index=index, count=round(row.count * dice.lognormvariate(0, NOISE_RATIO))
            )
            for index, row in enumerate(rows)
        )
        kept.append(synthetic_record(record, trial, dice))
        kept.write_seconds(trial.trial_id, record.attempt, series)
    kept.close()


def main() -> int:
    """Time help and reports and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.interface", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    asked = parser.parse_args()
    helps, reports = (7, 2) if asked.quick else (20, 7)
    bare, helped = Waited(), Waited()
    for _ in range(helps):
        bare.once_more((sys.executable, "-c", "pass"))
        helped.once_more((*GROUNDSPEED, "--help"))
    figures = [bare.figure("python -c pass"), helped.figure("groundspeed --help", ASKED_HELP_S)]
    with TemporaryDirectory(dir=MEMORY) as directory:
        run_dir = synthetic_run(Path(directory))
        for output_format in FORMATS:
            output = Path(directory) / f"report.{output_format}"
            arguments = ("report", str(run_dir), "--format", output_format, "--output", str(output))
            waited = Waited()
            for _ in range(reports):
                waited.once_more((*GROUNDSPEED, *arguments))
            size = f"{output.stat().st_size / 1e6:.2f} MB"
            name = f"report of {TRIALS:,} trials, {output_format} ({size})"
            figures.append(waited.figure(name, ASKED_REPORT_S))
    return conclude(figures)


if __name__ == "__main__":
    sys.exit(main())
