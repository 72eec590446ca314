"""The figures of the page are those that were measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_what_was_measured() -> None:
    made = subprocess.run(
        [sys.executable, "tools/fidelity_page.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout in (ROOT / "docs" / "fidelity.md").read_text()
