"""Throughput of a machine over time, as recorded and as models have it, for simulated trials.

A course is a list of rates, one for each second, around 1. Recordings are cut into pieces that are
laid end to end in random order: within a piece everything stays that a machine does to its
neighbours in time (drift, autocorrelation, stalls, steps). Models exaggerate one of it each.
It refuses to run anything.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Course = Callable[[Random, int], list[float]]

NOISE = Path(__file__).parents[1] / "data" / "noise"
# As long as a few blocks: what lasts longer changes from piece to piece.
_PIECE_S = 30
# A second without a transaction is recorded as such; a slice of nothing would have no ratio.
_LEAST_RATE = 1e-3
# Between two blocks of one comparison.
_OTHER_CELLS_S = 8


@cache
def recordings() -> dict[str, tuple[tuple[float, ...], ...]]:
    """Read every recording, by workload; each in units of its median."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for path in sorted(NOISE.glob("*.json")):
        for series in json.loads(path.read_text(encoding="utf-8"))["series"]:
            level = median(series["tps_per_s"])
            rates = tuple(max(rate / level, _LEAST_RATE) for rate in series["tps_per_s"])
            found.setdefault(series["workload"], []).append(rates)
    return {workload: tuple(series) for workload, series in found.items()}


def recorded(workload: str) -> Course:
    """Make courses of pieces of the recordings of one workload."""

    def course(rng: Random, length: int) -> list[float]:
        rates: list[float] = []
        while len(rates) < length:
            series = rng.choice(recordings()[workload])
            start = rng.randrange(len(series) - _PIECE_S)
            rates += series[start : start + _PIECE_S]
        return rates[:length]

    return course


def autoregressive(rng: Random, length: int) -> list[float]:
    """Make a course that drifts: each second resembles the one before (0.95), 8% around 1."""
    log, rates = 0.0, []
    for _ in range(length):
        log = 0.95 * log + rng.gauss(0, 0.08 * math.sqrt(1 - 0.95**2))
        rates.append(math.exp(log))
    return rates


def stepping(rng: Random, length: int) -> list[float]:
    """Make a course of two levels, a fifth apart, about a minute each, with 3% around them."""
    low, rates = False, []
    for _ in range(length):
        low ^= rng.random() < 1 / 60
        rates.append((0.8 if low else 1.0) * math.exp(rng.gauss(0, 0.03)))
    return rates


def heavy_tailed(rng: Random, length: int) -> list[float]:
    """Make a course with stalls: Pareto losses that have neither variance nor mean."""
    return [
        math.exp(rng.gauss(0, 0.02)) / (1 + 0.02 * (rng.paretovariate(1) - 1))
        for _ in range(length)
    ]


def slowing(rng: Random, length: int) -> list[float]:
    """Make a course that loses a third of its rate over its length, with 3% around it."""
    return [(1 - second / length / 3) * math.exp(rng.gauss(0, 0.03)) for second in range(length)]


MODELS: dict[str, Course] = {
    "AR(1)": autoregressive,
    "steps": stepping,
    "heavy tails": heavy_tailed,
    "slowing down": slowing,
}


def courses() -> dict[str, Course]:
    """Give every kind of course by name, the recorded ones first."""
    return {f"recorded {name}": recorded(name) for name in recordings()} | MODELS


def draw_pairs(
    rng: Random, course: Course, count: int, *, ratio: float = 1.0, slice_s: int = 2
) -> list[tuple[float, float]]:
    """Measure `count` blocks on one course of a machine: (environment, baseline) rates.

    Both slices of a block follow each other in shuffled order. `ratio` is the true one.
    """
    block_s = 2 * slice_s + _OTHER_CELLS_S
    rates = course(rng, count * block_s)
    pairs = []
    for begin in range(0, count * block_s, block_s):
        halves = [fmean(rates[at : at + slice_s]) for at in (begin, begin + slice_s)]
        rng.shuffle(halves)
        pairs.append((ratio * halves[0], halves[1]))
    return pairs
