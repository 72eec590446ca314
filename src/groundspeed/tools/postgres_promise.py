"""What PostgreSQL promises of acknowledged transactions, by its settings.

Source: PostgreSQL documentation, "Write-Ahead Log: Asynchronous Commit" (three times
wal_writer_delay), and fsync under "Settings".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed import units
from groundspeed.record.losses import Promise

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan

# How a suite asks for no more loss than so many seconds.
WAYS = (
    (1.0, "settings: {synchronous_commit: 'off', wal_writer_delay: 200ms}"),
    (0.0, "settings: {synchronous_commit: 'on', fsync: 'on'}"),
)
_DEFAULT_DELAY_S = 0.2
_DELAYS = 3
_WAITS = frozenset({"on", "local", "remote_write", "remote_apply", "true", "yes", "1"})


def promise(environment: EnvironmentPlan) -> Promise:
    """Say what an environment's settings promise; of a delay that cannot be read, nothing."""
    settings = {name.lower(): value.lower() for name, value in environment.settings}
    waits = settings.get("synchronous_commit", "on") in _WAITS
    delay_s = _delay_s(settings.get("wal_writer_delay"))
    killed_s = 0.0 if waits else None if delay_s is None else _DELAYS * delay_s
    if settings.get("fsync", "on") in {"off", "false", "no", "0"}:
        return Promise(
            killed_s=killed_s,
            power_cut_s=None,
            words="fsync off: nothing after a power cut, not even that the server starts",
        )
    if waits:
        return Promise(killed_s=0.0, power_cut_s=0.0, words="nothing acknowledged is lost")
    words = "no bound" if killed_s is None else f"up to {killed_s:g} s (3 x wal_writer_delay)"
    return Promise(killed_s=killed_s, power_cut_s=killed_s, words=words)


def _delay_s(text: str | None) -> float | None:
    if text is None:
        return _DEFAULT_DELAY_S
    if text.isdigit():
        return int(text) / 1000
    try:
        return units.parse_duration_s(text)
    except ValueError:
        return None
