"""Benchmarks that others published: their tables as figures, each with its source.

A publication is a JSON file of the shape that docs/import.md shows. Some come with groundspeed, as
packaged files beside this module: facts alone, with title, author and date of where they are from.
This room reads them and changes no figure; what it calls unknown, the publication does not say.

The audit reads such files as well, as tables of text in whose digits it looks for mistakes. Here
they are numbers with units, and lists of low and high that its tables leave out.
"""

from groundspeed.published.catalogue import content, names, publication
from groundspeed.published.figures import PublishedFigure, published_figures
from groundspeed.published.publication import (
    Publication,
    PublishedCell,
    PublishedEnvironment,
    parse,
)
from groundspeed.published.redis import Persistence, RequestCell, Span, request_cells

__all__ = [
    "Persistence",
    "Publication",
    "PublishedCell",
    "PublishedEnvironment",
    "PublishedFigure",
    "RequestCell",
    "Span",
    "content",
    "names",
    "parse",
    "publication",
    "published_figures",
    "request_cells",
]
