"""The tables that the shim draws from, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from groundspeed.storage.distribution import TABLE_LENGTH, mean_s, sigma, table_s
from groundspeed.storage.profile import Latency

LATENCIES = [(0.00046, 0.0012), (0.0001, 0.0001001), (0.002, 0.05)]


@pytest.mark.parametrize(("median_s", "p99_s"), LATENCIES)
def test_tables_are_the_mid_quantiles_of_the_log_normal(median_s: float, p99_s: float) -> None:
    oracle = stats.lognorm(s=np.log(p99_s / median_s) / stats.norm.ppf(0.99), scale=median_s)
    places = (np.arange(TABLE_LENGTH) + 0.5) / TABLE_LENGTH
    table = table_s(Latency(median_s=median_s, p99_s=p99_s))
    assert np.array(table) == pytest.approx(oracle.ppf(places), rel=1e-9)


@pytest.mark.parametrize(("median_s", "p99_s"), LATENCIES)
def test_draws_from_a_table_cannot_be_told_from_the_log_normal(
    median_s: float, p99_s: float
) -> None:
    latency = Latency(median_s=median_s, p99_s=p99_s)
    table = np.array(table_s(latency))
    # As the shim draws: linear between neighbours, so the far tail is cut at 0.9995.
    at = np.random.default_rng(20260101).random(5000) * TABLE_LENGTH - 0.5
    drawn = np.interp(at, np.arange(TABLE_LENGTH), table)
    oracle = stats.lognorm(s=sigma(median_s, p99_s), scale=median_s)
    assert stats.kstest(drawn, oracle.cdf).pvalue > 0.01
    assert np.quantile(drawn, 0.5) == pytest.approx(median_s, rel=0.05)
    assert np.quantile(drawn, 0.99) == pytest.approx(p99_s, rel=0.15)


@pytest.mark.parametrize(("median_s", "p99_s"), LATENCIES)
def test_the_mean_is_that_of_the_log_normal_less_its_cut_tail(
    median_s: float, p99_s: float
) -> None:
    oracle = stats.lognorm(s=sigma(median_s, p99_s), scale=median_s)
    assert mean_s(Latency(median_s=median_s, p99_s=p99_s)) == pytest.approx(oracle.mean(), rel=0.03)


def test_a_wrong_spread_would_be_noticed() -> None:
    table = np.array(table_s(Latency(median_s=0.001, p99_s=0.004)))
    oracle = stats.lognorm(s=sigma(0.001, 0.0048), scale=0.001)
    at = np.random.default_rng(20260101).random(5000) * TABLE_LENGTH - 0.5
    drawn = np.interp(at, np.arange(TABLE_LENGTH), table)
    assert stats.kstest(drawn, oracle.cdf).pvalue < 0.01
