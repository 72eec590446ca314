"""What advice is made of: sentences with what they rest on, and choices. Types, no logic."""

from __future__ import annotations

from enum import Enum

import msgspec

from groundspeed.analyse.diagnosis import CellKey


class Topic(Enum):
    """What a sentence is about; in the order in which they are told."""

    COST = "cost"
    DURABILITY = "durability"
    MEAN = "geometric mean"
    REPLICAS = "replicas"
    GROWTH = "growth"
    STEADINESS = "steadiness"


class Purpose(Enum):
    """What somebody wants a database for."""

    WRITES = "write-heavy"
    READS = "read-heavy"
    MIXED = "mixed"
    BURSTY = "bursty"
    LATENCY = "latency-bound"
    # By what may be lost of what was acknowledged: all, a second, nothing.
    CACHE = "cache"
    SESSIONS = "session store"
    RECORD = "system of record"


class Advised(msgspec.Struct, frozen=True, kw_only=True):
    """One finding: a sentence with its numbers and intervals, and the cells that they are of."""

    topic: Topic
    sentence: str
    cells: tuple[CellKey, ...]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The environment for a purpose, by name; None where that is not decided.

    `by` says what was compared, `workloads` in which; `reason` has the figures, or why nothing is
    decided. `runner_up` is None as well where there is nothing to run up to; `is_alone` says that
    no other environment was eligible.
    """

    purpose: Purpose
    by: str
    workloads: tuple[str, ...]
    best: str | None
    runner_up: str | None
    reason: str
    is_alone: bool = False


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run tells somebody who has to choose; empty with one environment or none."""

    findings: tuple[Advised, ...]
    choices: tuple[Choice, ...]
