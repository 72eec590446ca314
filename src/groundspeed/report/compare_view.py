"""Two sides compared, as rows of text: worded once, laid out by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.advice.wording import mean_sentence
from groundspeed.analyse.findings import Answer
from groundspeed.report.evidence_words import diagnosis_name
from groundspeed.report.scaling import NOTHING, format_ratio, format_span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.sides import Place
    from groundspeed.analyse.two_sides import CellCompared, Compared


class CompareRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: ratios of the candidate over the baseline, worded."""

    workload: str
    cell: str
    n: str
    tps: str
    tps_interval: str
    p99: str
    p99_interval: str
    answer: Answer
    answer_text: str
    baseline_why: str
    candidate_why: str


class CompareView(msgspec.Struct, frozen=True, kw_only=True):
    """One pair of sides. `how` says how n is counted; `doubts` are guards and cautions."""

    title: str
    how: str
    rows: tuple[CompareRow, ...]
    has_whys: bool
    reasons: tuple[str, ...]
    differences: tuple[tuple[str, str, str], ...]
    doubts: tuple[str, ...]
    missing: tuple[str, ...]
    # One sentence for each workload with several cells.
    means: tuple[str, ...] = ()


def compare_view(compared: Compared) -> CompareView:
    """Word one pair of sides."""
    cells = compared.cells
    rows = tuple(_row(cell, cells) for cell in cells)
    how = (
        "n pairs of trials inside blocks"
        if compared.is_paired
        else "n trials a side, baseline + candidate, not paired"
    )
    return CompareView(
        title=f"{compared.candidate_label} against {compared.baseline_label}",
        how=how,
        rows=rows,
        has_whys=any(row.baseline_why or row.candidate_why for row in rows),
        reasons=tuple(dict.fromkeys(f"not decided: {cell.why}" for cell in cells if cell.why)),
        differences=tuple(
            (
                d.fact,
                values.get(compared.baseline, NOTHING),
                values.get(compared.candidate, NOTHING),
            )
            for d in compared.differences
            for values in (dict(d.values),)
        ),
        doubts=(
            *(guard.message for guard in compared.guards),
            *(caution.message for caution in compared.cautions),
        ),
        missing=(
            *_missing(compared.only_baseline, compared.baseline),
            *_missing(compared.only_candidate, compared.candidate),
        ),
        means=tuple(
            mean_sentence([mean], _labels(compared))
            for mean in compared.means
            if mean.low is not None
        ),
    )


def _labels(compared: Compared) -> Callable[[str], str]:
    labels = {
        compared.baseline: compared.baseline_label,
        compared.candidate: compared.candidate_label,
    }
    return labels.__getitem__


def _missing(places: Sequence[Place], name: str) -> list[str]:
    if not places:
        return []
    workloads = ", ".join(dict.fromkeys(place.workload for place in places))
    cells = "1 cell" if len(places) == 1 else f"{len(places)} cells"
    return [f"{cells} of {name} alone, not compared ({workloads})"]


def _row(cell: CellCompared, cells: Sequence[CellCompared]) -> CompareRow:
    counts = (
        f"{cell.tps.n}" if cell.is_paired else f"{cell.baseline_count} + {cell.candidate_count}"
    )
    return CompareRow(
        workload=cell.workload,
        cell=cell_text(cell, cells),
        n=counts,
        tps=format_ratio(cell.tps.ratio),
        tps_interval=format_span(cell.tps.low, cell.tps.high, format_ratio),
        p99=format_ratio(cell.p99.ratio),
        p99_interval=format_span(cell.p99.low, cell.p99.high, format_ratio),
        answer=cell.answer,
        answer_text=cell.answer.value,
        baseline_why="" if cell.baseline_why is None else diagnosis_name(cell.baseline_why),
        candidate_why="" if cell.candidate_why is None else diagnosis_name(cell.candidate_why),
    )


def cell_text(cell: CellCompared, cells: Sequence[CellCompared]) -> str:
    """Name a cell within its workload by its clients, and by whatever else varies."""
    text = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
    if len({c.threads for c in cells}) > 1:
        text += f", {cell.threads} thread{'' if cell.threads == 1 else 's'}"
    return text + (f", scale {cell.scale}" if len({c.scale for c in cells}) > 1 else "")
