"""Reads the captured outputs in tests/golden/fio: what a real fio printed for jobs of ours."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "fio"


def read(name: str) -> str:
    """Read one output, such as "3.33-block.json"."""
    return (FOLDER / name).read_text(encoding="utf-8")
