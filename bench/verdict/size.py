"""How often a comparison of a thing with itself is said to differ, and how often intervals hold.

    python -m bench.verdict.size [--comparisons N] [--families N] [--save]

Simulated runs that stop when they are decided, on recorded noise and on models of it; for contrast,
a plain test after every pair. Seeded: the same figures each time. It refuses to measure: 60 real
comparisons are another benchmark's.
"""

from __future__ import annotations

import argparse
import sys
from random import Random
from typing import TYPE_CHECKING

from bench.figures import Figure, conclude, save
from bench.verdict.noise import courses
from bench.verdict.simulate import Simulated, family
from groundspeed.analyse.decisions import rule_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.verdict.noise import Course

ERROR_RATIO = 0.05
MOST_PAIRS = 52
FAMILY = 78
_POINT = 0.01


def alone(name: str, course: Course, count: int) -> list[Simulated]:
    """Compare a thing with itself, `count` times, each a family of its own."""
    rng = Random(f"size {name}")  # noqa: S311 - a simulation, no secret
    rule = rule_for(1, margin_ratio=0.03, most_pairs=MOST_PAIRS)
    return [found for _ in range(count) for found in family(rng, course, rule, [1.0])]


def share(found: Sequence[bool]) -> float:
    """Give the share of those that are true."""
    return sum(found) / len(found)


def figures_alone(name: str, found: Sequence[Simulated]) -> list[Figure]:
    """Word size, coverage and what a naive test would have said."""
    wrong = share([s.wrong for s in found])
    covered = share([s.covered for s in found])
    naive = share([s.naive_different for s in found])
    equal = share([s.right for s in found])
    return [
        Figure(
            name=f"{name}: {len(found)} A/A, wrong 'different'",
            asked=f"<= {ERROR_RATIO:.0%}",
            measured=f"{wrong:.2%}",
            error=f"testing after every pair: {naive:.1%}; equivalent: {equal:.0%}",
            met=wrong <= ERROR_RATIO,
        ),
        Figure(
            name=f"{name}: intervals at the stop that hold the truth",
            asked=f">= {1 - ERROR_RATIO - _POINT:.0%}",
            measured=f"{covered:.2%}",
            met=covered >= 1 - ERROR_RATIO - _POINT,
        ),
    ]


def figure_family(name: str, course: Course, count: int) -> Figure:
    """Say in how many families of 78 comparisons of like things one or more answers are wrong."""
    rng = Random(f"family {name}")  # noqa: S311 - a simulation, no secret
    rule = rule_for(FAMILY, margin_ratio=0.03, most_pairs=MOST_PAIRS)
    wrong = share(
        [any(s.wrong for s in family(rng, course, rule, [1.0] * FAMILY)) for _ in range(count)]
    )
    return Figure(
        name=f"{name}: {count} families of {FAMILY} A/A, any wrong",
        asked=f"<= {ERROR_RATIO:.0%}",
        measured=f"{wrong:.2%}",
        met=wrong <= ERROR_RATIO,
    )


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.size", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=2000, metavar="N")
    parser.add_argument("--families", type=int, default=400, metavar="N")
    parser.add_argument("--save", action="store_true", help="keep as bench/data/verdict-size.json")
    asked = parser.parse_args()
    figures: list[Figure] = []
    for name, course in courses().items():
        figures += figures_alone(name, alone(name, course, asked.comparisons))
        if asked.families:
            figures.append(figure_family(name, course, asked.families))
    if asked.save:
        rows = [{"name": f.name, "measured": f.measured, "error": f.error} for f in figures]
        save("verdict-size.json", ("bench.verdict.size", *sys.argv[1:]), {"figures": rows})
    return conclude(figures)


if __name__ == "__main__":
    sys.exit(main())
