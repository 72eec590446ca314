"""Recorded data of long benchmarks: where they are from, and lines that outlive an interruption."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import groundspeed
from bench.figures import DATA
from groundspeed.probes.host import Host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CIRCUMSTANCES = "a shared, busy machine: other work ran on its cores at the same time"


def provenance(command: Sequence[str]) -> dict[str, Any]:
    """Say what made some data: command, date, version, and facts of the machine."""
    host = Host().host_facts()
    kernel = re.match(r"[\d.]*", host.kernel)
    return {
        "command": " ".join(("python", "-m", *command)),
        "date": datetime.now(UTC).date().isoformat(),
        "groundspeed_version": groundspeed.__version__,
        "circumstances": CIRCUMSTANCES,
        "host": {
            "cpu_model": host.cpu_model,
            "cpu_count": host.cpu_count,
            "memory_bytes": host.memory_bytes,
            "kernel": kernel[0] if kernel else host.kernel,
        },
    }


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add one line to a file of JSON lines; a torn last one goes, the first one begins it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(row).encode() + b"\n")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file, none where there is no file. A torn last one is left out."""
    if not path.exists():
        return []
    *whole, rest = path.read_text(encoding="utf-8").split("\n")
    del rest
    return [json.loads(line) for line in whole]


def write(path: Path, data: Mapping[str, Any]) -> None:
    """Keep data as one JSON file with a line for each entry of a list at its top."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(name)}: {_entry(value)}" for name, value in data.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _entry(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n  " + ",\n  ".join(json.dumps(each) for each in value) + "\n]"


def read(path: Path) -> dict[str, Any]:
    """Read such a file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


__all__ = ["DATA", "append", "provenance", "read", "rows_of", "write"]
