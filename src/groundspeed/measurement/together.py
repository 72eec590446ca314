"""Doubts whether what several generators made together was one load.

Their results are added as if all had run at the same time, on machines of their own. Where that is
not so, a caution says how far it is from the truth. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.record import Caution
from groundspeed.stats.clock_offset import Offset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A start this far apart from the others shows in the seconds of a series.
_APART_S = 0.05
# And so much of the duration is a percent of the throughput that adding gets wrong.
_APART_RATIO = 0.01
_SKEW_NS = 10_000_000


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one generator had to do with a load.

    `began_s` is when it had connected, by one clock for all. `before` and `after` are its clock
    against that one, measured at both ends of the load; None where it was gone by then.
    """

    name: str
    node: str
    began_s: float
    before: Offset
    after: Offset | None


def doubts(
    parts: Sequence[Part], *, duration_s: float, server_nodes: frozenset[str]
) -> tuple[Caution, ...]:
    """Say what speaks against adding these parts up; `server_nodes` may be unknown, and empty."""
    return (*_apart(parts, duration_s), *_skewed(parts), *_beside_server(parts, server_nodes))


def _apart(parts: Sequence[Part], duration_s: float) -> Iterator[Caution]:
    began_s = [part.began_s for part in parts]
    apart_s = max(began_s) - min(began_s)
    if apart_s > min(_APART_S, duration_s * _APART_RATIO):
        yield Caution(
            code="generators-apart",
            message=f"the load generators began {apart_s * 1000:.0f} ms apart"
            f" ({apart_s / duration_s:.1%} of the trial); what they did is added as if they had"
            " begun together",
        )


def _skewed(parts: Sequence[Part]) -> Iterator[Caution]:
    worst = max(parts, key=lambda part: abs(part.before.ahead_ns))
    unsure_ns = max(max(part.before.error_ns, _after(part).error_ns) for part in parts)
    if abs(worst.before.ahead_ns) > _SKEW_NS:
        ahead_ms = worst.before.ahead_ns / 1e6
        side = "ahead of" if ahead_ms > 0 else "behind"
        yield _skew(
            f"the clock of {worst.name} is {abs(ahead_ms):.1f} ms {side} the runner's; times in"
            f" its log were corrected by that, to {worst.before.error_ns / 1e6:.1f} ms"
        )
    if unsure_ns > _SKEW_NS:
        yield _skew(
            f"the clocks of the load generators are known to {unsure_ns / 1e6:.1f} ms only;"
            " seconds of the trial may be as far from each other"
        )
    moved = max(parts, key=_moved_ns)
    # What two measurements may differ by is their errors; only what is beyond is sure.
    if _moved_ns(moved) > _SKEW_NS:
        moved_ms = (_after(moved).ahead_ns - moved.before.ahead_ns) / 1e6
        yield _skew(f"the clock of {moved.name} was set by {moved_ms:+.1f} ms during the trial")
    gone = [part.name for part in parts if part.after is None]
    if gone:
        yield _skew(
            f"the clock of {gone[0]} was not measured again after the trial: it was gone by then"
        )


def _after(part: Part) -> Offset:
    return part.before if part.after is None else part.after


def _moved_ns(part: Part) -> int:
    by_ns = abs(_after(part).ahead_ns - part.before.ahead_ns)
    return by_ns - _after(part).error_ns - part.before.error_ns


def _skew(message: str) -> Caution:
    return Caution(code="clock-skew", message=message)


def _beside_server(parts: Sequence[Part], server_nodes: frozenset[str]) -> Iterator[Caution]:
    shared = sorted({part.node for part in parts} & server_nodes)
    if shared:
        yield Caution(
            code="generator-node",
            message=f"a load generator ran on the server's own node ({', '.join(shared)}): they"
            " share its processors and memory",
        )
