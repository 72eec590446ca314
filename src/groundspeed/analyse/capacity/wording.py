"""A capacity as a sentence: one way for the report, the verdict and the selection table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.capacity.shapes import CapacityState
from groundspeed.analyse.diagnosis import Bottleneck
from groundspeed.analyse.digits import digits
from groundspeed.analyse.findings import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.capacity.shapes import Capacity

_MS = 1000.0
_CELLS_SHOWN = 4
# By then a search on a quiet machine has found its rate.
_MANY_SLICES = 30


def bound_text(bound_s: float) -> str:
    """Write a bound as people ask for it: "p99 <= 10 ms"."""
    return f"p99 <= {bound_s:g} s" if bound_s >= 1 else f"p99 <= {bound_s * _MS:g} ms"


def rate_text(rate_per_s: float | None) -> str:
    """Write a rate with its unit; "?" where there is none."""
    return "?" if rate_per_s is None else f"{digits(rate_per_s)}/s"


def sure_text(capacity: Capacity) -> str:
    """Write the interval of a capacity, as far as it has one."""
    c = capacity
    sure = f"{c.confidence_ratio:.0%}"
    if c.low_per_s is not None and c.high_per_s is not None:
        return f"{sure} {digits(c.low_per_s)} to {digits(c.high_per_s)}"
    if c.low_per_s is not None:
        return f"{sure} above {digits(c.low_per_s)}"
    if c.high_per_s is not None:
        return f"{sure} below {digits(c.high_per_s)}"
    return f"no {sure} interval"


def sentence(capacity: Capacity) -> str:
    """Say up to which rate a cell holds, where it breaks, and why; without its name."""
    c, bound, slices = capacity, bound_text(capacity.bound_s), _slices(capacity)
    match c.state:
        case CapacityState.FOUND | CapacityState.WIDE:
            text = (
                f"holds {bound} up to {rate_text(c.rate_per_s)} ({sure_text(c)}), breaks at"
                f" {rate_text(c.high_per_s)}{because(c)}"
            )
            if c.state is CapacityState.WIDE:
                text += f"; {slices} do not make it narrower than the {c.within_ratio:.0%} asked"
        case CapacityState.NEVER:
            text = f"holds {bound} at no rate: even {rate_text(c.high_per_s)} breaks{because(c)}"
        case CapacityState.ABOVE:
            text = f"holds {bound} at {rate_text(c.low_per_s)}, the highest rate of the search"
        case CapacityState.CHANGED:
            text = f"not decided where it holds {bound}: slices contradict each other"
        case CapacityState.UNKNOWN:
            text = f"not searched where it holds {bound}: no closed loop was measured"
        case CapacityState.OPEN:
            text = _open_text(c, bound, slices)
    return text


def _slices(c: Capacity) -> str:
    return f"{len(c.slices)} slice{'' if len(c.slices) == 1 else 's'}"


def _open_text(c: Capacity, bound: str, slices: str) -> str:
    if c.low_per_s is not None:
        return (
            f"holds {bound} at {rate_text(c.low_per_s)} and perhaps beyond: {slices} do not decide"
            " where it breaks"
        )
    if c.high_per_s is not None:
        return (
            f"breaks {bound} at {rate_text(c.high_per_s)}{because(c)}; {slices} do not decide at"
            " which rate it holds"
        )
    text = f"not decided by {slices} where it holds {bound}"
    if len(c.slices) < _MANY_SLICES:
        return text
    return f"{text}: they hold and break at any rate, so what disturbs them is not the rate alone"


def because(capacity: Capacity) -> str:
    """Say what slices break by, with how many; nothing where that was not seen."""
    c = capacity
    if c.bottleneck is None:
        return ""
    of = f"{c.agreeing_count} of {c.broken_count} slices that break"
    most = 2 * c.agreeing_count >= c.broken_count
    return f": {'' if most else 'perhaps '}{c.bottleneck.value} ({of})"


def doubt(capacity: Capacity) -> str:
    """Say why a figure may be another's than the server's; nothing where it is the server's."""
    if capacity.bottleneck is not Bottleneck.CLIENT:
        return ""
    return (
        "pgbench itself could not ask faster, so the server may hold more: give it more threads, or"
        " processors of its own"
    )


def verdicts(capacities: Sequence[Capacity], label: Callable[[str], str]) -> tuple[Verdict, ...]:
    """Word a verdict for each workload that was searched."""
    return tuple(
        _verdict(workload, [c for c in capacities if c.workload == workload], label)
        for workload in dict.fromkeys(c.workload for c in capacities)
    )


def _verdict(workload: str, cells: Sequence[Capacity], label: Callable[[str], str]) -> Verdict:
    vary = len({(c.clients, c.threads) for c in cells}) > 1
    parts = []
    for c in cells[:_CELLS_SHOWN]:
        clients = "1 client" if c.clients == 1 else f"{c.clients} clients"
        where = f"{label(c.environment)}, {clients}" if vary else label(c.environment)
        parts.append(f"{where} {_short(c)}")
    more = len(cells) - len(parts)
    rest = f"; and {more} more" if more else ""
    return Verdict(
        workload=workload,
        sentence=f"{workload}: {'; '.join(parts)}{rest}.",
        decided=any(c.is_bracketed for c in cells),
    )


def _short(c: Capacity) -> str:
    if c.is_bracketed:
        return f"holds {bound_text(c.bound_s)} up to {rate_text(c.rate_per_s)} ({sure_text(c)})"
    return sentence(c)
