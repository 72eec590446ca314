"""How much of matrix-39's wall time is not load: start, check, warm-up, reset and all between.

    python -m bench.dead_time [--full] [--quick]

The preset as it is, on the two storages it names, with a few of its trials: one block for each
workload after a first one whose only task is to leave the datasets as any earlier trial would. With
--full they take the preset's 60 s; without, 5 s, and the dead seconds found are set against 60 s.
Warm-ups are dead. Initialisation and the end of the run are not counted: they come once in 234
trials.

It refuses to extrapolate more than that: a longer trial leaves more to reset, which --full sees.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from bench.figures import MEMORY, Figure, conclude, plan_of
from groundspeed import store
from groundspeed.cli import session
from groundspeed.cli.display import PlainDisplay
from groundspeed.record import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Record

ASKED_RATIO = 0.10
PRESET_DURATION_S = 60
SHORT_DURATION_S = 5
# Few clients and many; the first is not counted. Of those that are, two in three find a dataset
# that was written to, as two in three of the preset's workloads write.
BLOCKS = (
    ("tpcb-like", 10, 4),
    ("select-only", 100, 8),
    ("simple-update", 1, 1),
    ("tpcb-like", 25, 4),
)
PHASES = ("start", "check", "warm up", "measure", "verify", "clean")


class TimedDisplay(PlainDisplay):
    """The plain display, which also notes when each trial ended."""

    def __init__(self, plan: Plan, console: Console) -> None:
        super().__init__(plan, console)
        self.ended_s: list[float] = []

    def trial_ended(self, record: Record) -> None:
        """Note the time."""
        super().trial_ended(record)
        self.ended_s.append(session.SystemClock().monotonic_s())


def chosen_trials(plan: Plan) -> tuple[Trial, ...]:
    """Pick the blocks out of the preset's first repeat, in the order of BLOCKS."""
    first = [trial for trial in plan.trials if trial.repeat_index == 0]
    return tuple(
        trial
        for block in BLOCKS
        for trial in first
        if (trial.cell.workload, trial.cell.clients, trial.cell.threads) == block
    )


def run(duration_s: int, scale: int, directory: Path) -> tuple[list[Record], list[float]]:
    """Run the chosen trials; give their records and the wall seconds each took, to the next."""
    plan = plan_of(
        "matrix-39",
        f"measure.duration={duration_s}s",
        f"scale={scale}",
        f"environments.this-disk.storage.directory={directory}",
        f"environments.memory.storage.directory={MEMORY}",
    )
    plan = msgspec.structs.replace(plan, trials=chosen_trials(plan))
    run_dir = store.create_run(directory, plan, "dead-time")
    with TimedDisplay(plan, Console(stderr=True)) as display:
        session.run_plan(plan, run_dir, passwords={}, listener=display)
    records = list(store.read_run(run_dir).records)
    failed = [r for r in records if not isinstance(r.outcome, Measured)]
    if failed:
        raise SystemExit(f"{failed[0].trial.trial_id}: {failed[0].outcome}")
    lead = len(plan.environments)
    walls_s = [
        after - before for before, after in zip(display.ended_s, display.ended_s[1:], strict=False)
    ]
    return records[lead:], walls_s[lead - 1 :]


def phase_seconds(record: Record, name: str) -> float:
    """Give the seconds of a phase that were not the load itself."""
    spent_s = sum(phase.elapsed_s for phase in record.phases if phase.name == name)
    return spent_s - record.trial.duration_s if name == "measure" else spent_s


def print_phases(records: Sequence[Record], walls_s: Sequence[float]) -> None:
    """Print the dead seconds of every trial by phase."""
    row = "{:<14}{:<16}{:>8}" + "{:>10}" * (len(PHASES) + 2)
    print("dead seconds of each trial, by phase; between: keeping the record, the display")
    print(row.format("environment", "workload", "clients", *PHASES, "between", "all"))
    for record, wall_s in zip(records, walls_s, strict=True):
        parts = [phase_seconds(record, name) for name in PHASES]
        all_s = wall_s - record.trial.duration_s
        cell = record.trial.cell
        cells = [f"{part:.2f}" for part in (*parts, all_s - sum(parts), all_s)]
        print(row.format(cell.environment, cell.workload, cell.clients, *cells))
    means = [mean(phase_seconds(r, name) for r in records) for name in PHASES]
    all_s = mean(walls_s) - records[0].trial.duration_s
    cells = [f"{part:.2f}" for part in (*means, all_s - sum(means), all_s)]
    print(row.format("mean", "", "", *cells))


def main() -> int:
    """Run and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.dead_time", description=__doc__)
    parser.add_argument("--full", action="store_true", help="true 60 s trials, 10 minutes")
    parser.add_argument("--quick", action="store_true", help="2 s trials at scale 10")
    parser.add_argument("--directory", type=Path, help="of this-disk; a temporary one without it")
    asked = parser.parse_args()
    duration_s = PRESET_DURATION_S if asked.full else SHORT_DURATION_S
    scale = 100
    if asked.quick:
        duration_s, scale = 2, 10
    with TemporaryDirectory(dir=asked.directory or "/var/tmp") as directory:  # noqa: S108 - on a disk
        Path(directory).chmod(0o755)
        records, walls_s = run(duration_s, scale, Path(directory))
    print_phases(records, walls_s)
    dead_s = [wall_s - duration_s for wall_s in walls_s]
    ratios = [dead / (dead + PRESET_DURATION_S) for dead in dead_s]
    ratio = sum(dead_s) / (sum(dead_s) + PRESET_DURATION_S * len(dead_s))
    how = "" if asked.full else f", from trials of {duration_s} s"
    return conclude(
        [
            Figure(
                name=f"matrix-39 at scale {scale}: dead time{how}",
                asked=f"<= {ASKED_RATIO:.0%}",
                measured=f"{ratio:.2%}",
                error=f"{min(ratios):.2%} to {max(ratios):.2%} (range of {len(ratios)} trials)",
                met=ratio <= ASKED_RATIO,
            )
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
