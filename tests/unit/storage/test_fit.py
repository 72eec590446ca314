from __future__ import annotations

import math
from random import Random
from statistics import NormalDist

import pytest

from groundspeed.storage import catalogue, encode
from groundspeed.storage.distribution import table_s
from groundspeed.storage.fit import (
    QUANTILE_RATIOS,
    DepthPoint,
    Measured,
    fit,
    fit_flush,
    fit_parallel,
)
from groundspeed.storage.profile import Counted, Direction, Latency, Limit, Standing

DEPTHS = (1, 2, 4, 8, 16, 32)


def points(servers: float, *, base_s: float = 1e-4) -> tuple[DepthPoint, ...]:
    means = [(d, base_s * max(1.0, d / servers)) for d in DEPTHS]
    return tuple(DepthPoint(depth_count=d, rate_per_s=d / m, mean_s=m) for d, m in means)


def log_normal(median_s: float, sigma: float) -> tuple[tuple[float, float], ...]:
    score = NormalDist().inv_cdf
    return tuple((r, median_s * math.exp(sigma * score(r))) for r in QUANTILE_RATIOS)


def measured(**changes: object) -> Measured:
    known: dict[str, object] = {
        "name": "a",
        "about": "A disk.",
        "date": "2026-01-31",
        "how": "fio 3.33",
        "read": log_normal(1e-4, 0.3),
        "write": log_normal(5e-5, 0.3),
        "write_and_sync": log_normal(1e-3, 0.3),
        "reads": points(8),
        "writes": points(5),
        "limits": (),
        **changes,
    }
    return Measured(**known)  # type: ignore[arg-type]


@pytest.mark.parametrize("servers", [1, 3, 6.5, 16, 24])
def test_the_number_of_servers_is_found(servers: float) -> None:
    found = fit_parallel(points(servers))
    assert found.reached
    assert found.servers_count == pytest.approx(servers, rel=0.02)
    assert found.residual_ratio < 0.01


def test_what_a_cap_explains_needs_no_queue() -> None:
    capped = tuple(
        DepthPoint(depth_count=d, rate_per_s=min(d * 1e4, 3e4), mean_s=max(1e-4, d / 3e4))
        for d in DEPTHS
    )
    assert fit_parallel(capped).servers_count == pytest.approx(3, rel=0.02)
    hidden = fit_parallel(capped, 3e4)
    assert (hidden.servers_count, hidden.reached) == (32, False)
    # A queue of its own, below the cap, is still seen.
    assert fit_parallel(points(8), 2e5).servers_count == pytest.approx(8, rel=0.1)


def test_latency_that_does_not_rise_claims_no_number() -> None:
    found = fit_parallel(points(100))
    assert not found.reached
    assert found.servers_count == 32


def test_what_does_not_fit_shows_in_the_residual() -> None:
    bent = tuple(DepthPoint(depth_count=d, rate_per_s=d**0.5, mean_s=1e-4 * d**0.5) for d in DEPTHS)
    assert fit_parallel(bent).residual_ratio > 0.2
    with pytest.raises(ValueError, match="two depths"):
        fit_parallel(bent[:1])


@pytest.mark.parametrize(
    ("write", "total"),
    [
        (log_normal(5e-5, 0.3), log_normal(1e-3, 0.2)),
        (log_normal(1e-4, 0.5), log_normal(2.2e-4, 0.4)),
        (log_normal(1e-4, 0.2), log_normal(1.6e-3, 0.9)),
    ],
)
def test_a_write_and_its_flush_together_take_what_was_measured(
    write: tuple[tuple[float, float], ...], total: tuple[tuple[float, float], ...]
) -> None:
    found = fit_flush(write, total)
    assert found.residual_ratio < 0.08
    # As the emulator does: independent draws from the tables of both.
    rng = Random(1)
    writes = table_s(Latency(median_s=1, p99_s=1, quantiles=found.write))
    flushes = table_s(Latency(median_s=1, p99_s=1, quantiles=found.sync))
    sums = sorted(rng.choice(writes) + rng.choice(flushes) for _ in range(40_000))
    for ratio, wanted in total:
        if 0.05 <= ratio <= 0.99:
            # The furthest quantiles of a sum rest on few of its parts'.
            near = 0.12 if ratio <= 0.95 else 0.2
            assert sums[int(ratio * len(sums))] == pytest.approx(wanted, rel=near)
    assert sums[20_000] == pytest.approx(dict(total)[0.5], rel=0.05)


def test_a_flush_takes_no_less_than_nothing() -> None:
    found = fit_flush(log_normal(1e-3, 0.3), log_normal(4e-4, 0.3))
    assert all(sync_s > 0 for _, sync_s in found.sync)
    assert dict(found.write)[0.5] == pytest.approx(4e-4)
    assert found.residual_ratio < 0.05


def test_a_profile_reads_back_as_it_was_written() -> None:
    limit = Limit(of=Counted.REQUESTS, on=Direction.BOTH, rate_per_s=3000.0, credits_count=5.4e6)
    profile = fit(measured(limits=((limit, "equal at depths 16 and 32"),))).profile
    read = catalogue.parse(encode.encode_yaml(profile), source="a.yaml")
    assert read == profile
    assert profile.device.parallel_count >= 8


def test_a_flush_that_costs_nothing_can_be_written() -> None:
    profile = fit(measured(write=log_normal(1e-3, 0.3))).profile
    assert all(time_s > 0 for _, time_s in profile.device.sync.quantiles)
    assert catalogue.parse(encode.encode_yaml(profile), source="a.yaml") == profile


def test_every_figure_says_how_it_is_known() -> None:
    profile = fit(measured()).profile
    standings = {figure.what: figure.standing for figure in profile.figures}
    assert standings["device.read"] is Standing.MEASURED
    assert standings["device.sync"] is Standing.FITTED
    assert standings["request_bytes"] is Standing.ASSUMED
    assert standings["readahead_bytes"] is Standing.ASSUMED
    told = fit(measured(readahead_bytes=4096)).profile
    assert {f.what: f.standing for f in told.figures}["readahead_bytes"] is Standing.MEASURED


def test_a_burst_was_served_at_once() -> None:
    fast = fit(measured(reads=points(2), writes=points(2), burst_rate_per_s=120_000.0))
    assert fast.profile.device.parallel_count == 12
