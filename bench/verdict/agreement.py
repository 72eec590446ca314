"""Does a slice measure what a long trial does? Slices of 2 s against trials of 60 s, interleaved.

    python -m bench.verdict.agreement [--measure] [--pairs N] [--scale S] [--clients C]
                                      [--directory DIR]

simple-update on this disk and on an emulated longhorn-2r, as a run that stops when it is decided
has them: servers warm, slices of both environments in turn. Each pair is as many slices as make a
minute of load, and a trial of 60 s that begins, as the slices did, with a dataset brought back and
a checkpoint. A pair takes about five minutes. The figure is the mean TPS of slices over that of
long trials; its interval is a bootstrap of single slices and of 10 s of a long trial at a time, as
the seconds in these are alike. Without `--measure` it prints what was recorded. It refuses to say
how any one slice agrees.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from bench.figures import Figure, conclude, plan_of
from bench.verdict.kept import DATA, provenance, read, write
from groundspeed import store
from groundspeed.cli import session
from groundspeed.cli.display import PlainDisplay
from groundspeed.plan import UPKEEP_LOAD_S
from groundspeed.record import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from groundspeed.analyse import RunRecords
    from groundspeed.plan import Plan, Trial

RECORDED = DATA / "agreement.json"
LONG_S = 60
STRETCH_S = 10
RESAMPLES = 2000
SUITE = """
suite: agreement
postgres: {{version: 16, settings: {{shared_buffers: 256MB}}}}
environments:
  this-disk: {{target: embedded, storage: {{directory: {directory}}}}}
  longhorn-2r: {{target: embedded, memory: 1GiB, storage: {{emulate: longhorn-2r}}}}
workloads: [simple-update]
clients: [{clients}]
scale: {scale}
measure: {{until: decided, at_most: 10h, probes: "off"}}
"""


def interleaved(plan: Plan, pairs: int) -> Plan:
    """Put `pairs` times a minute of slices and a long trial of each environment into one round."""
    slices = [t for t in plan.trials if t.repeat_index == 0 and not t.twin]
    each_s = slices[0].duration_s + slices[0].warm_up_s
    count = -(-UPKEEP_LOAD_S // each_s)
    trials: list[Trial] = []
    for pair in range(pairs):
        for number in range(int(count)):
            trials += [_of(t, f"{pair}-{number}", len(trials), t.duration_s) for t in slices]
        trials += [_of(t, f"{pair}-long", len(trials), LONG_S) for t in slices]
    assert plan.sequential is not None  # noqa: S101 - the suite asks for it
    # One look, after it: nothing is left out before.
    once = msgspec.structs.replace(plan.sequential, first_look_count=1, round_count=1)
    return msgspec.structs.replace(plan, trials=tuple(trials), sequential=once)


def _of(trial: Trial, name: str, block_index: int, duration_s: int) -> Trial:
    return msgspec.structs.replace(
        trial,
        trial_id=f"{trial.trial_id}-{name}",
        block_index=block_index,
        repeat_index=0,
        duration_s=duration_s,
    )


def resampled(slices: Sequence[float], stretches: Sequence[float]) -> tuple[float, float, float]:
    """Give the ratio of the means, and a 95% interval by resampling both."""
    rng = Random(1)  # noqa: S311 - a bootstrap
    ratios = sorted(
        mean(rng.choices(slices, k=len(slices))) / mean(rng.choices(stretches, k=len(stretches)))
        for _ in range(RESAMPLES)
    )
    outside = RESAMPLES // 40
    return mean(slices) / mean(stretches), ratios[outside], ratios[-outside - 1]


def long_stretches(run: RunRecords, trial_id: str) -> Iterator[float]:
    """Give the TPS of a long trial, a stretch at a time."""
    counts = [row.count for row in run.seconds[trial_id]]
    for start in range(0, len(counts) - STRETCH_S + 1, STRETCH_S):
        yield sum(counts[start : start + STRETCH_S]) / STRETCH_S


def series_of(run: RunRecords, environment: str) -> dict[str, list[float]]:
    """Take the throughput of an environment: of each slice, and of each stretch of long trials."""
    measured = [
        (r.trial, r.outcome)
        for r in run.records
        if r.trial.cell.environment == environment and isinstance(r.outcome, Measured)
    ]
    long = [trial.trial_id for trial, _ in measured if trial.duration_s == LONG_S]
    return {
        "slices_tps_per_s": [o.tps_per_s for trial, o in measured if trial.duration_s < LONG_S],
        "stretches_tps_per_s": [tps for trial_id in long for tps in long_stretches(run, trial_id)],
    }


def figure_of(environment: str, series: Mapping[str, Sequence[float]]) -> Figure:
    """Compare the slices of an environment with its long trials."""
    slices, stretches = series["slices_tps_per_s"], series["stretches_tps_per_s"]
    ratio, low, high = resampled(slices, stretches)
    long_count = round(len(stretches) * STRETCH_S / LONG_S)
    return Figure(
        name=f"simple-update on {environment}: {len(slices)} slices over {long_count} x {LONG_S} s",
        asked="the interval holds 1",
        measured=f"{ratio:.3f}",
        error=f"{low:.3f} to {high:.3f}; {mean(slices):,.0f} over {mean(stretches):,.0f} TPS",
        met=low <= 1 <= high,
    )


def measure(asked: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """Run both, in a directory that goes afterwards."""
    with TemporaryDirectory(dir=asked.directory or "/var/tmp") as directory:  # noqa: S108 - on a disk
        Path(directory).chmod(0o755)
        suite = SUITE.format(directory=directory, clients=asked.clients, scale=asked.scale)
        plan = interleaved(plan_of(suite), asked.pairs)
        run_dir = store.create_run(Path(directory), plan, "agreement")
        with PlainDisplay(plan, Console(stderr=True)) as display:
            session.run_plan(plan, run_dir, passwords={}, listener=display)
        run = store.read_run(run_dir)
        return {e.name: series_of(run, e.name) for e in plan.environments}


def main() -> int:
    """Measure and keep if asked, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.agreement", description=__doc__)
    parser.add_argument("--measure", action="store_true", help="five minutes a pair")
    parser.add_argument("--pairs", type=int, default=3, metavar="N")
    parser.add_argument("--scale", type=int, default=10, metavar="S")
    parser.add_argument("--clients", type=int, default=8, metavar="C")
    parser.add_argument("--directory", type=Path, help="on the disk; a temporary one without it")
    asked = parser.parse_args()
    if asked.measure:
        command = ("bench.verdict.agreement", *sys.argv[1:])
        write(RECORDED, {**provenance(command), **measure(asked)})
    recorded = read(RECORDED)
    found = {n: s for n, s in recorded.items() if isinstance(s, dict) and "slices_tps_per_s" in s}
    return conclude([figure_of(name, series) for name, series in found.items()])


if __name__ == "__main__":
    sys.exit(main())
