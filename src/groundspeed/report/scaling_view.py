"""Throughput over clients: the fitted law as a curve, and what it comes to in a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse import digits
from groundspeed.report.evidence_shapes import ScalingFigure
from groundspeed.report.evidence_words import format_share
from groundspeed.report.facts import label_of

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.diagnosis import Scaling

_CURVE_POINT_COUNT = 48
_LEAST_POINT_COUNT = 3


def scaling_figures(findings: Findings) -> tuple[ScalingFigure, ...]:
    """Give a figure for each environment and workload with three numbers of clients or more.

    Two are a line whatever they are; that they are too few for a law needs no saying.
    """
    scale_varies = len({s.scale for s in findings.scalings}) > 1
    workloads = list(dict.fromkeys(s.workload for s in findings.scalings))
    return tuple(
        msgspec.structs.replace(
            _figure(
                scaling, label_of(scaling.environment, findings.emulated), scale_varies=scale_varies
            ),
            unit=findings.words.per_s,
        )
        for scaling in sorted(findings.scalings, key=lambda s: workloads.index(s.workload))
        if len(scaling.points) >= _LEAST_POINT_COUNT
    )


def _figure(scaling: Scaling, label: str, *, scale_varies: bool) -> ScalingFigure:
    scale = f", scale {scaling.scale:,}" if scale_varies else ""
    clients = [p.clients for p in scaling.points]
    return ScalingFigure(
        environment=scaling.environment,
        label=label,
        workload=scaling.workload,
        title=f"{scaling.workload}{scale}: {label}",
        sentence=scaling_sentence(scaling),
        points=tuple(
            (p.clients, p.tps_per_s, p.used)
            for p in sorted(scaling.points, key=lambda p: p.clients)
            if math.isfinite(p.tps_per_s)
        ),
        curve=_curve(scaling, min(clients), max(clients)),
        knee_clients=_within(scaling.knee_clients, min(clients), max(clients)),
        peak_clients=_within(scaling.peak_clients, min(clients), max(clients)),
    )


def _within(value: float | None, low: float, high: float) -> float | None:
    return value if value is not None and low <= value <= high else None


def _curve(scaling: Scaling, low: float, high: float) -> tuple[tuple[float, float], ...]:
    """Follow the law between two numbers of clients, in even steps of a log axis."""
    s = scaling
    if s.lambda_per_s is None or s.sigma_ratio is None or s.kappa_ratio is None or low >= high:
        return ()
    step = math.log(high / low) / (_CURVE_POINT_COUNT - 1)
    counts = [low * math.exp(step * i) for i in range(_CURVE_POINT_COUNT)]
    return tuple(
        (n, s.lambda_per_s * n / (1 + s.sigma_ratio * (n - 1) + s.kappa_ratio * n * (n - 1)))
        for n in counts
    )


def scaling_sentence(scaling: Scaling) -> str:
    """Say where throughput bends and where it turns down, or why nothing was fitted."""
    s = scaling
    if s.lambda_per_s is None or s.sigma_ratio is None or s.kappa_ratio is None:
        return f"No scaling law fitted: {s.why}." if s.why else "No scaling law fitted."
    bends = "" if s.knee_clients is None else f"{_people(s.knee_clients)} reach 90% of the peak"
    turns = (
        "throughput does not turn down in the measured range"
        if s.peak_clients is None
        else f"throughput turns down beyond {_people(s.peak_clients)}"
    )
    fit = (
        f"fit: {digits(s.lambda_per_s)}/s with one client, "
        f"contention {format_share(s.sigma_ratio)}{_span(s.sigma_low, s.sigma_high)}, "
        f"crosstalk {format_share(s.kappa_ratio)}{_span(s.kappa_low, s.kappa_high)}"
    )
    if s.residual_ratio is not None:
        fit += f", off by {format_share(s.residual_ratio)}"
    text = "; ".join(part for part in (bends, turns, fit) if part)
    return f"{text[0].upper()}{text[1:]}."


def _people(clients: float) -> str:
    # A fit tells no tenths of a client.
    count = max(1, round(clients))
    return "about 1 client" if count == 1 else f"about {count:,} clients"


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f" [{format_share(low)}, {format_share(high)}]"
