"""How servers of each engine are asked while a load is measured: the only list of engines here.

What a sampler imports is loaded when one is opened: the probe process stays small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.plan import POSTGRES
from groundspeed.record.evidence import ProbeLevel
from groundspeed.tools import redis_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.ports import WatchPoints
    from groundspeed.probes.sampling import Sampler


def _postgres(level: ProbeLevel, points: WatchPoints) -> Sampler:
    from groundspeed.probes.database import DatabaseSampler  # noqa: PLC0415 - see above

    return DatabaseSampler(points, waits=level is ProbeLevel.FULL)


def _redis(_level: ProbeLevel, points: WatchPoints) -> Sampler:
    from groundspeed.probes.redis import RedisSampler  # noqa: PLC0415 - see above

    return RedisSampler(points)


_SAMPLERS: Mapping[str, Callable[[ProbeLevel, WatchPoints], Sampler]] = {
    POSTGRES: _postgres,
    redis_engine.NAME: _redis,
}


def sampler(level: ProbeLevel, points: WatchPoints) -> Sampler:
    """Open the sampler of a server. Raises TargetError where it cannot be watched."""
    try:
        opener = _SAMPLERS[points.engine]
    except KeyError:
        raise TargetError(
            f"no server of engine {points.engine!r} can be watched", "use a later groundspeed"
        ) from None
    return opener(level, points)
