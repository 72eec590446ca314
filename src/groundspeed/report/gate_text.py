"""A gate for people: the answer first, then the cells, worst first, then the doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.gate import GateAnswer, GateMetric
from groundspeed.report.scaling import format_ratio, format_seconds, format_span, format_tps

if TYPE_CHECKING:
    from groundspeed.analyse.gate import Gate, GateCell

_PERCENT = 100
_ORDER = (GateAnswer.FAIL, GateAnswer.UNDECIDED, GateAnswer.PASS)


def answer_line(gate: Gate) -> str:
    """Say what the gate came to, in one sentence."""
    counts = {answer: sum(c.answer is answer for c in gate.cells) for answer in GateAnswer}
    total = len(gate.cells)
    things = "figure" if gate.max_p99_rise_ratio is not None else "cell"
    cells = f"{total} {things}{'' if total == 1 else 's'}"
    if gate.answer is GateAnswer.FAIL:
        return f"fail: {counts[GateAnswer.FAIL]} of {cells} certainly {_changed(gate)}"
    if gate.answer is GateAnswer.PASS:
        return f"pass: none of {cells} {_changed(gate)}"
    missing = f", {len(gate.missing)} not measured" if gate.missing else ""
    return (
        f"undecided: {counts[GateAnswer.UNDECIDED]} of {cells} may have {_changed(gate)}, none"
        f" certainly{missing}"
    )


def _changed(gate: Gate) -> str:
    """Word what is not let through: what was lost, and by what p99 rose where that is asked."""
    lost = f"more than {_PERCENT * gate.max_loss_ratio:g}%" if gate.max_loss_ratio else "anything"
    if gate.max_p99_rise_ratio is None:
        return f"lost {lost}"
    rise = gate.max_p99_rise_ratio
    risen = f"by more than {_PERCENT * rise:g}%" if rise else "at all"
    return f"got worse (throughput lost {lost}, or p99 risen {risen})"


def ordered(gate: Gate) -> list[GateCell]:
    """Order cells, the worst first."""
    return sorted(gate.cells, key=lambda c: (_ORDER.index(c.answer), _speed(c)))


def _speed(cell: GateCell) -> float:
    return cell.ratio.ratio if cell.metric is GateMetric.TPS else 1 / cell.ratio.ratio


def cell_name(cell: GateCell, gate: Gate) -> str:
    """Name a cell by its factors: "tpcb-like, 8 clients", with its environment where those vary."""
    text = f"{cell.workload}, {cell.clients} client{'' if cell.clients == 1 else 's'}"
    if len({c.threads for c in gate.cells}) > 1:
        text += f", {cell.threads} thread{'' if cell.threads == 1 else 's'}"
    if len({c.scale for c in gate.cells}) > 1:
        text += f", scale {cell.scale}"
    if gate.max_p99_rise_ratio is not None:
        text += f", {'TPS' if cell.metric is GateMetric.TPS else 'p99'}"
    several = len({c.candidate for c in gate.cells}) > 1
    return f"{text} ({cell.candidate})" if several else text


def cell_line(cell: GateCell) -> str:
    """Say what one cell came to: its ratio, its interval, both medians."""
    interval = format_span(cell.ratio.low, cell.ratio.high, format_ratio)
    known = "no 95% interval" if cell.ratio.low is None else f"95% {interval}"
    counts = (
        f"{cell.ratio.n} pairs"
        if cell.is_paired
        else f"{cell.baseline_tps_per_s.n} + {cell.candidate_tps_per_s.n} trials"
    )
    needs = f"; {cell.needs}" if cell.needs else ""
    return f"{format_ratio(cell.ratio.ratio)} ({known}, {counts}), {_medians(cell)}{needs}"


def _medians(cell: GateCell) -> str:
    before, after = cell.baseline_p99_s, cell.candidate_p99_s
    if before is not None and after is not None:
        return f"p99 {format_seconds(before.median)} to {format_seconds(after.median)}"
    tps = f"{format_tps(cell.baseline_tps_per_s.median)} to"
    return f"{tps} {format_tps(cell.candidate_tps_per_s.median)} TPS"


def render(gate: Gate, *, is_advisory: bool) -> str:
    """Print a gate as lines; ends with a newline."""
    advisory = " (advisory: the exit code is 0)" if is_advisory else ""
    lines = [f"{answer_line(gate)}{advisory}", ""]
    width = max((len(cell_name(cell, gate)) for cell in gate.cells), default=0)
    lines += [
        f"{cell.answer.value:<9}  {cell_name(cell, gate):<{width}}  {cell_line(cell)}"
        for cell in ordered(gate)
    ]
    lines += [f"{'undecided':<9}  {missing}" for missing in gate.missing]
    if gate.cautions:
        lines += ["", *(f"- {caution.message}" for caution in gate.cautions)]
    return "\n".join(lines) + "\n"
