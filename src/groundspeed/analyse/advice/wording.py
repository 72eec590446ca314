"""How advice names environments, cells and figures: one way for all of its sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.diagnosis import Bottleneck, Confidence
from groundspeed.analyse.digits import digits, ratio_digits
from groundspeed.plan import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.diagnosis import CellDiagnosis
    from groundspeed.analyse.figures import GeometricMeanOfRatios
    from groundspeed.analyse.findings import CellSummary, Comparison, Findings
    from groundspeed.plan import Words

_DOUBTS = {Confidence.SURE: "", Confidence.LIKELY: "likely ", Confidence.WEAK: "perhaps "}
_MS = 1000.0


class Names:
    """Names environments and cells; what is emulated says so, and only what varies is named."""

    def __init__(self, findings: Findings) -> None:
        """Look which factors vary."""
        self._emulated = frozenset(findings.emulated)
        self.words = findings.words
        self._threads_vary = len({c.threads for c in findings.cells}) > 1
        self._scale_varies = len({c.scale for c in findings.cells}) > 1

    def label(self, environment: str) -> str:
        """Name an environment for people."""
        return f"{environment} (emulated)" if environment in self._emulated else environment

    def where(self, cell: CellSummary | Comparison) -> str:
        """Name a cell within its workload: "8 clients on 2 threads"."""
        text = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
        if self._threads_vary:
            text += f" on {cell.threads} thread{'' if cell.threads == 1 else 's'}"
        return text + (f" at scale {cell.scale}" if self._scale_varies else "")


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Join with commas and one word: "a, b and c"."""
    if len(parts) <= 1:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def counted(count: int, noun: str) -> str:
    """Write a number of things: "1 pair", "6 pairs"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def span(low: float | None, high: float | None, unit: str = "") -> str:
    """Write an interval of ratios, or that there is none."""
    if low is not None and high is not None:
        return f"{CONFIDENCE_RATIO:.0%} {ratio_digits(low)} to {ratio_digits(high)}{unit}"
    if low is not None:
        return f"{CONFIDENCE_RATIO:.0%} above {ratio_digits(low)}{unit}"
    if high is not None:
        return f"{CONFIDENCE_RATIO:.0%} below {ratio_digits(high)}{unit}"
    return f"no {CONFIDENCE_RATIO:.0%} interval"


def mean_sentence(
    means: Sequence[GeometricMeanOfRatios],
    label: Callable[[str], str],
    words: Words = TRANSACTIONS,
) -> str:
    """Word the geometric means of one workload: what they are, and what they are not."""
    texts: list[str] = []
    for mean in means:
        of = "" if texts else f" the {words.rate} of {label(mean.baseline)}"
        rounds = f", {counted(mean.round_count, 'round')}" if mean.round_count else ""
        texts.append(
            f"{label(mean.environment)} {ratio_digits(mean.ratio)}x{of} over"
            f" {counted(mean.cell_count, 'cell')} ({span(mean.low, mean.high)}{rounds})"
        )
    return (
        f"One number for {means[0].workload}, the geometric mean of the ratios of its cells:"
        f" {listed(texts)}."
        " It stands for no load that anybody has."
    )


def ms(value_s: float) -> str:
    """Write a difference of times in milliseconds, without its sign."""
    return f"{digits(abs(value_s) * _MS)} ms"


def ms_span(low_s: float | None, high_s: float | None) -> str:
    """Write an interval of differences in milliseconds, signed where it holds zero."""
    if low_s is None or high_s is None:
        return f"no {CONFIDENCE_RATIO:.0%} interval"
    # In words of "longer" the ends turn around where the difference is below zero.
    ends = sorted((abs(low_s), abs(high_s))) if low_s * high_s > 0 else [low_s, high_s]
    return f"{CONFIDENCE_RATIO:.0%} {digits(ends[0] * _MS)} to {digits(ends[1] * _MS)} ms"


def percent(ratio: float) -> str:
    """Write a share of a few per cent with its tenth: 3.1%, 42%."""
    tenth = 0.1
    return f"{ratio:.0%}" if not math.isfinite(ratio) or ratio >= tenth else f"{ratio:.1%}"


def bottlenecks(diagnoses: Sequence[CellDiagnosis]) -> str:
    """Name what held cells back, each with the first share that it rests on."""
    known = [d for d in diagnoses if d.diagnosis.bottleneck is not Bottleneck.UNKNOWN]
    if not known:
        return ""
    order = list(Confidence)
    named: dict[Bottleneck, CellDiagnosis] = {}
    for found in sorted(known, key=lambda d: order.index(d.diagnosis.confidence)):
        named.setdefault(found.diagnosis.bottleneck, found)
    return listed([_bottleneck(found) for found in named.values()])


def _bottleneck(found: CellDiagnosis) -> str:
    diagnosis = found.diagnosis
    name = f"{_DOUBTS[diagnosis.confidence]}{diagnosis.bottleneck.value}"
    clue = next((c for c in diagnosis.clues if c.unit == "ratio"), None)
    return name if clue is None else f"{name} ({clue.value:.0%} {clue.name})"
