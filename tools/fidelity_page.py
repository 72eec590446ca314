"""Prints the table of docs/fidelity.md from bench/data/fidelity.json; a test compares the two."""

from __future__ import annotations

import json
import sys
from pathlib import Path

DATA = Path(__file__).parents[1] / "bench" / "data" / "fidelity.json"
_COLUMNS = ("what", "asked", "measured", "error", "allowed")


def table() -> str:
    """Write the lines of all groups as one Markdown table."""
    groups = json.loads(DATA.read_text(encoding="utf-8"))["groups"]
    rows = [f"| {' | '.join(_COLUMNS)} | |", "|---" * (len(_COLUMNS) + 1) + "|"]
    words = {None: "", True: "met", False: "**MISSED**"}
    rows += [
        f"| {' | '.join(str(line[column]) for column in _COLUMNS)} | {words[line['met']]} |"
        for lines in groups.values()
        for line in lines
    ]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
