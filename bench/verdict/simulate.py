"""Comparisons as a run that stops when it is decided would make them, on simulated machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.verdict.noise import draw_pairs
from groundspeed.analyse.decisions import ComparisonKey, Decision, decide
from groundspeed.analyse.findings import Answer
from groundspeed.stats.signed_rank import log_ratios, signed_rank_tails

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from bench.verdict.noise import Course
    from groundspeed.analyse.decisions import Pair, Rule

_FEWEST_COUNT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One comparison: where it stopped, and what testing after every pair would have said."""

    decision: Decision
    ratio: float
    margin_ratio: float
    naive_different: bool

    @property
    def right(self) -> bool:
        """Whether it is decided, and not wrong."""
        return self.decision.answer is not Answer.UNDECIDED and not self.wrong

    @property
    def wrong(self) -> bool:
        """Whether the answer is one that is not true: of the three, two may be."""
        faster, slower = self.ratio > 1, self.ratio < 1
        within = 1 / (1 + self.margin_ratio) < self.ratio < 1 + self.margin_ratio
        answer = self.decision.answer
        return (
            (answer is Answer.FASTER and not faster)
            or (answer is Answer.SLOWER and not slower)
            or (answer is Answer.EQUIVALENT and not within)
        )

    @property
    def covered(self) -> bool:
        """Whether the interval at the stop holds the true ratio."""
        low, high = self.decision.low, self.decision.high
        return low is None or high is None or low <= self.ratio <= high


def key(index: int) -> ComparisonKey:
    """Name one comparison of a family."""
    return ComparisonKey(
        workload="w", clients=index + 1, threads=1, scale=1, baseline="a", environment="b"
    )


def family(rng: Random, course: Course, rule: Rule, ratios: Sequence[float]) -> list[Simulated]:
    """Make the comparisons of one run, each on a course of its own; the decided ones drop out."""
    most = rule.looks[-1]
    drawn = {key(i): draw_pairs(rng, course, most, ratio=r) for i, r in enumerate(ratios)}
    kept: dict[ComparisonKey, int] = dict.fromkeys(drawn, most)
    decisions: tuple[Decision, ...] = ()
    for look in rule.looks:
        seen = {name: pairs[: min(look, kept[name])] for name, pairs in drawn.items()}
        decisions = decide(seen, rule)
        for decision in decisions:
            if decision.answer is not Answer.UNDECIDED:
                kept[decision.key] = min(kept[decision.key], look)
        if all(d.answer is not Answer.UNDECIDED for d in decisions):
            break
    return [
        Simulated(
            decision=d,
            ratio=r,
            margin_ratio=rule.margin_ratio,
            naive_different=naively_different(drawn[d.key]),
        )
        for d, r in zip(decisions, ratios, strict=True)
    ]


def naively_different(pairs: Sequence[Pair], error_ratio: float = 0.05) -> bool:
    """Test after every pair, each time as if it were the only one, until something is found."""
    logs = log_ratios(pairs)
    return any(
        signed_rank_tails(logs[:count]).two_sided <= error_ratio
        for count in range(_FEWEST_COUNT, len(logs) + 1)
    )
