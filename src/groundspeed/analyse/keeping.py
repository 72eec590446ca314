"""What runs told of their environments and workloads together: what is kept, and what writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.record.losses import Keeping

if TYPE_CHECKING:
    from groundspeed.analyse.attempts import Settled
    from groundspeed.record.losses import Promise


def keeping_of(settled: Settled) -> Keeping:
    """Gather what environments promise; of one that runs disagree on, nothing is known."""
    told = [run.keeping for run in settled.runs if run.keeping is not None]
    promises: dict[str, list[Promise]] = {}
    for keeping in told:
        for name, promise in keeping.promises:
            promises.setdefault(name, []).append(promise)
    return Keeping(
        promises=tuple(
            (name, each[0]) for name, each in promises.items() if each.count(each[0]) == len(each)
        ),
        ways=next((keeping.ways for keeping in told), ()),
    )


def writing_of(settled: Settled) -> tuple[str, ...] | None:
    """List the workloads that change data; None where a run does not say."""
    known = [run.writing_workloads for run in settled.runs if run.writing_workloads is not None]
    if len(known) < len(settled.runs):
        return None
    return tuple(dict.fromkeys(name for names in known for name in names))
