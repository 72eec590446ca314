"""Throughput over clients: the scalability law, or why it was not fitted."""

from __future__ import annotations

import math
from statistics import median, stdev
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.diagnosis import Scaling, ScalingPoint
from groundspeed.stats.plateau import plateau_from
from groundspeed.stats.scalability import LEAST_POINT_COUNT, Load, fit_law

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from groundspeed.analyse.attempts import Settled
    from groundspeed.plan import Cell
    from groundspeed.stats.scalability import LawFit

_LEAST_SHOWN_COUNT = 2


def scalings(settled: Settled, capped: Collection[Cell] = frozenset()) -> tuple[Scaling, ...]:
    """Fit the Universal Scalability Law for each environment, workload and scale; in reading order.

    Only what was measured at two or more numbers of clients is there. A point is the median over
    the repeats of a cell, and weighs as many; where a number of clients was measured with several
    numbers of threads it is the fastest of them. Trials with a rate are left out, their throughput
    was asked for. `capped` are cells known to be held back by something that is no property of the
    server under more clients (an IOPS limit, the load tool): they are shown and not used.
    """
    groups: dict[tuple[str, str, int], dict[Cell, list[float]]] = {}
    for trial in settled.measured:
        tps, planned = trial.outcome.tps_per_s, trial.record.trial
        if planned.rate_per_s is None and math.isfinite(tps) and tps > 0:
            cell = planned.cell
            group = groups.setdefault((cell.environment, cell.workload, cell.scale), {})
            group.setdefault(cell, []).append(tps)

    def order(key: tuple[str, str, int]) -> tuple[int, int, int]:
        environment, workload, scale = key
        return (
            settled.workloads.index(workload),
            scale,
            settled.environments.index(environment),
        )

    found = []
    for key in sorted(groups, key=order):
        best = _fastest(groups[key])
        if len(best) >= _LEAST_SHOWN_COUNT:
            found.append(_scaling(key, best, capped))
    return tuple(found)


def _fastest(cells: dict[Cell, list[float]]) -> dict[Cell, list[float]]:
    """Keep one cell for each number of clients, in ascending order."""
    chosen: dict[int, Cell] = {}
    for cell in sorted(cells, key=lambda cell: (cell.clients, cell.threads)):
        other = chosen.get(cell.clients)
        if other is None or median(cells[cell]) > median(cells[other]):
            chosen[cell.clients] = cell
    return {cell: cells[cell] for cell in chosen.values()}


def _scaling(
    key: tuple[str, str, int], cells: dict[Cell, list[float]], capped: Collection[Cell]
) -> Scaling:
    loads = {
        cell: Load(clients=cell.clients, throughput=median(values), weight=len(values))
        for cell, values in cells.items()
    }
    free = {cell: load for cell, load in loads.items() if cell not in capped}
    plateau = plateau_from(tuple(free.values()), _noise_ratio(tuple(cells.values())))
    used = {c for c, load in free.items() if plateau is None or load.clients < plateau}
    enough = len(used) >= LEAST_POINT_COUNT
    fit = fit_law([loads[cell] for cell in used], CONFIDENCE_RATIO) if enough else None
    scaling = Scaling(
        environment=key[0],
        workload=key[1],
        scale=key[2],
        points=tuple(
            ScalingPoint(
                clients=cell.clients,
                tps_per_s=load.throughput,
                fitted_per_s=None if fit is None else fit.law.throughput(cell.clients),
                used=cell in used,
            )
            for cell, load in loads.items()
        ),
        why="" if enough else _why(len(used), len(loads) - len(free), plateau),
    )
    return scaling if fit is None else _fitted(scaling, fit, [cell.clients for cell in used])


def _noise_ratio(repeats: Sequence[Sequence[float]]) -> float:
    """Say how far apart two medians of equal cells may be: two standard errors of a difference."""
    errors = [
        stdev(values) / median(values) / math.sqrt(len(values))
        for values in repeats
        if len(values) >= _LEAST_SHOWN_COUNT
    ]
    return 2 * math.sqrt(2) * median(errors) if errors else 0.0


def _why(used: int, capped: int, plateau: float | None) -> str:
    reasons = []
    if capped:
        reasons.append(f"{capped} at a cap")
    if plateau is not None:
        reasons.append(f"a plateau from {plateau:.0f} clients on")
    left = f" ({', '.join(reasons)})" if reasons else ""
    numbers = "1 number" if used == 1 else f"{used} numbers"
    return f"{numbers} of clients to fit to{left}, it takes {LEAST_POINT_COUNT}"


def _fitted(scaling: Scaling, fit: LawFit, clients: Sequence[int]) -> Scaling:
    """Add the fit; knee and peak only where there are measurements on both sides."""

    def measured(place: float) -> float | None:
        return place if min(clients) <= place <= max(clients) else None

    return msgspec.structs.replace(
        scaling,
        lambda_per_s=fit.law.lambda_,
        sigma_ratio=fit.law.sigma,
        sigma_low=fit.sigma_low,
        sigma_high=fit.sigma_high,
        kappa_ratio=fit.law.kappa,
        kappa_low=fit.kappa_low,
        kappa_high=fit.kappa_high,
        residual_ratio=fit.residual_ratio,
        knee_clients=measured(fit.law.knee_clients),
        peak_clients=measured(fit.law.peak_clients),
    )
