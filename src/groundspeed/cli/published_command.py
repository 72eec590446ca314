"""`groundspeed published`: the published results that come with groundspeed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from groundspeed import published
from groundspeed.cli.arguments import example, json_option
from groundspeed.cli.printing import print_json
from groundspeed.report.published_view import catalogue_rows, published_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.published import Publication


@click.command(
    "published",
    epilog=example("groundspeed published", "groundspeed published bare-metal-vs-aws"),
)
@click.argument(
    "name",
    required=False,
    shell_complete=lambda _ctx, _param, start: [
        name for name in published.names() if name.startswith(start)
    ],
)
@json_option
def command(name: str | None, as_json: bool) -> None:  # noqa: FBT001 - click
    """List the published results to compare with, or show one.

    They are other people's figures, kept as they were published. published:NAME:ENVIRONMENT is a
    side of groundspeed compare.
    """
    if name is None:
        _list(as_json=as_json)
        return
    publication = published.publication(name)
    if as_json:
        print_json(_document(publication))
        return
    page = published_page(publication)
    _echo(publication.title)
    width = max(len(term) for term, _ in page.about)
    for term, text in page.about:
        _echo(f"  {term:<{width}}  {text}")
    if page.rows:
        _echo("")
        _print((page.titles, *page.rows), page.numeric)


def _list(*, as_json: bool) -> None:
    publications = [published.publication(name) for name in published.names()]
    if as_json:
        print_json(
            [
                {
                    "name": each.name,
                    "source": each.reference,
                    "environments": [environment.name for environment in each.environments],
                    "pgbench_figures_count": each.cells_count,
                    "request_figures_count": len(published.request_cells(each)),
                }
                for each in publications
            ]
        )
        return
    rows = catalogue_rows(publications)
    _print(rows, len(rows[0]))


def _document(publication: Publication) -> Any:  # noqa: ANN401 - whatever JSON can hold
    whole = msgspec.to_builtins(publication)
    del whole["file"]
    cells = published.request_cells(publication)
    # A tuple with names is a list to JSON.
    spans = ("requests_per_s", "mean_s")
    return whole | {
        "request_cells": [
            msgspec.to_builtins(cell)
            | {
                name: None if span is None else span._asdict()
                for name in spans
                for span in (getattr(cell, name),)
            }
            for cell in cells
        ]
    }


def _print(rows: Sequence[Sequence[str]], numeric: int) -> None:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{text:>{width}}" if at >= numeric else f"{text:<{width}}"
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        _echo("  ".join(cells).rstrip())


def _echo(line: str) -> None:
    """Print a line; what the terminal cannot show becomes a question mark."""
    encoding = sys.stdout.encoding or "ascii"
    click.echo(line.encode(encoding, "replace").decode(encoding))
