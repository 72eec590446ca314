"""The shapes of capacities in a report: rows of text and figures as numbers; no logic."""

from __future__ import annotations

import msgspec


class CapacityRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cell that was searched; texts are for people, NOTHING where there is none."""

    environment: str
    label: str
    workload: str
    clients: int
    threads: int
    # As in 1,910/s, [1,810, 2,010] and 2,010/s
    holds: str
    interval: str
    breaks: str
    why: str
    slices: str
    closed_loop: str
    # The whole of it in one sentence, without the name of the environment.
    sentence: str
    # Why it may be another's figure than the server's; else empty.
    doubt: str
    is_bracketed: bool


class CapacityFigure(msgspec.Struct, frozen=True, kw_only=True):
    """p99 latency against the rate of one cell; rates a second, seconds.

    `points` are (rate, p99, whether the slice holds, its text); `line` is the median p99 of each
    rate that has slices. `low_per_s` and `high_per_s` are the ends of the interval.
    """

    environment: str
    label: str
    workload: str
    caption: str
    sentence: str
    bound_s: float
    bound_label: str
    low_per_s: float | None
    high_per_s: float | None
    points: tuple[tuple[float, float, bool, str], ...]
    line: tuple[tuple[float, float], ...]


class CapacityView(msgspec.Struct, frozen=True, kw_only=True):
    """All searches of a report; empty where nothing was searched."""

    title: str = ""
    explanation: str = ""
    rows: tuple[CapacityRow, ...] = ()
    figures: tuple[CapacityFigure, ...] = ()
    clients_vary: bool = False
    threads_vary: bool = False
