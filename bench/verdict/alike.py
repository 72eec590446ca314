"""Real comparisons of a thing with itself: how often they are said to differ, or fail a gate.

    python -m bench.verdict.alike [--measure] [--runs N] [--keep FILE] [--directory DIR]

One embedded server's settings under two names, on a real disk; a run that stops when it is decided
compares them in three cells of one workload, workloads in turn. Each run is the real command in a
process of its own, and then the real gate over its records. Its answers are appended to a file, a
line a run, so that it may be stopped and goes on with the same command; complete, it begins anew.
Slices take 1 s, for writes too, so that twenty runs fit into half an hour: the error rate is by the
shuffle, whatever a slice is. Without `--measure` it prints what was recorded.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bench.figures import Figure, conclude
from bench.verdict.kept import DATA, append, provenance, rows_of
from groundspeed import store
from groundspeed.analyse import Answer, analyse
from groundspeed.analyse.decisions import ComparisonKey, decide, rule_for
from groundspeed.analyse.pairs import halves_by_cell, measured_trials
from groundspeed.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.analyse import Comparison, RunRecords

RECORDED = DATA / "verdict-alike.jsonl"
RUNS = 20
WORKLOADS = ("select-only", "simple-update", "tpcb-like")
CLIENTS = (2, 4, 8)
ASKED_RATIO = 0.05
# Of the plans of the suite below.
MARGIN_RATIO, MOST_PAIRS = 0.03, 32
SIDES = ("one", "other")
SUITE = """
suite: alike
seed: {seed}
postgres: {{version: 16, settings: {{shared_buffers: 128MB}}}}
environments:
  one: {{target: embedded, storage: {{directory: {directory}}}}}
  other: {{target: embedded, storage: {{directory: {directory}}}}}
workloads: [{workload}]
clients: [{clients}]
scale: 5
measure: {{until: decided, margin: 3%, slice: 1s, at_most: 95s, probes: "off"}}
"""


def suite_of(number: int, directory: Path) -> str:
    """Write the suite of one run; each has a shuffle of its own."""
    return SUITE.format(
        seed=number + 1,
        directory=directory,
        workload=WORKLOADS[number % len(WORKLOADS)],
        clients=", ".join(map(str, CLIENTS)),
    )


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "groundspeed.cli.main", *arguments],
        check=False,
        capture_output=True,
        text=True,
    )


def measure(number: int, place: Path) -> dict[str, Any]:
    """Make one run and hold its gate; raises SystemExit with what a command complained of."""
    place.chmod(0o755)
    suite, results = place / "suite.yaml", place / "runs"
    suite.write_text(suite_of(number, place), encoding="utf-8")
    started_s = time.monotonic()
    done = _command("run", str(suite), "--yes", "--out", str(results))
    wall_s = time.monotonic() - started_s
    if done.returncode != ExitCode.OK:
        raise SystemExit(f"run {number} ended with {done.returncode}: {done.stderr[-500:]}")
    (info,) = store.list_runs(results)
    run_dir = results / info.run_id
    held = _command("gate", str(run_dir), *SIDES)
    if held.returncode not in {ExitCode.OK, ExitCode.REGRESSION, ExitCode.UNDECIDED}:
        raise SystemExit(f"gate {number} ended with {held.returncode}: {held.stderr[-500:]}")
    row = row_of(number, store.read_run(run_dir))
    return {**row, "wall_s": round(wall_s, 1), "gate_exit_code": held.returncode}


def row_of(number: int, run: RunRecords) -> dict[str, Any]:
    """Give the answers of a run, with the pairs that they can be made again from."""
    findings = analyse([run])
    halves = halves_by_cell(measured_trials(run.records), SIDES[0])
    pairs = {
        (cell.workload, cell.clients): [
            (round(a.outcome.tps_per_s, 2), round(b.outcome.tps_per_s, 2)) for a, b in found
        ]
        for cell, found in halves.items()
    }
    return {
        "run": number,
        "load_s": sum(record.trial.duration_s for record in run.records),
        "comparisons": [
            _answer(c) | {"pairs": pairs[c.workload, c.clients]} for c in findings.comparisons
        ],
    }


def _answer(comparison: Comparison) -> dict[str, Any]:
    return {
        "workload": comparison.workload,
        "clients": comparison.clients,
        "answer": comparison.answer.value,
        "ratio": comparison.tps_ratio,
        "low": comparison.tps_low,
        "high": comparison.tps_high,
        "p_value": comparison.p_value,
        "floor_ratio": comparison.floor_ratio,
        "why": comparison.why,
    }


def measured_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pick the lines that are runs; the others say where these are from."""
    return [row for row in rows if "run" in row]


def figures(rows: Sequence[dict[str, Any]]) -> list[Figure]:
    """Count answers and gates; the gate of a run passes, fails or is open as a whole."""
    found = [c for row in rows for c in row["comparisons"]]
    return [
        *(_wrong(name, [c for c in found if c["workload"] == name]) for name in WORKLOADS),
        _wrong("all", found, asked=True),
        _again("the same pairs by the rule of this version", rows, floored=True),
        _again("the same without a noise floor", rows, floored=False),
        _intervals(found),
        _gate([row["gate_exit_code"] for row in rows]),
    ]


def _wrong(name: str, found: Sequence[dict[str, Any]], *, asked: bool = False) -> Figure:
    answers = [Answer(c["answer"]) for c in found]
    wrong = sum(answer in {Answer.FASTER, Answer.SLOWER} for answer in answers)
    pairs = [len(c["pairs"]) for c in found] or [0]
    return Figure(
        name=f"{name}: {len(found)} real A/A, wrong 'different'",
        asked=f"<= {ASKED_RATIO:.0%}" if asked else "-",
        measured=f"{wrong} of {len(found)}",
        error=f"{answers.count(Answer.EQUIVALENT)} equivalent,"
        f" {answers.count(Answer.UNDECIDED)} undecided, {min(pairs)} to {max(pairs)} pairs",
        met=wrong <= ASKED_RATIO * len(found) if asked else None,
    )


def _again(name: str, rows: Sequence[dict[str, Any]], *, floored: bool) -> Figure:
    """Decide again, by the rule as it is now: being right must not hang on the floor either."""
    answers: list[Answer] = []
    for row in rows:
        pairs = {_key(c): [(a, b) for a, b in c["pairs"]] for c in row["comparisons"]}
        floors = {c["workload"]: c["floor_ratio"] or 0.0 for c in row["comparisons"]}
        rule = rule_for(len(pairs), margin_ratio=MARGIN_RATIO, most_pairs=MOST_PAIRS)
        answers += [d.answer for d in decide(pairs, rule, floors if floored else None)]
    wrong = sum(answer in {Answer.FASTER, Answer.SLOWER} for answer in answers)
    return Figure(
        name=name,
        asked=f"<= {ASKED_RATIO:.0%}",
        measured=f"{wrong} of {len(answers)}",
        error=f"{answers.count(Answer.EQUIVALENT)} equivalent,"
        f" {answers.count(Answer.UNDECIDED)} undecided",
        met=wrong <= ASKED_RATIO * len(answers),
    )


def _intervals(found: Sequence[dict[str, Any]]) -> Figure:
    given = [c for c in found if c["low"] is not None]
    outside = sum(not c["low"] <= 1 <= c["high"] for c in given)
    return Figure(
        name="intervals that do not hold 1, each by itself",
        asked=f"about {ASKED_RATIO:.0%}",
        measured=f"{outside} of {len(given)}",
    )


def _key(row: dict[str, Any]) -> ComparisonKey:
    return ComparisonKey(
        workload=row["workload"],
        clients=row["clients"],
        threads=1,
        scale=1,
        baseline=SIDES[0],
        environment=SIDES[1],
    )


def _gate(codes: Sequence[int]) -> Figure:
    failed = codes.count(ExitCode.REGRESSION)
    return Figure(
        name=f"gate over {len(codes)} no-ops of three cells, --max-loss 5%: exit code 6",
        asked="never",
        measured=f"{failed} of {len(codes)}",
        error=f"{codes.count(ExitCode.OK)} pass (0), {codes.count(ExitCode.UNDECIDED)}"
        " undecided (7)",
        met=failed == 0,
    )


def main() -> int:
    """Measure what is missing if asked, and print it all."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.alike", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N")
    parser.add_argument("--keep", type=Path, default=RECORDED, metavar="FILE")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"))  # noqa: S108 - on a disk
    parser.add_argument("--measure", action="store_true", help="what is missing, or all anew")
    asked = parser.parse_args()
    begun = len(measured_rows(rows_of(asked.keep)))
    if asked.measure and begun >= asked.runs:
        asked.keep.unlink()
        begun = 0
    if asked.measure:
        append(asked.keep, provenance(("bench.verdict.alike", *sys.argv[1:])))
        for number in range(begun, asked.runs):
            with TemporaryDirectory(dir=asked.directory) as place:
                append(asked.keep, measure(number, Path(place)))
            print(f"{number + 1} of {asked.runs} runs", file=sys.stderr, flush=True)
    return conclude(figures(measured_rows(rows_of(asked.keep))))


if __name__ == "__main__":
    sys.exit(main())
