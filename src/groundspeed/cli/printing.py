"""How the commands print: JSON alike everywhere, times for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from groundspeed.plan import Plan

_MINUTE_S = 60
_HOUR_S = 3600


def print_json(document: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Print a document to standard output, indented for people."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def minutes(span_s: float) -> str:
    """Write a span as people say it: 45 s, 12 min, 3 h 05 min."""
    if span_s < _MINUTE_S:
        return f"{span_s:.0f} s"
    if span_s < _HOUR_S:
        return f"{span_s / _MINUTE_S:.0f} min"
    hours, rest_s = divmod(round(span_s / _MINUTE_S) * _MINUTE_S, _HOUR_S)
    return f"{hours} h {rest_s // _MINUTE_S:02d} min"


def emulated_in(plan: Plan) -> frozenset[str]:
    """Name the environments of a plan whose storage is emulated."""
    return frozenset(
        environment.name
        for environment in plan.environments
        if environment.storage is not None and environment.storage.emulate is not None
    )
