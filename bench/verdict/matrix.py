"""The matrix preset on three storages, stopped when it is decided, against a long run as the truth.

    python -m bench.verdict.matrix                                      print what was recorded
    python -m bench.verdict.matrix early DIR                            measure, by groundspeed run
    python -m bench.verdict.matrix truth DIR [--minutes N] [--sample N] measure the truth

Both go on where they were stopped, with the same command, and record what there is; their data is
in bench/data/verdict-matrix-*.json. The truth has longer trials, three repeats in blocks, none left
out by what the others were: of all cells, or where an early run was recorded, of those that write
and those that it decided, or with --sample of so many of the latter, chosen by their place in the
matrix. Servers stay warm in both, so that both see the log and its checkpoints as a run of minutes
does. It refuses to say what is right where the truth itself cannot tell.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

from bench.figures import conclude, plan_of
from bench.verdict import matrix_figures
from bench.verdict.kept import DATA, provenance, read, write
from bench.verdict.truth import Place
from groundspeed import deciding, store
from groundspeed.analyse import Answer, analyse
from groundspeed.analyse.pairs import halves_by_cell, measured_trials
from groundspeed.cli import session
from groundspeed.cli.display import PlainDisplay
from groundspeed.plan import saved
from groundspeed.record import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse import Comparison, RunRecords
    from groundspeed.plan import Cell, Plan, Trial

EARLY = DATA / "verdict-matrix-early.json"
TRUTH = DATA / "verdict-matrix-truth.json"
PRESET = "matrix-39"
LONG_S = 10
REPEATS = 3
MEASURE = 'measure={until: decided, margin: 3%, slice: 1s, at_most: 45m, probes: "off"}'
# Memory as in the demo: several times what the dataset needs.
ENVIRONMENTS = (
    "environments={{"
    "this-disk: {{target: embedded, storage: {{directory: {directory}}}}}, "
    "gp3: {{target: embedded, memory: 4GiB, storage: {{emulate: aws-gp3}}}}, "
    "longhorn-2r: {{target: embedded, memory: 4GiB, storage: {{emulate: longhorn-2r}}}}}}"
)


def overrides(place: Path, measure: str = MEASURE) -> tuple[str, ...]:
    """Change the preset: which environments, and that it stops when it is decided."""
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    return (ENVIRONMENTS.format(directory=place), "vary=[storage, memory]", measure)


def run_of(results: Path) -> Path | None:
    """Find the one run of a results directory."""
    infos = store.list_runs(results) if results.exists() else ()
    return results / infos[-1].run_id if infos else None


def measure_early(place: Path) -> None:
    """Run the preset by the command, or go on with it; ends with its exit code if it fails."""
    results = place / "early"
    begun = run_of(results)
    arguments = ["run", PRESET, "--yes", "--out", str(results)]
    for override in overrides(place):
        arguments += ["--set", override]
    if begun is not None:
        arguments = ["resume", str(begun)]
    command = [sys.executable, "-m", "groundspeed.cli.main", *arguments]
    done = subprocess.run(command, check=False, stdout=sys.stderr)
    if done.returncode != 0:
        raise SystemExit(done.returncode)


def early_data(run_dir: Path) -> dict[str, Any]:
    """Tell what the early run came to, and the pairs that it can be made again from."""
    plan, run = store.read_plan(run_dir), store.read_run(run_dir)
    spent = saved(plan, (record.trial for record in run.records))
    if spent is None or plan.sequential is None:
        raise SystemExit(f"{run_dir} is no run that stops when it is decided")
    loads: dict[Cell, int] = {}
    for record in run.records:
        cell = record.trial.cell
        loads[cell] = loads.get(cell, 0) + record.trial.duration_s
    pairs = _pairs(run, plan.environments[0].name)
    return {
        "measure": plan.suite["measure"],
        "margin_ratio": plan.sequential.margin_ratio,
        "family_count": plan.sequential.family_count,
        "most_pairs": plan.sequential.round_count,
        "load_s": spent.load_s,
        "fixed_load_s": spent.fixed_load_s,
        "spent_s": round(deciding.spent_s(plan, run.records)),
        "wall_s": round(wall_s(run)),
        "complete": not deciding.remaining(plan, run.records),
        "round_count": spent.round_count,
        "first_look_count": plan.sequential.first_look_count,
        "slice_count": len(run.records),
        "failed_slice_count": sum(not isinstance(r.outcome, Measured) for r in run.records),
        "comparisons": [
            _answer(c) | {"pairs": pairs[_place(c)], "load_s": _load_s(c, loads)}
            for c in analyse([run]).comparisons
        ],
    }


def wall_s(run: RunRecords) -> float:
    """Give the time from the first slice to the end of the last one, what lies between included."""
    begun = [datetime.fromisoformat(record.started_at).timestamp() for record in run.records]
    return begun[-1] + run.records[-1].elapsed_s - begun[0]


def _place(comparison: Comparison) -> Place:
    return Place(
        comparison.workload, comparison.clients, comparison.threads, comparison.environment
    )


def _load_s(comparison: Comparison, loads: dict[Cell, int]) -> int:
    """Add up the load of the environment in this cell; the baseline's is shared."""
    return sum(
        load_s
        for cell, load_s in loads.items()
        if (cell.workload, cell.clients, cell.threads, cell.environment) == _place(comparison)
    )


def _answer(comparison: Comparison) -> dict[str, Any]:
    return {
        **_place(comparison)._asdict(),
        "answer": comparison.answer.value,
        "ratio": None if math.isnan(comparison.tps_ratio) else comparison.tps_ratio,
        "low": comparison.tps_low,
        "high": comparison.tps_high,
        "p_value": comparison.p_value,
        "floor_ratio": comparison.floor_ratio,
        "why": comparison.why,
        "more_pairs_count": comparison.more_pairs_count,
    }


def _pairs(run: RunRecords, baseline: str) -> dict[Place, list[tuple[float, float]]]:
    halves = halves_by_cell(measured_trials(run.records), baseline)
    return {
        Place(cell.workload, cell.clients, cell.threads, cell.environment): [
            (round(a.outcome.tps_per_s, 1), round(b.outcome.tps_per_s, 1)) for a, b in found
        ]
        for cell, found in halves.items()
    }


def truth_plan(place: Path, minutes: float, wanted: Sequence[Place] | None) -> Plan:
    """Plan long trials of the same cells: REPEATS rounds, every trial of them, one look at the end.

    `wanted` are the comparisons that matter, None for all; the baseline of each comes along.
    """
    plan = plan_of(PRESET, *overrides(place, "measure={until: decided, at_most: 24h, probes: off}"))
    baseline = plan.environments[0].name
    keep = None if wanted is None else {p[:3] for p in wanted}, set(wanted or ())
    trials = tuple(
        msgspec.structs.replace(trial, duration_s=LONG_S)
        for trial in plan.trials
        if trial.repeat_index < REPEATS and not trial.twin and _is_wanted(trial, baseline, *keep)
    )
    assert plan.sequential is not None  # noqa: S101 - the overrides ask for it
    # One look, after all; the time of the truth is what there is.
    once = msgspec.structs.replace(
        plan.sequential, first_look_count=1, round_count=REPEATS, at_most_s=60 * minutes
    )
    return msgspec.structs.replace(plan, trials=trials, sequential=once)


def _is_wanted(
    trial: Trial, baseline: str, cells: set[tuple[str, int, int]] | None, places: set[Place]
) -> bool:
    cell = trial.cell
    if cells is None:
        return True
    if cell.environment == baseline:
        return (cell.workload, cell.clients, cell.threads) in cells
    return Place(cell.workload, cell.clients, cell.threads, cell.environment) in places


def wanted_of(early: dict[str, Any], sample: int | None) -> list[Place]:
    """Choose what the truth must know: what is decided, and all that writes and has an interval.

    Or of what is decided a `sample` as even as it goes over workloads, clients and environments.
    """
    rows = {matrix_figures.place_of(row): row for row in early["comparisons"]}
    decided = sorted(p for p, r in rows.items() if Answer(r["answer"]) is not Answer.UNDECIDED)
    if sample is not None:
        most = min(sample, len(decided))
        return [decided[(2 * number + 1) * len(decided) // (2 * most)] for number in range(most)]
    written = [p for p, r in rows.items() if p.workload != "select-only" and r["low"] is not None]
    return [*decided, *(place for place in written if place not in decided)]


def measure_truth(place: Path, minutes: float, sample: int | None) -> None:
    """Run the truth, or go on with it, until it is done or the time is over."""
    results = place / "truth"
    run_dir = run_of(results)
    if run_dir is None:
        early = read(EARLY) if EARLY.exists() else None
        wanted = None if early is None else wanted_of(early, sample)
        plan = truth_plan(place, minutes, wanted)
        run_dir = store.create_run(results, plan, "truth")
    plan = store.read_plan(run_dir)
    with PlainDisplay(plan, Console(stderr=True)) as display:
        session.run_plan(plan, run_dir, passwords={}, listener=display)


def truth_data(run_dir: Path) -> dict[str, Any]:
    """Give the throughput of each long trial, by cell and repeat; None where there is none."""
    plan, run = store.read_plan(run_dir), store.read_run(run_dir)
    tps: dict[Cell, list[float | None]] = {}
    for trial in plan.trials:
        tps.setdefault(trial.cell, [None] * REPEATS)
    for trial in measured_trials(run.records):
        planned = trial.record.trial
        tps[planned.cell][planned.repeat_index] = round(trial.outcome.tps_per_s, 1)
    return {
        "duration_s": LONG_S,
        "repeats": REPEATS,
        "environments": [e.name for e in plan.environments],
        "cells": [
            {
                **Place(c.workload, c.clients, c.threads, c.environment)._asdict(),
                "tps_per_s": values,
            }
            for c, values in tps.items()
        ],
    }


def keep(path: Path, data: dict[str, Any]) -> None:
    """Record data with where it is from."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--record"]
    write(path, {**provenance(("bench.verdict.matrix", *arguments)), **data})


def main() -> int:
    """Measure if asked, record what there is, print what is known."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.matrix", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("early", "truth"))
    parser.add_argument("directory", nargs="?", type=Path, help="of runs; on the disk measured")
    parser.add_argument("--minutes", type=float, default=180, metavar="N", help="for the truth")
    parser.add_argument("--sample", type=int, metavar="N", help="the truth of so many answers")
    parser.add_argument("--record", action="store_true", help="record what there is, run nothing")
    asked = parser.parse_args()
    if asked.part and not asked.directory:
        parser.error("which directory?")
    if asked.part == "early":
        if not asked.record:
            measure_early(asked.directory)
        run_dir = run_of(asked.directory / "early")
        if run_dir is not None:
            keep(EARLY, early_data(run_dir))
    if asked.part == "truth":
        if not asked.record:
            measure_truth(asked.directory, asked.minutes, asked.sample)
        run_dir = run_of(asked.directory / "truth")
        if run_dir is not None:
            keep(TRUTH, truth_data(run_dir))
    if not EARLY.exists():
        raise SystemExit("nothing was recorded yet")
    return conclude(matrix_figures.figures(read(EARLY), read(TRUTH) if TRUTH.exists() else None))


if __name__ == "__main__":
    sys.exit(main())
