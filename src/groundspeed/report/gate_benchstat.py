"""A gate as benchstat prints a comparison, for tools and people that know its table.

The layout and the words are those of golang.org/x/perf/cmd/benchstat: medians with the width of
their 95% interval, the change with the p-value of the Mann-Whitney test uncorrected for the number
of rows, and footnotes where there are too few samples. What the gate decided by is not in it.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.gate import GateMetric
from groundspeed.analyse.two_sides import values_a_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.findings import Estimate
    from groundspeed.analyse.gate import Gate, GateCell

_UNITS = {GateMetric.TPS: "tx/s", GateMetric.P99: "p99-sec"}
_ALPHA = 0.05
_SUPERSCRIPTS = "¹²³"
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_DIGITS = 4


def render(gate: Gate) -> str:
    """Print a table for each pair of sides and each figure; ends with a newline."""
    tables: dict[tuple[str, str, GateMetric], list[GateCell]] = {}
    for cell in gate.cells:
        tables.setdefault((cell.baseline, cell.candidate, cell.metric), []).append(cell)
    return "\n".join(
        _table(baseline, candidate, _UNITS[metric], cells)
        for (baseline, candidate, metric), cells in tables.items()
    )


class _Notes:
    """Numbers footnotes in order of first mention."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f" {_SUPERSCRIPTS[self.texts.index(text)]}"


_Cell = tuple[str, str]


class _Column:
    """Cells of a value and what follows it, the values aligned to the right."""

    def __init__(self, values: Sequence[_Cell]) -> None:
        self.ahead = max(len(value) for value, _ in values)
        self.behind = max(len(rest) for _, rest in values)

    @property
    def width(self) -> int:
        return self.ahead + self.behind

    def lay(self, value: str, rest: str) -> str:
        return f"{value:>{self.ahead}}{rest:<{self.behind}}"


def _table(baseline: str, candidate: str, unit: str, cells: Sequence[GateCell]) -> str:
    notes = _Notes()
    rows = [
        (
            _median(_before(cell), notes),
            _median(_after(cell), notes),
            _delta(cell, notes),
        )
        for cell in cells
    ]
    names = [_name(cell, cells) for cell in cells]
    if len(cells) > 1:
        rows.append(_geomean(cells))
        names.append("geomean")
    columns = [_Column(column) for column in zip(*rows, strict=True)]
    label = max(map(len, names))
    first = max(columns[0].width, len(baseline))
    second = max(columns[1].width + columns[2].width + 2, len(candidate), len(unit) + 13)
    against = f"{unit:^{columns[1].width + 2}} vs base"
    lines = [
        f"{'':<{label}} │ {baseline:^{first}} │ {candidate:^{second}} │",
        f"{'':<{label}} │ {unit:^{first}} │{against:<{second + 2}}│",
    ]
    for name, row in zip(names, rows, strict=True):
        old, new, delta = (c.lay(*cell) for c, cell in zip(columns, row, strict=True))
        lines.append(f"{name:<{label}}   {old:<{first}}   {new}  {delta}".rstrip())
    lines += [f"{_SUPERSCRIPTS[i]} {text}" for i, text in enumerate(notes.texts)]
    return "\n".join(lines) + "\n"


def _before(cell: GateCell) -> Estimate:
    return cell.baseline_tps_per_s if cell.baseline_p99_s is None else cell.baseline_p99_s


def _after(cell: GateCell) -> Estimate:
    return cell.candidate_tps_per_s if cell.candidate_p99_s is None else cell.candidate_p99_s


def _geomean(cells: Sequence[GateCell]) -> tuple[_Cell, _Cell, _Cell]:
    """Take the geometric means of the medians and their quotient, as benchstat does."""
    old = _mean([_before(cell) for cell in cells])
    new = _mean([_after(cell) for cell in cells])
    return (_scaled(old), ""), (_scaled(new), ""), (f"{new / old - 1:+.2%}", "")


def _name(cell: GateCell, cells: Sequence[GateCell]) -> str:
    """Name a cell as Go names sub-benchmarks: tpcb-like/clients=8."""
    text = f"{cell.workload}/clients={cell.clients}".replace(" ", "_")
    if len({c.threads for c in cells}) > 1:
        text += f"/threads={cell.threads}"
    return text + (f"/scale={cell.scale}" if len({c.scale for c in cells}) > 1 else "")


def _mean(estimates: Sequence[Estimate]) -> float:
    medians = [e.median for e in estimates if e.n]
    return math.exp(fmean(math.log(value) for value in medians)) if medians else math.nan


def _scaled(value: float) -> str:
    """Write a value with four digits and a prefix: 1.718k."""
    if not math.isfinite(value):
        return "?"
    factor, prefix = next((p for p in _PREFIXES if abs(value) >= p[0]), _PREFIXES[-1])
    short = value / factor
    whole = len(str(int(abs(short))))
    return f"{short:.{max(_DIGITS - whole, 0)}f}{prefix}"


def _median(estimate: Estimate, notes: _Notes) -> tuple[str, str]:
    value = _scaled(estimate.median)
    if estimate.low is None or estimate.high is None:
        few = f"need >= {TRIALS_NEEDED} samples for confidence interval at level"
        return value, f" ± ∞{notes.mark(f'{few} {CONFIDENCE_RATIO:.2f}')}"
    # The farther end, so that the interval is not made to look narrower than it is.
    half = max(estimate.high - estimate.median, estimate.median - estimate.low)
    return value, f" ± {half / estimate.median:.0%}"


def _delta(cell: GateCell, notes: _Notes) -> tuple[str, str]:
    n, m = _before(cell).n, _after(cell).n
    count = f"n={n}" if n == m else f"n={n}+{m}"
    p = f" (p={cell.difference_p_value:.3f} {count})"
    if not n or not m or 2 / math.comb(n + m, n) > _ALPHA:
        few = f"need >= {values_a_side(_ALPHA)} samples to detect a difference at alpha level"
        return "~", f"{p}{notes.mark(f'{few} {_ALPHA}')}"
    if cell.difference_p_value > _ALPHA:
        return "~", p
    change = _after(cell).median / _before(cell).median - 1
    return f"{change:+.2%}", p
