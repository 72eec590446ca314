"""Throughput over clients by the Universal Scalability Law, with intervals.

X(n) = lambda n / (1 + sigma (n - 1) + kappa n (n - 1)): sigma is what has to wait its turn, kappa
what clients have to agree on with each other. Fitted to the logarithms of throughput, because its
noise is a share of it. Pure, deterministic, no array library.

Source: Gunther, Guerrilla Capacity Planning, 2007, chapters 4 and 5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.median import check_confidence
from groundspeed.stats.student import student_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

PARAMETER_COUNT = 3
# One more point than parameters: with as many, anything fits.
LEAST_POINT_COUNT = PARAMETER_COUNT + 1
# A share of 1 would be a system in which a second client adds nothing at all.
MOST_SIGMA_RATIO = 1 - 1e-9
KNEE_RATIO = 0.9
_MOST_STEP_COUNT = 200
_SMALLEST_GAIN_RATIO = 1e-13


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Throughput measured at a number of clients; `weight` is how many repeats it is of."""

    clients: float
    throughput: float
    weight: float = 1.0


class Law(msgspec.Struct, frozen=True, kw_only=True):
    """The three parameters; lambda in the unit of the throughput."""

    lambda_: float
    sigma: float
    kappa: float

    def throughput(self, clients: float) -> float:
        """Say what the law expects of this many clients; `clients` 1 or more."""
        return self.lambda_ * clients / _load(clients, self.sigma, self.kappa)

    @property
    def peak_clients(self) -> float:
        """Where throughput turns down; infinite where it never does."""
        return math.sqrt((1 - self.sigma) / self.kappa) if self.kappa > 0 else math.inf

    @property
    def knee_clients(self) -> float:
        """Where throughput reaches 90% of its peak, or of what it tends to; infinite for a line."""
        s, k = self.sigma, self.kappa
        peak = self.peak_clients
        if s + k <= 0:
            return math.inf
        # Over lambda. Below one client a law may peak that nobody can load any less.
        top = max(peak, 1.0) / _load(max(peak, 1.0), s, k) if k > 0 else 1 / s
        wanted = KNEE_RATIO * top
        # wanted (1 - s + (s - k) n + k n^2) = n, its smaller root in the form that does not cancel.
        slope = 1 - wanted * (s - k)
        root = slope * slope - 4 * wanted * wanted * k * (1 - s)
        return 2 * wanted * (1 - s) / (slope + math.sqrt(max(root, 0.0)))


class LawFit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted law, intervals of its two shares, and the root mean square residual as a ratio."""

    law: Law
    sigma_low: float
    sigma_high: float
    kappa_low: float
    kappa_high: float
    residual_ratio: float


def fit_law(loads: Sequence[Load], confidence_ratio: float = 0.95) -> LawFit:
    """Fit the law by weighted least squares of log X, with sigma in [0, 1) and kappa >= 0.

    `loads`: finite and above 0, clients 1 or more, at least four different numbers of clients. The
    intervals are those of the linearised law (delta method), with Student's t for three parameters,
    cut at the bounds; the residuals hold both noise and what the law cannot follow. Raises
    ValueError for fewer points, for values outside their range and a confidence outside its.

    Source of the intervals: Bates & Watts, Nonlinear Regression Analysis and Its Applications,
    1988, section 2.3.
    """
    check_confidence(confidence_ratio)
    if not all(
        math.isfinite(value) and value > 0
        for load in loads
        for value in (load.clients, load.throughput, load.weight)
    ) or any(load.clients < 1 for load in loads):
        raise ValueError("needs clients of 1 or more, and throughput and weights above 0")
    if len({load.clients for load in loads}) < LEAST_POINT_COUNT:
        raise ValueError(f"needs {LEAST_POINT_COUNT} or more different numbers of clients")
    found = _best(loads)
    quantile = student_quantile((1 + confidence_ratio) / 2, len(loads) - PARAMETER_COUNT)
    sigma_reach, kappa_reach = (quantile * e for e in _errors(loads, found))
    weights = sum(load.weight for load in loads)
    return LawFit(
        law=found.law,
        sigma_low=max(found.law.sigma - sigma_reach, 0.0),
        sigma_high=min(found.law.sigma + sigma_reach, 1.0),
        kappa_low=max(found.law.kappa - kappa_reach, 0.0),
        kappa_high=found.law.kappa + kappa_reach,
        residual_ratio=math.sqrt(found.squares / weights),
    )


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A law and its sum of weighted squared log residuals."""

    law: Law
    squares: float


def _load(clients: float, sigma: float, kappa: float) -> float:
    return 1 + sigma * (clients - 1) + kappa * clients * (clients - 1)


def _at(loads: Sequence[Load], sigma: float, kappa: float) -> _Found:
    """Give the best lambda for two shares: the weighted mean of what is left of log X."""
    left = [
        math.log(load.throughput / load.clients * _load(load.clients, sigma, kappa))
        for load in loads
    ]
    weights = sum(load.weight for load in loads)
    mean = sum(load.weight * value for load, value in zip(loads, left, strict=True)) / weights
    return _Found(
        law=Law(lambda_=math.exp(mean), sigma=sigma, kappa=kappa),
        squares=sum(
            load.weight * (value - mean) ** 2 for load, value in zip(loads, left, strict=True)
        ),
    )


def _best(loads: Sequence[Load]) -> _Found:
    """Find the least squares inside of the bounds: of the inside, of each edge, of the corner."""
    widest = max(load.clients for load in loads) ** 2
    starts = [
        _at(loads, sigma, kappa / widest)
        for sigma in (0.0, 0.01, 0.05, 0.2, 0.6, 0.95)
        for kappa in (0.0, 0.01, 0.1, 1.0, 10.0)
    ]
    inside = _descend(loads, min(starts, key=lambda found: found.squares), (True, True))
    law = inside.law
    edges = (
        _descend(loads, _at(loads, 0.0, law.kappa), (False, True)),
        _descend(loads, _at(loads, MOST_SIGMA_RATIO, law.kappa), (False, True)),
        _descend(loads, _at(loads, law.sigma, 0.0), (True, False)),
    )
    return min((inside, *edges, starts[0]), key=lambda found: found.squares)


def _descend(loads: Sequence[Load], start: _Found, free: tuple[bool, bool]) -> _Found:
    """Go downhill by Levenberg and Marquardt; a step past a bound ends on it."""
    found, damping = start, 1e-3
    for _ in range(_MOST_STEP_COUNT):
        step = _step(loads, found, damping, free)
        if step is None:
            break
        sigma = min(max(found.law.sigma + step[0], 0.0), MOST_SIGMA_RATIO)
        tried = _at(loads, sigma, max(found.law.kappa + step[1], 0.0))
        if tried.squares < found.squares:
            gain = found.squares - tried.squares
            found, damping = tried, damping / 10
            if gain <= _SMALLEST_GAIN_RATIO * found.squares:
                break
        elif damping > 1e12:  # noqa: PLR2004 - no step is short enough any more
            break
        else:
            damping *= 10
    return found


def _normal(loads: Sequence[Load], law: Law) -> tuple[float, float, float, float, float]:
    """Sum the normal equations of sigma and kappa, lambda taken out: ss, sk, kk, s, k."""
    weights = sum(load.weight for load in loads)
    rows = []
    for load in loads:
        n = load.clients
        all_of = _load(n, law.sigma, law.kappa)
        rows.append(((n - 1) / all_of, n * (n - 1) / all_of))
    means = [
        sum(load.weight * row[i] for load, row in zip(loads, rows, strict=True)) / weights
        for i in (0, 1)
    ]
    sums = [0.0] * 5
    for load, row in zip(loads, rows, strict=True):
        s, k = row[0] - means[0], row[1] - means[1]
        residual = math.log(load.throughput / law.throughput(load.clients))
        for place, product in enumerate((s * s, s * k, k * k, s * residual, k * residual)):
            sums[place] += load.weight * product
    return sums[0], sums[1], sums[2], sums[3], sums[4]


def _step(
    loads: Sequence[Load], found: _Found, damping: float, free: tuple[bool, bool]
) -> tuple[float, float] | None:
    ss, sk, kk, s_right, k_right = _normal(loads, found.law)
    ss, kk = ss * (1 + damping), kk * (1 + damping)
    if free == (True, False):
        return (-s_right / ss, 0.0) if ss > 0 else None
    if free == (False, True):
        return (0.0, -k_right / kk) if kk > 0 else None
    determinant = ss * kk - sk * sk
    if determinant <= 0:
        return None
    return (
        -(kk * s_right - sk * k_right) / determinant,
        -(ss * k_right - sk * s_right) / determinant,
    )


def _errors(loads: Sequence[Load], found: _Found) -> tuple[float, float]:
    """Give the standard errors of sigma and kappa."""
    ss, sk, kk, _, _ = _normal(loads, found.law)
    determinant = ss * kk - sk * sk
    if determinant <= 0:
        return math.inf, math.inf
    variance = found.squares / (len(loads) - PARAMETER_COUNT)
    return math.sqrt(variance * kk / determinant), math.sqrt(variance * ss / determinant)
