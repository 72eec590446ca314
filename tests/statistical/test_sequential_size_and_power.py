"""Size, power and coverage of comparisons that stop when decided, on simulated machines."""

from __future__ import annotations

import math
from random import Random

import pytest

from bench.verdict.noise import MODELS, courses, draw_pairs
from bench.verdict.simulate import Simulated, family
from groundspeed.analyse.decisions import ComparisonKey, decide, rule_for
from groundspeed.analyse.findings import Answer

COMPARISONS = 400
MOST_PAIRS = 52


def simulate(
    course: str, ratio: float, seed: str, *, count: int = COMPARISONS, most_pairs: int = MOST_PAIRS
) -> list[Simulated]:
    rng = Random(f"{seed} {course} {ratio}")
    rule = rule_for(1, margin_ratio=0.03, most_pairs=most_pairs)
    return [s for _ in range(count) for s in family(rng, courses()[course], rule, [ratio])]


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


def test_noise_was_recorded() -> None:
    assert {"recorded select-only", "recorded simple-update"} <= set(courses())


@pytest.mark.parametrize("course", courses())
def test_a_thing_does_not_differ_from_itself(course: str) -> None:
    found = simulate(course, 1.0, "size")

    assert share([s.wrong for s in found]) <= 0.05
    assert share([s.covered for s in found]) >= 0.94


@pytest.mark.parametrize("course", ["AR(1)", "steps"])
def test_testing_after_every_pair_would_find_differences_that_are_none(course: str) -> None:
    found = simulate(course, 1.0, "naive", count=200)

    assert share([s.naive_different for s in found]) > 0.15


@pytest.mark.parametrize("course", courses())
@pytest.mark.parametrize("ratio", [1.03, 1 / 1.03])
def test_what_differs_by_the_margin_is_not_called_equivalent(course: str, ratio: float) -> None:
    found = simulate(course, ratio, "margin", count=200)

    assert share([s.wrong for s in found]) <= 0.05
    assert share([s.covered for s in found]) >= 0.93


@pytest.mark.parametrize("course", [name for name in courses() if name not in MODELS])
@pytest.mark.parametrize("ratio", [1.1, 1 / 1.1])
def test_a_difference_of_a_tenth_is_found_on_recorded_noise(course: str, ratio: float) -> None:
    # A machine that others use: within 52 pairs only half of them are found.
    found = simulate(course, ratio, "power", count=100, most_pairs=120)

    assert share([s.right for s in found]) >= 0.9


# Families: any wrong answer at all, over environments that share one baseline


def shared_baseline(rng: Random, ratios: list[float], count: int) -> dict[ComparisonKey, list]:
    """Draw pairs of several environments with one baseline in each block: they depend."""
    logs = [[rng.gauss(0, 0.04) for _ in range(count)] for _ in range(len(ratios) + 1)]
    return {
        ComparisonKey(
            workload="w", clients=1, threads=1, scale=1, baseline="a", environment=str(index)
        ): [(ratio * math.exp(a), math.exp(b)) for a, b in zip(own, logs[-1], strict=True)]
        for index, (ratio, own) in enumerate(zip(ratios, logs[:-1], strict=True))
    }


def is_wrong(answer: Answer, ratio: float, margin_ratio: float = 0.03) -> bool:
    within = abs(math.log(ratio)) < math.log1p(margin_ratio)
    return (
        (answer is Answer.FASTER and ratio <= 1)
        or (answer is Answer.SLOWER and ratio >= 1)
        or (answer is Answer.EQUIVALENT and not within)
    )


@pytest.mark.parametrize(
    "ratios",
    [
        [1.0] * 6,
        # Those that differ make the steps of the others longer.
        [1.5] * 5 + [1.0],
        [1.03] * 4 + [1.0] * 2,
        [1.3, 1.3, 1.001, 0.999, 1 / 1.03, 1.0],
    ],
)
def test_any_wrong_answer_of_a_family_is_rare(ratios: list[float]) -> None:
    rng = Random(f"family {ratios}")
    rule = rule_for(len(ratios), margin_ratio=0.03, most_pairs=60)
    wrong = 0
    for _ in range(300):
        found = decide(shared_baseline(rng, ratios, 60), rule)
        wrong += any(is_wrong(d.answer, r) for d, r in zip(found, ratios, strict=True))

    assert wrong / 300 <= 0.05


def test_the_order_in_a_block_decides_what_drift_becomes() -> None:
    # A machine that slows down a lot: without the shuffle the first half would always win.
    rng = Random(5)
    pairs = draw_pairs(rng, MODELS["slowing down"], 200)
    ahead = sum(a > b for a, b in pairs)

    assert 70 <= ahead <= 130
