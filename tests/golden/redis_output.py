"""Reads the captured outputs in tests/golden/redis.

All are what real programs wrote: redis-benchmark and redis-server 5.0.14, 7.0.15 and 8.0-m01 (the
first milestone of 8.0), redis-server 6.2.14, valkey-benchmark and valkey-server 8.0.1. The path of
the socket is shortened.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "redis"
NAMES = tuple(
    sorted(p.stem for p in FOLDER.glob("*.txt") if not p.stem.endswith(("-info", "-memtier")))
)
INFOS = tuple(sorted(path.stem.removesuffix("-info") for path in FOLDER.glob("*-info.txt")))


class Output(NamedTuple):
    """One redis-benchmark: what was typed, what it returned and wrote."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def read(name: str) -> Output:
    """Read one output, such as "7.0.15-text"; carriage returns are kept."""
    text = (FOLDER / f"{name}.txt").read_bytes().decode()
    argv, text = text.split("\n== returned ", 1)
    returncode, text = text.split("\n== stdout\n", 1)
    stdout, stderr = text.split("== stderr\n", 1)
    return Output(
        argv=tuple(shlex.split(argv)), returncode=int(returncode), stdout=stdout, stderr=stderr
    )


def info(version: str) -> str:
    """Read what INFO of a version told."""
    return (FOLDER / f"{version}-info.txt").read_text(encoding="utf-8")


def reply(name: str) -> bytes:
    """Read a reply as it came over the wire, such as "7.0.15-slowlog"."""
    return (FOLDER / f"{name}.resp").read_bytes()
