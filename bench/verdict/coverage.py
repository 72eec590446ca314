"""How often each interval of `stats/` holds the true value, by seeded simulation.

    python -m bench.verdict.coverage [--simulations N]

Nominal is the confidence that an interval says it reached: exact ones come in steps, so that six
values have 96.9% and not 95%. Asked is to be within a point of it; of intervals that are made wider
than they must be (Bonferroni, several looks, a correlation that is never taken for negative), not
to be below it by more.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from bench.figures import Figure, conclude
from bench.verdict.simulate import key
from groundspeed.analyse import Answer
from groundspeed.analyse.decisions import decide, rule_for
from groundspeed.stats.change_points import change_points
from groundspeed.stats.geometric_mean import geometric_mean_ratio
from groundspeed.stats.median import median_interval
from groundspeed.stats.median_quotient import median_quotient
from groundspeed.stats.paired_difference import paired_difference
from groundspeed.stats.paired_ratio import paired_ratio
from groundspeed.stats.scalability import Law, Load, fit_law
from groundspeed.stats.trend import trend_across, trend_within
from groundspeed.stats.unpaired_ratio import unpaired_ratio

SIMULATIONS = 20_000
_POINT = 0.01
_NOMINAL = 0.95
# Of a simulated coverage of 0.95: two standard errors are told beside each figure.
_ERRORS = 2
_SETTLE_COUNT = 20
_SIDE_COUNT = 12
_RATIO = 1.3

Draw = Callable[[Random], float]


class Interval(NamedTuple):
    """One simulated interval: what it says of its confidence, and whether it holds the truth."""

    said_ratio: float
    holds: bool


Simulation = Callable[[Random], Interval | None]


class Case(NamedTuple):
    """An interval of `stats/` in one situation. `wide`: it may hold more often than it says."""

    name: str
    simulate: Simulation
    wide: bool = False
    share: float = 1.0


def normal(rng: Random) -> float:
    """Draw from a normal distribution around 1000."""
    return 1000 + 50 * rng.gauss(0, 1)


def heavy(rng: Random) -> float:
    """Draw from a heavy-tailed one with its median at 1000."""
    return 1000 * math.exp(1.5 * rng.gauss(0, 1))


SHAPES: dict[str, Draw] = {"normal": normal, "heavy tail": heavy}


def interval(
    low: float | None, high: float | None, truth: float, said: float | None
) -> Interval | None:
    """Say whether an interval holds; None where there is none."""
    if low is None or high is None:
        return None
    return Interval(_NOMINAL if said is None else said, low <= truth <= high)


def pairs(rng: Random, draw: Draw, count: int, ratio: float = _RATIO) -> list[tuple[float, float]]:
    """Draw pairs under one mood of the machine each."""
    moods = [math.exp(rng.gauss(0, 0.5)) for _ in range(count)]
    return [(ratio * mood * draw(rng), mood * draw(rng)) for mood in moods]


def _median(draw: Draw, count: int) -> Simulation:
    def simulate(rng: Random) -> Interval | None:
        found = median_interval([draw(rng) for _ in range(count)])
        return interval(found.low, found.high, 1000, found.confidence_ratio)

    return simulate


def _paired(draw: Draw, count: int) -> Simulation:
    def simulate(rng: Random) -> Interval | None:
        found = paired_ratio(pairs(rng, draw, count))
        return interval(found.low, found.high, _RATIO, found.confidence_ratio)

    return simulate


def _difference(draw: Draw, count: int) -> Simulation:
    def simulate(rng: Random) -> Interval | None:
        values = [(2 + draw(rng) / 10_000, draw(rng) / 10_000) for _ in range(count)]
        found = paired_difference(values)
        said = paired_ratio([(1.0, 1.0)] * count).confidence_ratio
        return interval(found.low, found.high, 2, said)

    return simulate


def _unpaired(draw: Draw, over: int, under: int) -> Simulation:
    def simulate(rng: Random) -> Interval | None:
        found = unpaired_ratio(
            [_RATIO * draw(rng) for _ in range(over)], [draw(rng) for _ in range(under)]
        )
        return interval(found.low, found.high, _RATIO, found.confidence_ratio)

    return simulate


def _quotient(rng: Random) -> Interval | None:
    over = [_RATIO * heavy(rng) for _ in range(7)]
    found = median_quotient(over, [normal(rng) for _ in range(9)])
    return interval(found.low, found.high, _RATIO, found.confidence_ratio)


def _geometric(rng: Random) -> Interval | None:
    cells = [pairs(rng, normal, 8), pairs(rng, heavy, 8, 1 / _RATIO), pairs(rng, normal, 9, 1.0)]
    found = geometric_mean_ratio(cells)
    return interval(found.low, found.high, 1.0, found.confidence_ratio)


def _at_the_stop(rng: Random) -> Interval | None:
    """Look by the rule until it is decided, as a run does, and ask of the interval there."""
    rule = rule_for(1, margin_ratio=0.03, most_pairs=28)
    drawn = [(1.05 * math.exp(rng.gauss(0, 0.07)), 1.0) for _ in range(28)]
    for look in rule.looks:
        (decision,) = decide({key(0): drawn[:look]}, rule)
        if decision.answer is not Answer.UNDECIDED:
            break
    return interval(decision.low, decision.high, 1.05, _NOMINAL)


def _series(rng: Random, count: int, phi: float) -> list[float]:
    value, values = 0.0, []
    for _ in range(_SETTLE_COUNT + count):
        value = phi * value + math.sqrt(1 - phi * phi) * rng.gauss(0, 1)
        values.append(value)
    return [1000 + 0.5 * at + 50 * off for at, off in enumerate(values[_SETTLE_COUNT:])]


def _within(phi: float) -> Simulation:
    def simulate(rng: Random) -> Interval | None:
        found = trend_within(_series(rng, 60, phi))
        return interval(found.low, found.high, 0.5, _NOMINAL)

    return simulate


def _across(rng: Random) -> Interval | None:
    found = trend_across(_series(rng, 10, 0.0))
    return interval(found.low, found.high, 0.5, _NOMINAL)


def _step(size: float) -> Simulation:
    """Ask of a step that is found where it is, by as many values on either side."""

    def simulate(rng: Random) -> Interval | None:
        values = [rng.gauss(size if at >= _SIDE_COUNT else 0.0, 1) for at in range(2 * _SIDE_COUNT)]
        found = change_points(values)
        if len(found) != 1:
            return None
        return interval(found[0].low, found[0].high, size, _NOMINAL)

    return simulate


def _law(part: str) -> Simulation:
    law = Law(lambda_=1000, sigma=0.2, kappa=0.001)

    def simulate(rng: Random) -> Interval | None:
        loads = [
            Load(clients=n, throughput=law.throughput(n) * math.exp(rng.gauss(0, 0.02)))
            for n in (1, 2, 4, 8, 16, 32, 64, 128)
        ]
        fit = fit_law(loads)
        if part == "sigma":
            return interval(fit.sigma_low, fit.sigma_high, law.sigma, _NOMINAL)
        return interval(fit.kappa_low, fit.kappa_high, law.kappa, _NOMINAL)

    return simulate


CASES = (
    *(
        Case(f"median, {n} values, {shape}", _median(draw, n))
        for shape, draw in SHAPES.items()
        for n in (6, 25)
    ),
    *(
        Case(f"paired ratio, {n} pairs, {shape}", _paired(draw, n))
        for shape, draw in SHAPES.items()
        for n in (6, 25)
    ),
    *(Case(f"paired difference, 8 pairs, {s}", _difference(d, 8)) for s, d in SHAPES.items()),
    *(
        Case(f"unpaired ratio, {n} and {m} values, {shape}", _unpaired(draw, n, m))
        for shape, draw in SHAPES.items()
        for n, m in ((4, 4), (6, 10))
    ),
    Case("median quotient, 7 and 9 values", _quotient, wide=True),
    Case("geometric mean of ratios, three cells, 8 rounds", _geometric),
    Case("ratio where a run stopped, ratio 1.05", _at_the_stop, wide=True, share=0.5),
    *(
        Case(f"slope within a trial of 60 s, phi {p}", _within(p), wide=True, share=0.25)
        for p in (0.0, 0.5)
    ),
    Case("slope across 10 repeats", _across, wide=True),
    *(Case(f"step of {z} deviations in 24 values", _step(z), share=0.1) for z in (3, 6)),
    *(Case(f"scalability, {p}, 8 points", _law(p), share=0.25) for p in ("sigma", "kappa")),
)


def figure(case: Case, simulations: int) -> Figure:
    """Simulate one case and hold it to its nominal coverage."""
    rng = Random(f"coverage {case.name}")  # noqa: S311 - a simulation, no secret
    count = max(round(simulations * case.share), 1)
    found = [i for _ in range(count) if (i := case.simulate(rng)) is not None]
    nominal = max(i.said_ratio for i in found)
    covered = sum(i.holds for i in found) / len(found)
    error = _ERRORS * math.sqrt(nominal * (1 - nominal) / len(found))
    return Figure(
        name=case.name,
        asked=f"{'>= ' if case.wide else ''}{nominal:.2%}",
        measured=f"{covered:.2%}",
        error=f"{covered - nominal:+.2%}; the simulation is sure to {error:.2%},"
        f" {len(found)} intervals",
        met=_is_met(covered, nominal, error, is_wide=case.wide),
    )


def _is_met(covered: float, nominal: float, error: float, *, is_wide: bool) -> bool:
    """Say whether it is within a point, as far as the simulation can tell."""
    allowed = _POINT + error
    return covered >= nominal - allowed and (is_wide or covered <= nominal + allowed)


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.coverage", description=__doc__)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS, metavar="N")
    asked = parser.parse_args()
    return conclude([figure(case, asked.simulations) for case in CASES])


if __name__ == "__main__":
    sys.exit(main())
