"""The rendered reports in this folder, and the one way to make them again.

    PYTHONPATH=src python -m tests.golden.reports

Read the difference before it is committed: it is what users will see.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from groundspeed.analyse.gate import gate
from groundspeed.analyse.history import history
from groundspeed.analyse.sides import Side
from groundspeed.analyse.two_sides import compare_sides
from groundspeed.report import (
    compare_markdown,
    compare_terminal,
    data,
    gate_benchstat,
    gate_ci,
    gate_text,
    history_terminal,
    markdown,
    story,
    terminal,
)
from tests.evident import evident_findings
from tests.examples import example_findings, example_run
from tests.sided import around, dated_runs, two_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.analyse import Findings
    from groundspeed.analyse.gate import Gate
    from groundspeed.analyse.two_sides import Compared

FOLDER = Path(__file__).parent


def print_to_text(columns: int, findings: Findings) -> str:
    """Print findings to a terminal that is a file; without the blanks that end lines."""
    text = io.StringIO()
    terminal.render(findings, Console(width=columns, file=text))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def tell_to_text(*, unicode: bool) -> str:
    """Tell the last trial of the watched example."""
    findings = evident_findings()
    return "\n".join(story.story(findings.trials[-1], findings, unicode=unicode)) + "\n"


def compared() -> tuple[Compared, ...]:
    """Compare two environments of the awkward run, and two runs of an environment."""
    run = example_run()
    first, _, third = (Side(name=name, run=run, environment=name) for name in run.environments)
    days = two_runs({1: around(1000.0, 8)}, {1: around(1100.0, 8, seed=2)})
    return (*compare_sides([(first, third)]), *compare_sides([days]))


def compare_to_text(columns: int) -> str:
    """Print comparisons to a terminal that is a file."""
    text = io.StringIO()
    compare_terminal.render(compared(), Console(width=columns, file=text))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def gated() -> Gate:
    """Hold two runs against each other: a cell that passes, one that fails, one that is open."""
    before = {1: around(1000.0, 8), 8: around(4000.0, 8), 32: around(6000.0, 8)}
    after = {
        1: around(1000.0, 8, seed=2),
        8: around(3000.0, 8, seed=3),
        32: around(5700.0, 8, seed=4, spread=0.04),
    }
    return gate([two_runs(before, after)], max_loss_ratio=0.05)


def history_to_text() -> str:
    """Follow eighteen runs with one step."""
    text = io.StringIO()
    found = history(dated_runs([1000.0] * 10 + [850.0] * 8))
    history_terminal.render(found, Console(width=80, file=text), unicode=True)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


RENDERERS: dict[str, Callable[[], str]] = {
    "report-80-columns.txt": lambda: print_to_text(80, example_findings()),
    "report-120-columns.txt": lambda: print_to_text(120, example_findings()),
    "report-three-repeats.txt": lambda: print_to_text(80, example_findings(3)),
    "report.md": lambda: markdown.render(example_findings()),
    "report.json": lambda: data.to_json(example_findings()),
    "report.csv": lambda: data.to_csv(example_findings()),
    "report-evidence-80-columns.txt": lambda: print_to_text(80, evident_findings()),
    "report-evidence-160-columns.txt": lambda: print_to_text(160, evident_findings()),
    "report-evidence.md": lambda: markdown.render(evident_findings()),
    "report-evidence.json": lambda: data.to_json(evident_findings(3)),
    "report-evidence.csv": lambda: data.to_csv(evident_findings()),
    "compare-80-columns.txt": lambda: compare_to_text(80),
    "compare.md": lambda: compare_markdown.render(compared()),
    "gate.txt": lambda: gate_text.render(gated(), is_advisory=False),
    "gate-benchstat.txt": lambda: gate_benchstat.render(gated()),
    "gate-junit.xml": lambda: gate_ci.to_junit(gated()),
    "gate-github.txt": lambda: gate_ci.to_github(gated(), is_advisory=False),
    "history.txt": history_to_text,
    "why-list.txt": lambda: "\n".join(story.trial_lines(evident_findings())) + "\n",
    "why-trial.txt": lambda: tell_to_text(unicode=True),
    "why-trial-ascii.txt": lambda: tell_to_text(unicode=False),
}


def write_all() -> None:
    """Write every report anew."""
    for name, render in RENDERERS.items():
        (FOLDER / name).write_bytes(render().encode())


if __name__ == "__main__":
    write_all()
