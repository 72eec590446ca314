"""What Redis and Valkey promise of acknowledged writes, by their persistence.

Source: Redis documentation, "Redis persistence": AOF with fsync at every query, every second, or
never; snapshots as configured. What a process that is killed has handed to the kernel is not lost,
and the log is written before the reply goes out ("the AOF buffer is flushed before sleeping").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.record.losses import Promise

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan

# How a suite asks for no more loss than so many seconds.
WAYS = (
    (1.0, "options: {persistence: aof everysec}"),
    (0.0, "options: {persistence: aof always}"),
)
_PROMISES = {
    "none": Promise(killed_s=None, power_cut_s=None, words="nothing is kept"),
    "rdb": Promise(
        killed_s=None, power_cut_s=None, words="all since the last snapshot may be lost"
    ),
    "aof-always": Promise(killed_s=0.0, power_cut_s=0.0, words="nothing acknowledged is lost"),
    "aof-everysec": Promise(
        killed_s=0.0, power_cut_s=1.0, words="up to 1 s is lost with the machine"
    ),
    "aof-no": Promise(
        killed_s=0.0,
        power_cut_s=None,
        words="with the machine, what the kernel had not written: often 30 s, no bound",
    ),
}


def promise(environment: EnvironmentPlan) -> Promise:
    """Say what an environment's persistence promises; with a replica, that takes its place."""
    if environment.replica is not None:
        return Promise(
            killed_s=None,
            power_cut_s=None,
            words="what the replica had not received yet may be lost",
        )
    return _PROMISES[dict(environment.options).get("persistence", "none")]
