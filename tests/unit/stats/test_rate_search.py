"""The search for the highest rate: its ladder, its bets and where it looks."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from groundspeed.stats.rate_search import Bracket, RateSearch, ladder, rung_of

STEP = 0.05
RUNGS = 40


def searched(true_rung: int, slices: int = 60) -> tuple[RateSearch, list[int]]:
    """Search where all slices below a rung hold and all others break."""
    search, rungs = RateSearch(RUNGS, STEP), []
    for _ in range(slices):
        rung = search.next_rung(0.05)
        search.see(rung, holds=rung < true_rung)
        rungs.append(rung)
    return search, rungs


def test_a_ladder_reaches_from_a_fiftieth_to_beyond_the_closed_loop() -> None:
    rates = ladder(1000.0, STEP)
    assert rates[0] == 20.0
    assert rates[-2] < 2000.0 <= rates[-1] * 1.0001
    assert all(1.045 < b / a < 1.055 for a, b in pairwise(rates))
    assert all(float(f"{rate:.4g}") == rate for rate in rates)


@pytest.mark.parametrize("asked", [(0.0, 0.05), (math.nan, 0.05), (100.0, 0.0)])
def test_a_ladder_needs_a_throughput_and_a_step(asked: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="above zero"):
        ladder(*asked)


def test_the_rung_of_a_rate_is_found_again() -> None:
    rates = ladder(1234.5, STEP)
    assert [rung_of(rate, rates) for rate in rates] == list(range(len(rates)))


@pytest.mark.parametrize("true_rung", [1, 7, 20, 33, 39])
def test_slices_that_all_agree_find_their_rung(true_rung: int) -> None:
    search, _ = searched(true_rung)
    assert search.bracket(0.05) == Bracket(true_rung - 1, true_rung)
    assert search.middle() == Bracket(true_rung - 1, true_rung)


def test_nothing_holds_and_everything_holds() -> None:
    assert searched(0)[0].bracket(0.05) == Bracket(None, 0)
    assert searched(RUNGS)[0].bracket(0.05) == Bracket(RUNGS - 1, None)


def test_nothing_is_said_before_it_can_be_sure() -> None:
    search = RateSearch(RUNGS, STEP)
    assert search.bracket(0.05) == Bracket(None, None)
    # Fair money at even odds doubles at best: four slices cannot refuse anything at 5%.
    for _ in range(4):
        search.see(20, holds=False)
    assert search.bracket(0.05) == Bracket(None, None)


def test_a_stake_is_what_the_forecasts_say() -> None:
    """The stake against a C above the rung doubles by the share that was foretold to break."""
    search, stake = RateSearch(RUNGS, STEP), 1.0
    while search.bracket(0.05) == Bracket(None, None):
        foretold = search.breaking_ratio(30)
        stake *= 2 * foretold if foretold > 0.5 else 1.0
        search.see(30, holds=False)
    assert stake >= 20
    assert search.bracket(0.05) == Bracket(None, 30)
    assert search.bracket(1 / (stake * 1.01)) == Bracket(None, None)


def test_a_bet_is_fair_at_even_odds() -> None:
    """Whatever was seen, the stakes for both endings of a slice are the old stake on average."""
    for before in ((), (True, False, False), (False,) * 5):
        one, other = RateSearch(RUNGS, STEP), RateSearch(RUNGS, STEP)
        for holds in before:
            one.see(12, holds=holds)
            other.see(12, holds=holds)
        old = [math.exp(log) for log in one._stake_log]
        one.see(15, holds=True)
        other.see(15, holds=False)
        for stake, a, b in zip(old, one._stake_log, other._stake_log, strict=True):
            assert (math.exp(a) + math.exp(b)) / 2 == pytest.approx(stake)


def test_first_it_halves_and_then_it_stays_near_both_ends() -> None:
    _, rungs = searched(13)
    assert len(set(rungs[:6])) >= 4
    assert all(abs(rung - 12.5) <= 3 for rung in rungs[20:])


def test_more_confidence_never_makes_an_interval_narrower() -> None:
    search = RateSearch(RUNGS, STEP)
    for index in range(40):
        rung = search.next_rung(0.05)
        search.see(rung, holds=rung < 20 or (index % 5 == 0 and rung < 23))
    widths = []
    for error in (0.2, 0.05, 0.01, 0.001):
        found = search.bracket(error)
        assert found is not None
        low = -1 if found.low is None else found.low
        widths.append((RUNGS if found.high is None else found.high) - low)
    assert widths == sorted(widths)


def test_slices_that_turn_around_take_the_claim_back() -> None:
    """As when a neighbour makes a low rate break for long, and then goes away."""
    search = RateSearch(RUNGS, STEP)
    for _ in range(20):
        search.see(10, holds=False)
    assert search.bracket(0.05) == Bracket(None, 10)
    for _ in range(10):
        search.see(20, holds=True)
    assert search.bracket(0.05) == Bracket(None, None)
    for _ in range(60):
        search.see(20, holds=True)
    assert search.bracket(0.05) == Bracket(20, None)
