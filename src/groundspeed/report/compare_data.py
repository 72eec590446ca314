"""Two sides compared, for machines: base units, unrounded; what is unknown is null or empty."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.diagnosis import Diagnosis
    from groundspeed.analyse.two_sides import CellCompared, Compared
    from groundspeed.stats.paired_ratio import RatioInterval

FORMAT = 1


def to_json(found: Sequence[Compared]) -> str:
    """Write one JSON object; ends with a newline.

    `kind` is "groundspeed-compare"; `comparisons` has one object for each pair of sides, with its
    `baseline`, its `candidate`, whether it `is_paired`, and `cells`: the factors, `tps_ratio` and
    `p99_ratio` as `estimate`, `low` and `high`, the `answer` and the bottleneck of each side;
    `means` are geometric means of the ratios of TPS, by workload.
    """
    document = {
        "kind": "groundspeed-compare",
        "format": FORMAT,
        "comparisons": [_compared(compared) for compared in found],
    }
    # msgspec writes what is no number as null, which JSON has instead of NaN.
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _compared(compared: Compared) -> dict[str, Any]:
    whole: dict[str, Any] = msgspec.to_builtins(compared)
    return whole | {
        "cells": [_cell(cell) for cell in compared.cells],
        "only_baseline": [place._asdict() for place in compared.only_baseline],
        "only_candidate": [place._asdict() for place in compared.only_candidate],
    }


def _cell(cell: CellCompared) -> dict[str, Any]:
    return {
        "workload": cell.workload,
        "clients": cell.clients,
        "threads": cell.threads,
        "scale": cell.scale,
        "is_paired": cell.is_paired,
        "baseline_count": cell.baseline_count,
        "candidate_count": cell.candidate_count,
        "tps_ratio": _ratio(cell.tps),
        "p99_ratio": _ratio(cell.p99),
        "p_value": cell.p_value,
        "answer": cell.answer.value,
        "why": cell.why,
        "baseline_bottleneck": _name(cell.baseline_why),
        "candidate_bottleneck": _name(cell.candidate_why),
    }


def _ratio(ratio: RatioInterval) -> dict[str, float | None]:
    return {"estimate": ratio.ratio, "low": ratio.low, "high": ratio.high}


def _name(diagnosis: Diagnosis | None) -> str | None:
    return None if diagnosis is None else diagnosis.bottleneck.value


def to_csv(found: Sequence[Compared]) -> str:
    """Write one row a cell, with a header; lines end as RFC 4180 has it."""
    text = io.StringIO()
    writer = csv.writer(text)
    ratios = [f"{m}_ratio_{s}" for m in ("tps", "p99") for s in ("estimate", "low", "high")]
    factors = ["baseline", "candidate", "workload", "clients", "threads", "scale"]
    counts = ["is_paired", "baseline_count", "candidate_count"]
    ends = ["answer", "why", "baseline_bottleneck", "candidate_bottleneck"]
    writer.writerow([*factors, *counts, *ratios, *ends])
    for compared in found:
        for cell in compared.cells:
            writer.writerow(_row(compared, cell))
    return text.getvalue()


def _row(compared: Compared, cell: CellCompared) -> list[object]:
    numbers = [
        value for ratio in (cell.tps, cell.p99) for value in (ratio.ratio, ratio.low, ratio.high)
    ]
    return [
        compared.baseline,
        compared.candidate,
        cell.workload,
        cell.clients,
        cell.threads,
        cell.scale,
        "yes" if cell.is_paired else "no",
        cell.baseline_count,
        cell.candidate_count,
        *("" if v is None or not math.isfinite(v) else repr(v) for v in numbers),
        cell.answer.value,
        cell.why,
        _name(cell.baseline_why) or "",
        _name(cell.candidate_why) or "",
    ]
