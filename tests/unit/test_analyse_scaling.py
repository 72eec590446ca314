from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.scaling import scalings
from groundspeed.stats.scalability import Law
from tests.examples import make_measured, make_record, make_run, make_trial

if TYPE_CHECKING:
    from groundspeed.analyse.diagnosis import Scaling
    from groundspeed.plan import Cell

CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)
LAW = Law(lambda_=800.0, sigma=0.04, kappa=0.0004)


def of(
    tps: dict[int, float],
    *,
    repeats: int = 5,
    capped: frozenset[Cell] = frozenset(),
    rate_per_s: float | None = None,
) -> tuple[Scaling, ...]:
    rng = Random(1)
    records = [
        make_record(
            make_trial(clients=clients, repeat_index=repeat, rate_per_s=rate_per_s),
            make_measured(value * rng.gauss(1, 0.01)),
        )
        for repeat in range(repeats)
        for clients, value in tps.items()
    ]
    return scalings(settle([make_run(records)]), capped)


def test_the_law_is_fitted_with_intervals_knee_and_peak() -> None:
    [found] = of({n: LAW.throughput(n) for n in CLIENTS})

    assert (found.environment, found.workload, found.scale) == ("a", "tpcb-like", 10)
    assert found.lambda_per_s == pytest.approx(800, rel=0.05)
    assert found.sigma_low is not None
    assert found.sigma_high is not None
    assert found.sigma_low <= 0.04 <= found.sigma_high
    assert found.kappa_low is not None
    assert found.kappa_high is not None
    assert found.kappa_low <= 0.0004 <= found.kappa_high
    assert found.residual_ratio is not None
    assert 0 < found.residual_ratio < 0.02
    assert found.peak_clients == pytest.approx(LAW.peak_clients, rel=0.1)
    assert found.knee_clients == pytest.approx(LAW.knee_clients, rel=0.1)
    assert found.why == ""
    assert [point.clients for point in found.points] == list(CLIENTS)
    assert all(point.used for point in found.points)
    for point in found.points:
        assert point.fitted_per_s == pytest.approx(point.tps_per_s, rel=0.05)


def test_a_peak_beyond_what_was_measured_is_not_claimed() -> None:
    [found] = of({n: LAW.throughput(n) for n in CLIENTS[:5]})

    assert found.lambda_per_s is not None
    assert found.peak_clients is None


def test_a_plateau_is_not_fitted_through() -> None:
    [found] = of({n: min(100.0 * n, 1600.0) for n in CLIENTS})

    assert [point.used for point in found.points] == [True] * 4 + [False] * 4
    assert found.lambda_per_s == pytest.approx(100, rel=0.05)
    assert found.points[-1].fitted_per_s is not None
    assert found.points[-1].fitted_per_s > 3000
    assert (found.knee_clients, found.peak_clients) == (None, None)


def test_too_little_below_a_plateau() -> None:
    [found] = of({n: min(100.0 * n, 400.0) for n in CLIENTS})

    assert found.lambda_per_s is None
    assert [point.used for point in found.points] == [True] * 2 + [False] * 6
    assert all(point.fitted_per_s is None for point in found.points)
    assert found.why == ("2 numbers of clients to fit to (a plateau from 4 clients on), it takes 4")


def test_cells_known_to_be_capped_are_shown_and_not_used() -> None:
    tps = {n: LAW.throughput(n) for n in CLIENTS}
    capped = frozenset(make_trial(clients=n).cell for n in (64, 128))
    [found] = of({**tps, 64: 4000.0, 128: 4100.0}, capped=capped)

    assert [point.used for point in found.points] == [True] * 6 + [False] * 2
    assert found.sigma_ratio == pytest.approx(0.04, abs=0.02)
    [few] = of({n: tps[n] for n in (1, 2, 4, 64, 128)}, capped=capped)
    assert few.why == "3 numbers of clients to fit to (2 at a cap), it takes 4"


@pytest.mark.parametrize(("count", "why"), [(2, "2 numbers"), (3, "3 numbers")])
def test_four_numbers_of_clients_are_needed(count: int, why: str) -> None:
    [found] = of({n: LAW.throughput(n) for n in CLIENTS[:count]})

    assert found.why.startswith(why)
    assert found.sigma_ratio is None


def test_one_number_of_clients_is_no_scaling_and_a_rate_neither() -> None:
    assert of({8: 500.0}) == ()
    assert of(dict.fromkeys(CLIENTS, 500.0), rate_per_s=500) == ()


def test_of_several_numbers_of_threads_the_fastest_counts() -> None:
    records = [
        make_record(make_trial(clients=n, threads=threads), make_measured(100.0 * n * threads))
        for n in (2, 4)
        for threads in (2, 1)
    ]
    [found] = scalings(settle([make_run(records)]))

    assert [(point.clients, point.tps_per_s) for point in found.points] == [(2, 400), (4, 800)]


def test_environments_workloads_and_scales_are_kept_apart() -> None:
    records = [
        make_record(
            make_trial(
                environment=environment,
                workload=workload,
                scale=scale,
                clients=n,
                trial_id=f"{environment}-{workload}-{scale}-{n}",
            ),
            make_measured(100.0 * n),
        )
        for environment in ("a", "b")
        for workload in ("tpcb-like", "select-only")
        for scale in (10, 20)
        for n in (1, 2)
    ]
    found = scalings(settle([make_run(records)]))

    assert len({(s.environment, s.workload, s.scale) for s in found}) == len(found) == 8
