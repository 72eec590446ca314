"""Reads the captured outputs in tests/golden/pgbench.

Those of 15, 16 and 18 are what the real programs wrote (the connection string is shortened), with
the whole log counted and some of its lines. Those of 13 and 14 are made by hand after their
documentation and source.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "pgbench"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))


class Output(NamedTuple):
    """One pgbench: what was typed, what it returned and wrote, what its log held."""

    argv: tuple[str, ...]
    returncode: int
    counts: dict[str, int]
    stdout: str
    stderr: str
    log_lines: tuple[str, ...]


def read(name: str) -> Output:
    """Read one output, such as "16-plain"."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    argv, text = text.split("\n== returned ", 1)
    returncode, text = text.split("\n== log lines", 1)
    counts, text = text.split("\n== stdout\n", 1)
    stdout, text = text.split("== stderr\n", 1)
    stderr, log = text.split("== log, some lines\n", 1)
    return Output(
        argv=tuple(argv.split()),
        returncode=int(returncode),
        counts={kind: int(count) for kind, count in (c.split("=") for c in counts.split())},
        stdout=stdout,
        stderr=stderr,
        log_lines=tuple(log.splitlines()),
    )
