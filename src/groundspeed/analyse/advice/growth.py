"""Where throughput stops growing with the number of clients, and what holds it there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse.advice.shapes import Advised, Topic
from groundspeed.analyse.advice.wording import Names, bottlenecks, percent
from groundspeed.analyse.diagnosis import CellKey
from groundspeed.analyse.digits import digits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.diagnosis import CellDiagnosis, Scaling, ScalingPoint
    from groundspeed.analyse.findings import CellSummary, Findings
    from groundspeed.plan import Words

_LEAST_POINT_COUNT = 3
_NEARLY_MOST_RATIO = 0.95


def growth(findings: Findings) -> Iterator[Advised]:
    """Give a sentence for each environment and workload with three numbers of clients or more."""
    names = Names(findings)
    for scaling in findings.scalings:
        points = sorted(
            (p for p in scaling.points if math.isfinite(p.tps_per_s)), key=lambda p: p.clients
        )
        if len(points) < _LEAST_POINT_COUNT:
            continue
        where = f"{scaling.workload} on {names.label(scaling.environment)}"
        stop, text = _stop(scaling, points)
        most = _cell(findings, scaling, max(points, key=lambda p: p.tps_per_s).clients)
        parts = [text, *_most(most, findings.words)]
        held = bottlenecks(_beyond(findings, scaling, stop))
        if held:
            parts.append(f"held back from there on: {held}")
        yield Advised(
            topic=Topic.GROWTH,
            sentence=f"{where}: {'; '.join(parts)}.",
            cells=tuple(_key(scaling, p.clients, findings) for p in points if p.clients >= stop),
        )


def _stop(scaling: Scaling, points: list[ScalingPoint]) -> tuple[float, str]:
    """Say from how many clients on it grows no more: by the law, or as measured."""
    first, last = points[0].clients, points[-1].clients
    knee, peak = scaling.knee_clients, scaling.peak_clients
    if scaling.lambda_per_s is not None and knee is not None and first <= knee <= last:
        turns = "" if peak is None else f" and turns down beyond about {max(1, round(peak))}"
        sure = ""
        if scaling.sigma_low is not None and scaling.sigma_high is not None:
            share = percent(scaling.sigma_ratio or 0.0)
            ends = f"{percent(scaling.sigma_low)} to {percent(scaling.sigma_high)}"
            sure = f" (contention {share}, 95% {ends})"
        return knee, f"stops growing at about {max(1, round(knee))} clients{turns}{sure}"
    most = max(points, key=lambda p: p.tps_per_s)
    near = next(p for p in points if p.tps_per_s >= _NEARLY_MOST_RATIO * most.tps_per_s)
    if near.clients == last:
        return last, f"still grows at {last} clients, the most that were measured"
    why = f" ({scaling.why})" if scaling.why else ""
    return near.clients, f"grows no more beyond {near.clients} clients{why}"


def _most(cell: CellSummary | None, words: Words) -> Iterator[str]:
    if cell is None:
        return
    tps = cell.tps_per_s
    sure = (
        f"n={tps.n}, range {digits(tps.minimum)} to {digits(tps.maximum)}"
        if tps.low is None or tps.high is None
        else f"95% {digits(tps.low)} to {digits(tps.high)}"
    )
    clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
    yield f"the most is {digits(tps.median)} {words.rate} at {clients} ({sure})"


def _cell(findings: Findings, scaling: Scaling, clients: int) -> CellSummary | None:
    """Find the fastest cell with this number of clients; it is the one that the law is of."""
    cells = [
        c
        for c in findings.cells
        if (c.environment, c.workload, c.scale, c.clients)
        == (scaling.environment, scaling.workload, scaling.scale, clients)
    ]
    return max(cells, key=lambda c: c.tps_per_s.median, default=None)


def _beyond(findings: Findings, scaling: Scaling, stop: float) -> list[CellDiagnosis]:
    return [
        d
        for d in findings.diagnoses
        if (d.environment, d.workload, d.scale)
        == (scaling.environment, scaling.workload, scaling.scale)
        and d.clients >= stop
    ]


def _key(scaling: Scaling, clients: int, findings: Findings) -> CellKey:
    cell = _cell(findings, scaling, clients)
    return CellKey(
        environment=scaling.environment,
        workload=scaling.workload,
        clients=clients,
        threads=1 if cell is None else cell.threads,
        scale=scaling.scale,
    )
