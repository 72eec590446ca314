"""Figures that others measured become a plan and records, each with its source.

Pure: files are read elsewhere. Nothing is made up: what a source does not tell is absent from the
record and named as unknown, no block is invented, and a figure keeps its digits.
"""

from groundspeed.importing.figures import Figure, ImportedRun
from groundspeed.importing.outputs import OutputOptions, PastLoad, of_outputs
from groundspeed.importing.publications import (
    PUBLISHED_SUFFIX,
    of_publication,
    run_records,
)

__all__ = [
    "PUBLISHED_SUFFIX",
    "Figure",
    "ImportedRun",
    "OutputOptions",
    "PastLoad",
    "of_outputs",
    "of_publication",
    "run_records",
]
