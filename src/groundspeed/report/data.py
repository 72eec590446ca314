"""Findings for machines: JSON with all of it, CSV with one row a cell.

Base units throughout, named by suffix: `_s` seconds, `_per_s` a second, `_ratio` without unit.
Nothing is rounded or scaled. A number that is not known is null in JSON and empty in CSV. Fields
may be added within a format number; one that changes its meaning or goes raises the number.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.analyse.advice import advise, saving_sentence
from groundspeed.analyse.beside import beside
from groundspeed.report import why_data
from groundspeed.report.beside_view import CAVEAT, order_sentence
from groundspeed.report.why_view import Whys

if TYPE_CHECKING:
    from groundspeed.analyse import CellSummary, Comparison, Estimate, Findings

FORMAT = 1
_METRICS = ("tps_per_s", "mean_s", "p50_s", "p95_s", "p99_s", "p999_s", "max_s")
_CAPACITY = ("bound_s", "rate_per_s", "low_per_s", "high_per_s", "state")
_STATISTICS = ("median", "low", "high", "minimum", "maximum")
_AS_THEY_ARE = (
    "suite_name",
    "description",
    "run_ids",
    "baseline",
    "planned_trial_count",
    "measured_count",
    "failed_count",
    "skipped_count",
    "first_started_at",
    "last_started_at",
    "verdicts",
    "cells",
    "environments",
    "differences",
    "footnotes",
    "cautions",
    "emulated",
    "device_work",
    "scalings",
    "capacities",
)


def to_json(findings: Findings) -> str:
    """Write findings as one JSON object, indented, ending with a newline.

    `kind` is "groundspeed-findings" and `format` the number of the format. Each of `cells` has
    its factors and, for each metric (`tps_per_s`, `mean_s`, `p50_s`, `p95_s`, `p99_s`, `p999_s`,
    `max_s`), `n`, `median`, the 95% interval `low` to `high`, the `confidence_ratio` it reaches,
    `minimum` and `maximum`; `footnotes` are indices into the `footnotes` of the whole. Each of
    `comparisons` has `tps_ratio` and `p99_ratio`, the environment over the baseline, as `estimate`,
    `low` and `high`, and an `answer`: "faster", "slower", "equivalent" or "not decided".
    `emulated` names the environments whose storage was emulated, which cells and comparisons say
    of themselves too; `device_work` is what those devices did.

    Of what probes saw: each cell and comparison has `bottleneck`, its name and confidence, and
    `guards`, indices into the `guards` of the whole; `why` has one object a cell with the clues,
    their sources and what would change it; `trials` the bottleneck and the course of each trial;
    `scalings` the throughput over clients with its fit. Without probes they are null or empty. The
    evidence itself and the series by second are left out: they are in the run directory.

    `saved` is what a run saved that stopped when it was decided: its load in seconds, that of a
    fixed design, of the shortest one that can decide anything, and the `sentence` of the report;
    null for a fixed design. `means` are geometric means of ratios, by workload.

    `capacities` has for each cell of a run that searched it the highest `rate_per_s` that holds
    p99 latency within `bound_s`, its interval `low_per_s` to `high_per_s`, a `state`, what makes it
    break and every slice with its rate and p99. Empty without a search.

    `published` has what the suite names of a publication: `tables`, one for each workload, with the
    rows of its environments (`ratio` to the baseline, `published_ratio` from `low` to `high`, and
    `off_ratio`, the first over the second), every pair of environments that is published apart with
    its `order`, and a `sentence`; null where the suite names none.

    `advice` has `findings`, each a `sentence` with its `topic` and `cells`, and `choices`: for each
    `purpose` the environment that is `best`, its `runner_up` and the `reason`; null: not decided.
    """
    whys = Whys(findings)
    document: dict[str, Any] = {"kind": "groundspeed-findings", "format": FORMAT}
    document |= {name: msgspec.to_builtins(getattr(findings, name)) for name in _AS_THEY_ARE}
    document["cells"] = [
        cell | _why(number, whys)
        for cell, number in zip(document["cells"], findings.cells, strict=True)
    ]
    document["comparisons"] = [
        _comparison(c) | _why(c, whys, c.baseline) for c in findings.comparisons
    ]
    document["why"] = [why_data.cell_diagnosis(d) for d in findings.diagnoses]
    document["guards"] = msgspec.to_builtins(whys.ordered)
    document["means"] = msgspec.to_builtins(findings.means)
    document["saved"] = _saved(findings)
    document["advice"] = msgspec.to_builtins(advise(findings))
    document["published"] = _published(findings)
    document["trials"] = [why_data.trial_in_short(t) for t in findings.trials]
    # msgspec writes what is no number as null, which JSON has instead of NaN.
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _published(findings: Findings) -> dict[str, Any] | None:
    if findings.publication is None:
        return None
    told = findings.publication
    return {
        "name": told.name,
        "reference": told.reference,
        "url": told.url,
        "tool": told.tool,
        "caveat": CAVEAT,
        "tables": [
            msgspec.to_builtins(table) | {"sentence": order_sentence(table, findings)}
            for table in beside(findings)
        ],
    }


def _saved(findings: Findings) -> dict[str, Any] | None:
    if findings.saved is None:
        return None
    told: dict[str, Any] = msgspec.to_builtins(findings.saved)
    return told | {"ratio": findings.saved.ratio, "sentence": saving_sentence(findings)}


def _why(thing: CellSummary | Comparison, whys: Whys, *more: str) -> dict[str, Any]:
    found = whys.diagnosis(thing)
    return {
        "bottleneck": None
        if found is None
        else {"name": found.bottleneck.value, "confidence": found.confidence.value},
        "guards": [number - 1 for number in whys.marks(thing, *more)],
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    c = comparison
    return {
        "workload": c.workload,
        "clients": c.clients,
        "threads": c.threads,
        "scale": c.scale,
        "baseline": c.baseline,
        "environment": c.environment,
        "pair_count": c.pair_count,
        "confidence_ratio": c.confidence_ratio,
        "tps_ratio": {"estimate": c.tps_ratio, "low": c.tps_low, "high": c.tps_high},
        "p99_ratio": {"estimate": c.p99_ratio, "low": c.p99_low, "high": c.p99_high},
        "emulated": c.emulated,
        "baseline_emulated": c.baseline_emulated,
        "answer": c.answer.value,
        "adjusted": c.adjusted,
        "p_value": c.p_value,
        "margin_ratio": c.margin_ratio,
        "floor_ratio": c.floor_ratio,
        "more_pairs_count": c.more_pairs_count,
        "why": c.why,
    }


def to_csv(findings: Findings) -> str:
    """Write one row a cell, with a header; lines end as RFC 4180 has it.

    Columns: the factors, `n`, `tps_per_s_median`, `_low`, `_high`, `_minimum`, `_maximum` and the
    same for each latency in seconds, the confidence the TPS interval reaches, failed transactions,
    run ids and footnotes, both separated by semicolons, and whether its storage was emulated. Then
    the bottleneck, its confidence, its clues with values in base units, what would change it, and
    the guards that touch the cell; empty without evidence. At the end the highest rate that holds a
    latency bound, with its interval; empty where it was not searched.
    """
    whys = Whys(findings)
    text = io.StringIO()
    writer = csv.writer(text)
    numbers = [f"{metric}_{statistic}" for metric in _METRICS for statistic in _STATISTICS]
    factors = ["environment", "workload", "clients", "threads", "scale"]
    ends = ["failed_transaction_count", "run_ids", "footnotes", "emulated"]
    ends += ["bottleneck", "confidence", "clues", "remedy", "guards"]
    ends += [f"capacity_{name}" for name in _CAPACITY]
    writer.writerow([*factors, "n", "confidence_ratio", *numbers, *ends])
    for cell in findings.cells:
        writer.writerow(_row(cell, findings, whys))
    return text.getvalue()


def _row(cell: CellSummary, findings: Findings, whys: Whys) -> list[object]:
    estimates: list[Estimate] = [getattr(cell, metric) for metric in _METRICS]
    notes = [findings.footnotes[index] for index in cell.footnotes]
    return [
        cell.environment,
        cell.workload,
        cell.clients,
        cell.threads,
        cell.scale,
        cell.tps_per_s.n,
        _number(cell.tps_per_s.confidence_ratio),
        *(_number(getattr(e, statistic)) for e in estimates for statistic in _STATISTICS),
        cell.failed_transaction_count,
        ";".join(cell.run_ids),
        ";".join(f"{note.code}: {note.message}" for note in notes),
        "yes" if cell.emulated else "no",
        *_why_columns(cell, whys),
        *_capacity_columns(cell, findings),
    ]


def _capacity_columns(cell: CellSummary, findings: Findings) -> list[str]:
    factors = ("environment", "workload", "clients", "threads", "scale")
    found = [
        c for c in findings.capacities if all(getattr(c, f) == getattr(cell, f) for f in factors)
    ]
    if not found:
        return [""] * len(_CAPACITY)
    # Of several runs the last one's.
    last = found[-1]
    return [*(_number(getattr(last, name)) for name in _CAPACITY[:-1]), last.state.value]


def _why_columns(cell: CellSummary, whys: Whys) -> list[str]:
    found = whys.diagnosis(cell)
    guards = [whys.ordered[number - 1] for number in whys.marks(cell)]
    told = ";".join(f"{guard.code}: {guard.message}" for guard in guards)
    if found is None:
        return ["", "", "", "", told]
    clues = (f"{c.name}: {_number(c.value)} {c.unit} ({c.source})" for c in found.clues)
    return [found.bottleneck.value, found.confidence.value, ";".join(clues), found.remedy, told]


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else repr(value)
