"""The rendered reports in this folder, and the one way to make them again.

    PYTHONPATH=src python -m tests.golden.reports

Read the difference before it is committed: it is what users will see.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from groundspeed.report import data, markdown, story, terminal
from tests.evident import evident_findings
from tests.examples import example_findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.analyse import Findings

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


RENDERERS: dict[str, Callable[[], str]] = {
    "report-80-columns.txt": lambda: print_to_text(80, example_findings(7)),
    "report-120-columns.txt": lambda: print_to_text(120, example_findings(7)),
    "report-three-repeats.txt": lambda: print_to_text(80, example_findings(3)),
    "report.md": lambda: markdown.render(example_findings()),
    "report.json": lambda: data.to_json(example_findings()),
    "report.csv": lambda: data.to_csv(example_findings()),
    "report-evidence-80-columns.txt": lambda: print_to_text(80, evident_findings()),
    "report-evidence-160-columns.txt": lambda: print_to_text(160, evident_findings()),
    "report-evidence.md": lambda: markdown.render(evident_findings()),
    "report-evidence.json": lambda: data.to_json(evident_findings(3)),
    "report-evidence.csv": lambda: data.to_csv(evident_findings()),
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
