"""Pods of Kubernetes that are held back by their own limits: the server's, or the load's.

What is seen of processors is then of the machine that makes the load; of the server's only its
container tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import remedies
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene
    from groundspeed.record.cluster_work import ContainerWork

# As for any control group: held back in half of its periods it could have used much more.
_THROTTLED_RATIO = 0.5
# At 90% of its limit a container is as fast as that lets it be.
_AT_LIMIT_RATIO = 0.8
# What holds a load back in fewer than a tenth of its periods has no part in a name.
_TOLD_SCORE = 0.2
LOAD_REMEDY = (
    "a larger limits.cpu for what makes the load, or more generators: the server was not at its"
    " limit"
)


def starved(scene: Scene) -> Suspect | None:
    """CPU-starved: the server wants more processors than the limit of its pod."""
    cluster = scene.evidence.cluster
    work = None if cluster is None else cluster.server
    score = 0.0 if work is None else _held(work)
    if work is None or score <= 0:
        return None
    limit = _limit(scene)
    if limit and work.cpu_count is not None and work.cpu_count < _AT_LIMIT_RATIO * limit:
        # Held back now and then, and far from its limit over the whole.
        return None
    clues = [_held_clue("of its quota's periods the server was held back in", work)]
    if limit:
        name = "cores are the limit of the server's pod"
        clues.append(Clue(name=name, value=limit, unit="count", source="limits.cpu of the pod"))
    if work.cpu_count is not None:
        name, burnt = "cores burnt by the server", work.cpu_count
        clues.append(Clue(name=name, value=burnt, unit="count", source=work.source))
    return Suspect(
        bottleneck=Bottleneck.CPU_STARVED,
        score=score,
        clues=tuple(clues),
        remedy=remedies.QUOTA,
        counted=True,
    )


def _limit(scene: Scene) -> float | None:
    facts = scene.record.provenance.cluster
    return None if facts is None or facts.server is None else facts.server.limits.cpu_count


def load_held_ratio(scene: Scene) -> float:
    """How far what makes the load was held back by its own limits; 0..1."""
    return max((_held(work) for work in _loads(scene)), default=0.0)


def load_clues(scene: Scene) -> list[Clue]:
    """Say how often what makes the load was held back; nothing where it hardly was."""
    worst = max(_loads(scene), key=_held, default=None)
    if worst is None or _held(worst) < _TOLD_SCORE:
        return []
    return [_held_clue("of its quota's periods what makes the load was held back in", worst)]


def _loads(scene: Scene) -> list[ContainerWork]:
    cluster = scene.evidence.cluster
    if cluster is None:
        return []
    return [work for work in (cluster.client, *cluster.generators) if work is not None]


def _held(work: ContainerWork) -> float:
    return min(1.0, (work.throttled_ratio or 0.0) / _THROTTLED_RATIO)


def _held_clue(name: str, work: ContainerWork) -> Clue:
    return Clue(name=name, value=work.throttled_ratio or 0.0, unit="ratio", source=work.source)
