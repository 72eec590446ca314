"""A change that changes nothing passes a gate or leaves it undecided; a loss fails it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.gate import GateAnswer, gate
from tests.sided import one_run, two_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.analyse.sides import Side

# Throughput of one server in short trials, one after another, on a virtual machine.
RECORDED = Path(__file__).parents[2] / "bench" / "data" / "noise" / "virtual-2-cores.json"
TRIES = 120
CLIENTS = (1, 8, 32)
REPEATS = 10
# How much a run as a whole is faster or slower than another one of the same, here.
MOOD = 0.01


def drifting(rng: Random, spread: float) -> list[float]:
    """Log ratios as real pairs scatter: mostly a little, sometimes a checkpoint in one half."""
    return [
        rng.gauss(0, spread) + (rng.choice((-1, 1)) * 4 * spread if rng.random() < 0.1 else 0)
        for _ in range(REPEATS)
    ]


def paired(rng: Random, ratio: float, spread: float) -> tuple[Side, Side]:
    return one_run({c: [ratio * math.exp(x) for x in drifting(rng, spread)] for c in CLIENTS})


def unpaired(rng: Random, ratio: float, spread: float) -> tuple[Side, Side]:
    """Two runs of other days: each has a mood of its own, which no test can tell from a change."""

    def side(level: float) -> dict[int, list[float]]:
        mood = level * math.exp(rng.gauss(0, MOOD))
        return {c: [mood * math.exp(x) for x in drifting(rng, spread)] for c in CLIENTS}

    return two_runs(side(1000.0), side(1000.0 * ratio))


@pytest.mark.parametrize("make", [paired, unpaired])
@pytest.mark.parametrize("spread", [0.01, 0.03, 0.05])
def test_a_no_op_never_fails(
    make: Callable[[Random, float, float], tuple[Side, Side]], spread: float
) -> None:
    rng = Random(f"{make.__name__} {spread}")
    answers = [gate([make(rng, 1.0, spread)], max_loss_ratio=0.05).answer for _ in range(TRIES)]
    assert GateAnswer.FAIL not in answers
    if spread <= 0.01 and make is paired:
        assert answers.count(GateAnswer.PASS) >= 0.9 * TRIES


@pytest.mark.parametrize("make", [paired, unpaired])
def test_a_no_op_on_a_wild_machine_fails_no_more_often_than_said(
    make: Callable[[Random, float, float], tuple[Side, Side]],
) -> None:
    rng = Random(f"wild {make.__name__}")
    answers = [gate([make(rng, 1.0, 0.1)], max_loss_ratio=0.05).answer for _ in range(2 * TRIES)]
    assert answers.count(GateAnswer.FAIL) <= 0.025 * 2 * TRIES


@pytest.mark.parametrize(("make", "ratio"), [(paired, 0.9), (unpaired, 0.85)])
def test_a_loss_well_beyond_the_limit_is_certain(
    make: Callable[[Random, float, float], tuple[Side, Side]], ratio: float
) -> None:
    rng = Random(f"loss {make.__name__}")
    answers = [gate([make(rng, ratio, 0.015)], max_loss_ratio=0.05).answer for _ in range(TRIES)]
    assert answers.count(GateAnswer.FAIL) >= 0.9 * TRIES
    assert GateAnswer.PASS not in answers


def test_a_loss_of_just_what_is_allowed_fails_as_seldom_as_said() -> None:
    rng = Random("at the limit")
    tries = 1500
    answers = [gate([paired(rng, 0.95, 0.02)], max_loss_ratio=0.05).answer for _ in range(tries)]
    # 2.5% over all cells together, and three standard errors.
    assert answers.count(GateAnswer.FAIL) / tries <= 0.025 + 0.012
    # Each of three cells would have to be wrong at once to let it through.
    assert answers.count(GateAnswer.PASS) / tries <= 0.025


def test_a_rise_of_p99_of_just_what_is_allowed_fails_as_seldom_as_said() -> None:
    rng = Random("p99 at the limit")
    tries = 1000
    # Latency is the inverse of throughput here, so both are at the limit that they have.
    answers = [
        gate(
            [paired(rng, 1 / 1.1, 0.02)], max_loss_ratio=1 - 1 / 1.1, max_p99_rise_ratio=0.1
        ).answer
        for _ in range(tries)
    ]
    assert answers.count(GateAnswer.FAIL) / tries <= 0.025 + 0.015
    assert answers.count(GateAnswer.PASS) / tries <= 0.025
    certain = [
        gate([paired(rng, 0.8, 0.015)], max_loss_ratio=0.5, max_p99_rise_ratio=0.1).answer
        for _ in range(TRIES)
    ]
    assert certain.count(GateAnswer.FAIL) >= 0.9 * TRIES


@pytest.mark.parametrize("cells", [1, 3, 6])
@pytest.mark.parametrize("gap", [0, 40])
def test_stretches_of_one_recorded_run_are_no_regression_of_each_other(
    cells: int, gap: int
) -> None:
    rng = Random(f"recorded {cells} {gap}")
    series = [s["tps_per_s"] for s in json.loads(RECORDED.read_text())["series"]]
    answers = []
    for _ in range(TRIES):
        before: dict[int, list[float]] = {}
        after: dict[int, list[float]] = {}
        swap = rng.random() < 0.5
        for clients, values in enumerate(rng.sample(series, cells), start=1):
            start = rng.randrange(len(values) - 2 * REPEATS - gap + 1)
            one = values[start : start + REPEATS]
            two = values[start + REPEATS + gap : start + 2 * REPEATS + gap]
            before[clients], after[clients] = (two, one) if swap else (one, two)
        answers.append(gate([two_runs(before, after)], max_loss_ratio=0.05).answer)
    # Taken for independent, trials of these would fail a no-op in 7 to 53 of 100.
    assert answers.count(GateAnswer.FAIL) <= 0.05 * TRIES
