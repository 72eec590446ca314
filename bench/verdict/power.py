"""How surely true differences of 5% and 10% are found, and how many pairs that takes.

    python -m bench.verdict.power [--comparisons N] [--save]

Simulated runs that stop when they are decided, on recorded noise and on models of it, each
comparison alone and in a family of 78 like the matrix preset's, without a noise floor. Seeded.
Whether there is time for so many pairs is told by `patience`. It refuses to measure.
"""

from __future__ import annotations

import argparse
import sys
from random import Random
from statistics import median, quantiles
from typing import TYPE_CHECKING

from bench.figures import Figure, conclude, save
from bench.verdict.noise import courses
from bench.verdict.simulate import Simulated, family
from groundspeed.analyse.decisions import rule_for

if TYPE_CHECKING:
    from bench.verdict.noise import Course

MOST_PAIRS = 120
RATIOS = (1.0, 1.05, 1 / 1.05, 1.1, 1 / 1.1)
FAMILY = 78


def simulate(name: str, course: Course, ratio: float, family_count: int, count: int) -> Figure:
    """Decide `count` comparisons of one true ratio and word how that went."""
    rng = Random(f"power {name} {ratio} {family_count}")  # noqa: S311 - a simulation, no secret
    rule = rule_for(family_count, margin_ratio=0.03, most_pairs=MOST_PAIRS)
    found = [s for _ in range(count) for s in family(rng, course, rule, [ratio])]
    right = sum(s.right for s in found) / count
    what = f"{ratio:.3f}" if ratio != 1 else "1 (equivalent within 3%)"
    return Figure(
        name=f"{name}: ratio {what}, one of {family_count}",
        measured=f"{right:.1%} right",
        error=f"{_pairs(found)}; wrong {sum(s.wrong for s in found) / count:.1%}",
    )


def _pairs(found: list[Simulated]) -> str:
    counts = [s.decision.pair_count for s in found]
    return f"pairs: median {median(counts):g}, 9 of 10 within {quantiles(counts, n=10)[-1]:g}"


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.power", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=400, metavar="N")
    parser.add_argument("--save", action="store_true", help="keep as bench/data/verdict-power.json")
    asked = parser.parse_args()
    figures = [
        simulate(name, course, ratio, family_count, asked.comparisons)
        for name, course in courses().items()
        for family_count in (1, FAMILY)
        for ratio in RATIOS
    ]
    if asked.save:
        rows = [{"name": f.name, "measured": f.measured, "error": f.error} for f in figures]
        save("verdict-power.json", ("bench.verdict.power", *sys.argv[1:]), {"figures": rows})
    return conclude(figures)


if __name__ == "__main__":
    sys.exit(main())
