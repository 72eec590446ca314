"""Records on disk become a report in a format: shared by report, run and resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from groundspeed import analyse, store
from groundspeed.analyse.losses import loss_rows
from groundspeed.errors import StoreError, UsageError
from groundspeed.report import data, html, markdown, terminal
from groundspeed.store.losses import has_losses, read_losses

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
    """Read and analyse runs; tries of durability among them stand beside what was promised.

    Raises StoreError and UsageError.
    """
    tried = [path for path in run_dirs if has_losses(path)]
    runs = [store.read_run(path) for path in run_dirs if path not in tried]
    if tried and not runs:
        raise UsageError(
            f"{tried[0]}: tries of durability, in which nothing was measured",
            f"groundspeed durability {tried[0]} prints them; a report takes them beside a run",
        )
    findings = analyse.analyse(runs, baseline=baseline)
    losses = loss_rows([record for path in tried for record in read_losses(path)])
    return msgspec.structs.replace(findings, losses=losses)


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
