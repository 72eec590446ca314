"""What was published of throughput, whatever it was measured with: one list, cell by cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.published.redis import Span, request_cells

if TYPE_CHECKING:
    from groundspeed.published.publication import Publication

# What a published command line tells of all its cells; letters stand for what varies.
_CLIENTS = re.compile(r"\s-c\s*(\d+)\b")


class PublishedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The throughput of one environment under one load; lowest and highest where it was a span.

    `workload` is what the publication calls it: a workload of pgbench, a command. `clients` and
    `scale` are None where it does not say.
    """

    environment: str
    workload: str
    clients: int | None
    scale: int | None
    per_s: Span


def published_figures(publication: Publication) -> tuple[PublishedFigure, ...]:
    """List the throughput of every cell of a publication, in its order."""
    typed = _CLIENTS.search(publication.tool)
    ours = [
        PublishedFigure(
            environment=environment.name,
            workload=cell.workload,
            clients=cell.clients,
            scale=environment.scale,
            per_s=Span(cell.tps_per_s, cell.tps_per_s),
        )
        for environment in publication.environments
        for cell in environment.cells
    ]
    requests = [
        PublishedFigure(
            environment=cell.environment,
            workload=cell.command,
            clients=int(typed[1]) if typed else None,
            scale=None,
            per_s=cell.requests_per_s,
        )
        for cell in request_cells(publication)
    ]
    return (*ours, *requests)
