"""At the end of pytest's output: what was provoked on real servers against what was named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.server.provoked import confusion

if TYPE_CHECKING:
    import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the confusion table, where its tests were run; in this process or in others."""
    pairs = [
        (provoked, named)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == confusion.PROPERTY and report.when == "call"
        for provoked, named in [value]
    ]
    if pairs:
        terminalreporter.section("bottlenecks provoked and named")
        for line in confusion.table(pairs):
            terminalreporter.write_line(line)
