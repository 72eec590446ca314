"""The rendered reports in this folder, and the one way to make them again.

    PYTHONPATH=src python -m tests.golden.reports

Read the difference before it is committed: it is what users will see.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from groundspeed.report import data, markdown, terminal
from tests.examples import example_findings

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parent


def print_to_text(columns: int, repeats: int) -> str:
    """Print the example to a terminal that is a file; without the blanks that end lines."""
    text = io.StringIO()
    terminal.render(example_findings(repeats), Console(width=columns, file=text))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


RENDERERS: dict[str, Callable[[], str]] = {
    "report-80-columns.txt": lambda: print_to_text(80, 7),
    "report-120-columns.txt": lambda: print_to_text(120, 7),
    "report-three-repeats.txt": lambda: print_to_text(80, 3),
    "report.md": lambda: markdown.render(example_findings()),
    "report.json": lambda: data.to_json(example_findings()),
    "report.csv": lambda: data.to_csv(example_findings()),
}


def write_all() -> None:
    """Write every report anew."""
    for name, render in RENDERERS.items():
        (FOLDER / name).write_bytes(render().encode())


if __name__ == "__main__":
    write_all()
