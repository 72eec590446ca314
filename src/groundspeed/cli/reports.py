"""Records on disk become a report in a format: shared by report, run and resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from groundspeed import analyse, store
from groundspeed.errors import StoreError
from groundspeed.report import data, html, markdown, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from groundspeed.analyse import Findings

HTML_FILE = "report.html"
TEXTS: dict[str, Callable[[Findings], str]] = {
    "md": markdown.render,
    "html": html.render,
    "json": data.to_json,
    "csv": data.to_csv,
}
FORMATS = ("terminal", *TEXTS)


def findings_of(run_dirs: Sequence[Path], *, baseline: str | None = None) -> Findings:
    """Read and analyse runs. Raises StoreError and UsageError."""
    return analyse.analyse([store.read_run(path) for path in run_dirs], baseline=baseline)


def print_terminal(findings: Findings) -> None:
    """Print the terminal report to standard output."""
    terminal.render(findings, Console())


def write(path: Path, text: str) -> None:
    """Write a report; one that was there is replaced as a whole. Raises StoreError."""
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror}", "name another file with groundspeed report --output FILE"
        ) from None
