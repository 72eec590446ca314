"""How often a warm-up is cut where there is none, and how near to its end where there is one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.stats.steady import steady_from
from tests.made_seconds import seconds, show

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 300
PHIS = (0.0, 0.5, 0.7)


def ramp(rng: Random, count: int) -> tuple[list[float], int]:
    """A warm-up of up to 40% of the trial, from 20 to 70% of the level."""
    end, begin = rng.randint(count // 12, int(0.4 * count)), rng.uniform(0.2, 0.7)
    return [begin + (1 - begin) * min(1.0, at / end) for at in range(count)], end


def step_up(rng: Random, count: int) -> tuple[list[float], int]:
    end, begin = rng.randint(count // 12, int(0.4 * count)), rng.uniform(0.2, 0.7)
    return [begin if at < end else 1.0 for at in range(count)], end


def ramp_and_dip(rng: Random, count: int) -> tuple[list[float], int]:
    """After a warm-up, five seconds of a checkpoint."""
    shape, end = ramp(rng, count)
    dip = end + rng.randint(count // 10, count // 5)
    return [0.5 if dip <= at < dip + 5 else level for at, level in enumerate(shape)], end


def near(shape: Callable[[Random, int], tuple[list[float], int]], count: int, phi: float) -> float:
    """Give the share that is cut within five seconds, or a twentieth of the trial."""
    rng, hits = Random(f"{count} {phi}"), 0
    for _ in range(TRIES):
        values, end = shape(rng, count)
        found = steady_from(seconds(rng, values, phi))
        hits += found is not None and abs(found - end) <= max(5, count / 20)
    show(f"{shape.__name__}, {count} s, phi {phi}: {hits / TRIES:.3f} cut in the right place")
    return hits / TRIES


@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("count", [30, 60, 120, 300])
def test_what_is_steady_from_the_begin_is_cut_in_its_first_tenth(count: int, phi: float) -> None:
    rng = Random(f"{count} {phi}")
    found = [steady_from(seconds(rng, [1.0] * count, phi)) for _ in range(TRIES)]
    never = sum(cut is None for cut in found) / TRIES
    early = sum(cut is not None and cut <= count / 10 for cut in found) / TRIES
    show(f"steady, {count} s, phi {phi}: {early:.3f} in the first tenth, {never:.3f} never")
    assert early >= 0.95
    assert never <= (0.05 if count == 30 else 0.02)


# The bounds are what was found, less a few points. With phi = 0.7 a minute is worth about ten
# seconds, and a short or flat warm-up is lost in it.
@pytest.mark.parametrize(
    ("count", "phi", "least"),
    [
        (60, 0.0, 0.95),
        (60, 0.5, 0.9),
        (60, 0.7, 0.72),
        (120, 0.0, 0.95),
        (120, 0.5, 0.9),
        (120, 0.7, 0.85),
        (300, 0.0, 0.95),
        (300, 0.5, 0.9),
        (300, 0.7, 0.85),
    ],
)
def test_a_ramp_is_cut_at_its_end(count: int, phi: float, least: float) -> None:
    assert near(ramp, count, phi) >= least


@pytest.mark.parametrize(
    ("count", "phi", "least"),
    [(60, 0.0, 0.98), (60, 0.5, 0.95), (60, 0.7, 0.85), (300, 0.7, 0.97)],
)
def test_a_step_up_is_cut_where_it_is(count: int, phi: float, least: float) -> None:
    assert near(step_up, count, phi) >= least


@pytest.mark.parametrize(("count", "phi", "least"), [(120, 0.0, 0.9), (300, 0.5, 0.85)])
def test_a_dip_after_the_warm_up_is_no_part_of_it(count: int, phi: float, least: float) -> None:
    assert near(ramp_and_dip, count, phi) >= least


@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("count", [60, 120, 300])
def test_what_drifts_to_the_end_never_became_steady(count: int, phi: float) -> None:
    rng, hits = Random(f"{count} {phi}"), 0
    for _ in range(TRIES):
        begin = rng.uniform(0.3, 0.6)
        values = [begin + (1 - begin) * at / count for at in range(count)]
        hits += steady_from(seconds(rng, values, phi)) is None
    show(f"drift, {count} s, phi {phi}: {hits / TRIES:.3f} never steady")
    assert hits / TRIES >= (0.95 if phi < 0.7 else 0.8)
