"""The figures of the matrix preset that stops when it is decided, from recorded data alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.figures import Figure
from bench.verdict.truth import Check, Place, Truth, tally, truths
from groundspeed.analyse import Answer
from groundspeed.analyse.decisions import ComparisonKey, decide_once
from groundspeed.stats.paired_ratio import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.decisions import Decision, Pair

ASKED_LOAD_RATIO = 0.15
FIXED_REPEATS = 3
_MINUTE_S = 60


def place_of(row: Mapping[str, Any]) -> Place:
    """Name the comparison, or the cell, of a recorded line."""
    return Place(row["workload"], row["clients"], row["threads"], row["environment"])


def answers_of(early: Mapping[str, Any]) -> dict[Place, Answer]:
    """Give the answer of each comparison of the early run."""
    return {place_of(row): Answer(row["answer"]) for row in early["comparisons"]}


def slices_of(early: Mapping[str, Any]) -> dict[Place, list[Pair]]:
    """Give the pairs of slices of each comparison."""
    return {place_of(row): [(a, b) for a, b in row["pairs"]] for row in early["comparisons"]}


def truth_pairs(truth: Mapping[str, Any]) -> dict[Place, list[Pair]]:
    """Pair the long trials of each environment with those of the first one, block by block."""
    baseline = truth["environments"][0]
    tps = {place_of(row): row["tps_per_s"] for row in truth["cells"]}
    found: dict[Place, list[Pair]] = {}
    for place, values in tps.items():
        others = tps.get(place._replace(environment=baseline))
        if place.environment != baseline and others is not None:
            found[place] = [(a, b) for a, b in zip(values, others, strict=True) if a and b]
    return found


def fixed_decisions(pairs: Mapping[Place, Sequence[Pair]]) -> tuple[Decision, ...]:
    """Decide as a fixed design of three repeats does, by the same rules."""

    def key(place: Place) -> ComparisonKey:
        return ComparisonKey(**place._asdict(), scale=1, baseline="")

    return decide_once({key(place): found[:FIXED_REPEATS] for place, found in pairs.items()})


def figures(early: Mapping[str, Any], truth: Mapping[str, Any] | None) -> list[Figure]:
    """Give every figure that the data carries; without a truth, those of the early run."""
    found = [_load(early), _slices(early), *_answers(early), _undecided(early)]
    if truth is not None:
        pairs = truth_pairs(truth)
        known = truths(pairs, slices_of(early))
        found += [*_against(early, truth, pairs, known), *agreement(early, known)]
    return found


def _load(early: Mapping[str, Any]) -> Figure:
    ratio = early["load_s"] / early["fixed_load_s"]
    return Figure(
        name="matrix-39, three storages: load, of that of the fixed design",
        asked=f"<= {ASKED_LOAD_RATIO:.0%}",
        measured=f"{ratio:.1%}",
        error=f"{early['load_s'] / _MINUTE_S:.0f} of {early['fixed_load_s'] / _MINUTE_S:.0f}"
        f" min; {early['round_count']} rounds, first look after {early['first_look_count']};"
        f" {early['wall_s'] / _MINUTE_S:.0f} min of wall time"
        f"{'' if early['complete'] else ', stopped by hand'}",
        met=ratio <= ASKED_LOAD_RATIO,
    )


def _slices(early: Mapping[str, Any]) -> Figure:
    failed, missing = early["failed_slice_count"], early["family_count"] - len(early["comparisons"])
    return Figure(
        name="slices without a single transaction",
        measured=f"{failed} of {early['slice_count']}",
        error=f"{early['measure']['slice']:g} s a slice, connecting included;"
        f" {missing} comparisons have no pair at all",
    )


def _answers(early: Mapping[str, Any]) -> list[Figure]:
    groups: dict[tuple[str, str], list[Answer]] = {}
    for place, answer in answers_of(early).items():
        groups.setdefault((place.workload, place.environment), []).append(answer)
    return [
        Figure(
            name=f"{workload} on {environment}: comparisons decided",
            measured=f"{sum(a is not Answer.UNDECIDED for a in answers)} of {len(answers)}",
            error=", ".join(f"{answers.count(a)} {a.value}" for a in Answer if a in answers),
        )
        for (workload, environment), answers in groups.items()
    ]


def _undecided(early: Mapping[str, Any]) -> Figure:
    rows = [row for row in early["comparisons"] if Answer(row["answer"]) is Answer.UNDECIDED]
    told = sum(bool(row["why"]) for row in rows)
    foretold = sum(row["more_pairs_count"] is not None for row in rows)
    return Figure(
        name="undecided ones that say why",
        asked="all",
        measured=f"{told} of {len(rows)}",
        error=f"{foretold} with a number of pairs, for the others more than ten times those"
        " there are, or not to be told above the noise floor",
        met=told == len(rows),
    )


def _against(
    early: Mapping[str, Any],
    truth: Mapping[str, Any],
    pairs: Mapping[Place, Sequence[Pair]],
    known: Mapping[Place, Truth],
) -> list[Figure]:
    answers = answers_of(early)
    decided = sum(answer is not Answer.UNDECIDED for answer in answers.values())
    by_fixed = sum(d.answer is not Answer.UNDECIDED for d in fixed_decisions(pairs))
    checked = tally(answers, known, early["margin_ratio"])
    wrong = checked[Check.CONTRADICTED]
    unknown = sum(not pairs.get(place) for place in checked[Check.OPEN])
    repeats = [len(found) for found in pairs.values() if found]
    return [
        Figure(
            name=f"comparisons decided, against a fixed design of {FIXED_REPEATS} repeats",
            asked=f">= {by_fixed}",
            measured=f"{decided} of {early['family_count']}",
            error=f"the fixed design, by the same rules: {by_fixed};"
            f" {FIXED_REPEATS} pairs cannot decide, six are needed",
            met=decided >= by_fixed,
        ),
        Figure(
            name=f"decided ones that the truth contradicts ({truth['duration_s']} s a trial,"
            f" {min(repeats, default=0)} to {max(repeats, default=0)} repeats)",
            asked="0",
            measured=f"{len(wrong)} of {decided - unknown}",
            error=f"{len(checked[Check.CONFIRMED])} confirmed,"
            f" {len(checked[Check.OPEN]) - unknown} the truth cannot tell, {unknown} are not in it"
            f"{''.join(f'; {place}' for place in wrong)}",
            met=not wrong,
        ),
    ]


def agreement(early: Mapping[str, Any], found: Mapping[Place, Truth]) -> list[Figure]:
    """Compare the ratios of slices with those of long trials, cell by cell of a workload.

    Measured is the one over the other over the cells, with its signed-rank interval; beside it, how
    many long ratios lie within the interval that the slices gave.
    """
    groups: dict[tuple[str, str], list[tuple[Mapping[str, Any], Truth]]] = {}
    for row in early["comparisons"]:
        place = place_of(row)
        if place in found and row["low"] is not None and row["high"] is not None:
            groups.setdefault((place.workload, place.environment), []).append((row, found[place]))
    return [_agreement(*name, cells) for name, cells in groups.items()]


def _agreement(
    workload: str, environment: str, cells: Sequence[tuple[Mapping[str, Any], Truth]]
) -> Figure:
    over = paired_ratio([(row["ratio"], truth.ratio) for row, truth in cells])
    inside = sum(row["low"] <= truth.ratio <= row["high"] for row, truth in cells)
    span = "no interval"
    holds = None
    if over.low is not None and over.high is not None:
        span, holds = f"{over.low:.3f} to {over.high:.3f}", over.low <= 1 <= over.high
    return Figure(
        name=f"{workload} on {environment}: ratio by slices over ratio by long trials",
        asked="the interval holds 1",
        measured=f"{over.ratio:.3f}",
        error=f"{span}, {len(cells)} cells; {inside} long ratios within the slices' interval",
        met=holds,
    )
