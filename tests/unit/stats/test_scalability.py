from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from scipy.optimize import curve_fit

from groundspeed.stats.scalability import Law, Load, fit_law

# SPEC SDM91 on a Sun SPARCcenter 2000: Gunther, Guerrilla Capacity Planning, and the data set
# `specsdm91` of the R package usl 3.0.3.
SPEC_SDM91 = (
    (1, 64.9),
    (18, 995.9),
    (36, 1652.4),
    (72, 1853.2),
    (108, 1828.9),
    (144, 1775.0),
    (216, 1702.2),
)
# Every fourth point would do; these are all of Schwartz, Practical Scalability Analysis with the
# Universal Scalability Law, 2015, as the tests of the Rust crate usl 0.3.0 have them.
SCHWARTZ_PER_S = (
    *(955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08),
    *(7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24),
    *(10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806.0, 12089.37),
    *(12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39),
)


def absolute(points: list[tuple[int, float]]) -> list[Load]:
    """Weigh points so that squares of logarithms become those of throughput itself, nearly."""
    return [Load(clients=n, throughput=x, weight=x * x) for n, x in points]


def test_published_coefficients_of_spec_sdm91() -> None:
    # usl 3.0.3, README: alpha 0.0277285, beta 0.0001044, gamma 89.9952, peak at load 96.52; it
    # fits throughput and not its logarithm, so a few percent remain.
    law = fit_law(absolute(list(SPEC_SDM91))).law

    assert law.sigma == pytest.approx(0.0277285, rel=0.05)
    assert law.kappa == pytest.approx(0.0001044, rel=0.02)
    assert law.lambda_ == pytest.approx(89.9952, rel=0.03)
    assert law.peak_clients == pytest.approx(96.52, rel=0.01)


def test_published_coefficients_of_schwartz() -> None:
    # The book: sigma 0.02671591, kappa 7.690945e-4, lambda 995.6486.
    law = fit_law(absolute(list(enumerate(SCHWARTZ_PER_S, start=1)))).law

    assert law.sigma == pytest.approx(0.02671591, rel=0.01)
    assert law.kappa == pytest.approx(7.690945e-4, rel=0.01)
    assert law.lambda_ == pytest.approx(995.6486, rel=0.01)


def by_scipy(loads: list[Load]) -> tuple[float, float, float]:
    """Give sigma, kappa and the sum of squares; the best of several starts."""
    n = np.array([load.clients for load in loads], float)
    logs = np.log([load.throughput for load in loads])

    def law(n: np.ndarray, level: float, sigma: float, kappa: float) -> np.ndarray:
        return level + np.log(n) - np.log(1 + sigma * (n - 1) + kappa * n * (n - 1))

    found = []
    for start in ((0.01, 1e-6), (0.01, 1e-3), (0.3, 1e-6), (0.3, 1e-3), (0.95, 1e-4)):
        fit, _ = curve_fit(
            law,
            n,
            logs,
            p0=[logs[0] - math.log(n[0]), *start],
            bounds=([-np.inf, 0, 0], [np.inf, 1, np.inf]),
            x_scale=[1, 0.1, 1e-4],
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
            max_nfev=20_000,
        )
        found.append((float(((law(n, *fit) - logs) ** 2).sum()), float(fit[1]), float(fit[2])))
    squares, sigma, kappa = min(found)
    return sigma, kappa, squares


@pytest.mark.parametrize("seed", range(12))
def test_the_fit_is_as_good_as_that_of_scipy(seed: int) -> None:
    rng = Random(seed)
    law = Law(
        lambda_=1000,
        sigma=rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0.5, 1)]),
        kappa=rng.choice([0.0, 10 ** rng.uniform(-5, -2)]),
    )
    loads = [
        Load(clients=n, throughput=law.throughput(n) * math.exp(rng.gauss(0, 0.05)))
        for n in (1, 2, 4, 8, 16, 32, 64, 128)[: rng.randint(4, 8)]
    ]
    fit = fit_law(loads)
    sigma, kappa, squares = by_scipy(loads)

    assert fit.residual_ratio**2 * len(loads) <= squares * (1 + 1e-6) + 1e-12
    assert fit.law.sigma == pytest.approx(sigma, abs=1e-5)
    assert fit.law.kappa == pytest.approx(kappa, abs=1e-6)


def test_intervals_are_those_of_the_linearised_law() -> None:
    # sqrt(diag) of scipy's covariance for these points, and t for four degrees of freedom.
    fit = fit_law([Load(clients=n, throughput=x) for n, x in SPEC_SDM91])

    assert fit.sigma_high - fit.law.sigma == pytest.approx(2.776445 * 4.04222e-3, rel=1e-3)
    assert fit.kappa_high - fit.law.kappa == pytest.approx(2.776445 * 2.16219e-5, rel=1e-3)


def test_what_follows_the_law_gives_it_back() -> None:
    law = Law(lambda_=120.0, sigma=0.03, kappa=0.0004)
    fit = fit_law([Load(clients=n, throughput=law.throughput(n)) for n in (1, 4, 16, 64, 100)])

    assert fit.law.sigma == pytest.approx(0.03)
    assert fit.law.kappa == pytest.approx(0.0004)
    assert fit.law.lambda_ == pytest.approx(120)
    assert fit.residual_ratio == pytest.approx(0, abs=1e-9)


def test_repeats_weigh() -> None:
    points = [(1, 100.0), (4, 380.0), (16, 1200.0), (64, 1900.0), (128, 2600.0)]
    once = fit_law([Load(clients=n, throughput=x) for n, x in points]).law
    heavy = fit_law(
        [Load(clients=n, throughput=x, weight=99 if n == 128 else 1) for n, x in points]
    )

    missed = abs(math.log(2600 / once.throughput(128)))
    assert abs(math.log(2600 / heavy.law.throughput(128))) < missed / 5


@pytest.mark.parametrize(
    ("sigma", "kappa"), [(0.05, 0.0005), (0.0, 0.001), (0.1, 0.0), (0.9, 0.0001), (0.5, 0.2)]
)
def test_the_knee_is_at_nine_tenths_of_the_peak(sigma: float, kappa: float) -> None:
    law = Law(lambda_=50.0, sigma=sigma, kappa=kappa)
    top = law.throughput(law.peak_clients) if kappa else 50 / sigma

    assert law.throughput(law.knee_clients) == pytest.approx(0.9 * top)
    assert law.knee_clients <= law.peak_clients
    if kappa:
        assert law.throughput(law.peak_clients * 1.01) < top
        assert law.throughput(law.peak_clients / 1.01) < top


def test_a_line_has_neither_knee_nor_peak() -> None:
    law = Law(lambda_=50.0, sigma=0.0, kappa=0.0)

    assert (law.knee_clients, law.peak_clients) == (math.inf, math.inf)


def test_what_only_falls_is_fitted_at_its_bound() -> None:
    fit = fit_law([Load(clients=n, throughput=100 / n) for n in (1, 2, 4, 8)])

    assert 0 <= fit.law.sigma < 1
    assert fit.law.throughput(8) < fit.law.throughput(1)


@pytest.mark.parametrize(
    "points",
    [
        [(1, 10.0), (2, 19.0), (4, 36.0)],
        [(1, 10.0), (2, 19.0), (4, 36.0), (4, 35.0)],
        [(0.5, 10.0), (2, 19.0), (4, 36.0), (8, 50.0)],
        [(1, 0.0), (2, 19.0), (4, 36.0), (8, 50.0)],
        [(1, math.nan), (2, 19.0), (4, 36.0), (8, 50.0)],
    ],
)
def test_what_cannot_be_fitted_is_refused(points: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="needs"):
        fit_law([Load(clients=n, throughput=x) for n, x in points])
