"""Sessions that wait for each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import remedies
from groundspeed.analyse.bottleneck.places import Place, place_of
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue
from groundspeed.record.evidence import WaitGroup

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

# Of what the holders of locks do: half of it makes waiting for them waiting for that.
_HOLDERS_RATIO = 0.5


def bound(scene: Scene) -> Suspect | None:
    """Lock-bound: by locks of rows and tables, or by those of the server's own structures."""
    rows, latches = scene.share(Place.LOCK), scene.share(Place.LATCH)
    if not rows + latches:
        return None
    clues = [
        scene.waits_clue("of database time waits for locks of rows or tables", Place.LOCK),
        scene.waits_clue("of database time waits for light-weight locks", Place.LATCH),
    ]
    if latches > rows:
        clues.reverse()
    event, share = _most_waited(scene)
    clues.insert(1, Clue(name=f"of those waits are {event}", value=share, unit="ratio",
                         source=scene.waits_source))  # fmt: skip
    clues.insert(2, _waiting(scene))
    return Suspect(
        bottleneck=Bottleneck.LOCK,
        score=min(1.0, rows + latches),
        clues=tuple(clues),
        remedy=_remedy(scene) if rows >= latches else remedies.LATCH,
    )


def holders_wait_for(scene: Scene, *places: Place) -> bool:
    """Whether those who are not in the line themselves are mostly there."""
    rest = 1.0 - scene.share(Place.OUTSIDE, Place.LOCK, Place.LATCH)
    return rest > 0 and scene.share(*places) / rest >= _HOLDERS_RATIO


def _most_waited(scene: Scene) -> tuple[str, float]:
    counts: Counter[str] = Counter()
    for wait in scene.evidence.waits:
        place = place_of(wait.wait_class, wait.event)
        if wait.group is WaitGroup.CLIENT and place in {Place.LOCK, Place.LATCH}:
            counts[f"{wait.wait_class}:{wait.event}"] += wait.sample_count
    event, count = max(counts.items(), key=lambda item: item[1])
    return event, count / counts.total()


def _waiting(scene: Scene) -> Clue:
    return Clue(
        name=f"of {scene.clients} clients wait for another at a time",
        value=scene.mean_sessions(Place.LOCK, Place.LATCH),
        unit="count",
        source=scene.waits_source,
    )


def _remedy(scene: Scene) -> str:
    cell = scene.record.trial.cell
    if cell.workload == "tpcb-like" and cell.scale < cell.clients:
        return remedies.BRANCHES.format(scale=cell.scale, clients=cell.clients)
    return remedies.ROWS
