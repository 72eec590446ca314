"""For all tests: Ctrl-C is not ignored; and a table of what was provoked against what was named."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.server.provoked import confusion

if TYPE_CHECKING:
    import pytest

# They want a cluster, which `make test-k8s` brings.
collect_ignore = [] if "GROUNDSPEED_K8S_IMAGE" in os.environ else ["k8s"]


def pytest_configure() -> None:
    """Take signals back: a suite in the background, or under nohup, inherits that they are ignored.

    So would every program that a test starts and interrupts, and wait for ever.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)


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
