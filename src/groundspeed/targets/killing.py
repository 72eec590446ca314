"""Ends a server as the out-of-memory killer or a crash does: all its processes at once."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from pathlib import Path

from groundspeed.errors import TargetError
from groundspeed.targets import remains

_LIMIT_S, _POLL_S = 20.0, 0.005


def kill_family(pid: int) -> None:
    """Kill a process and all below it, and wait until none of them is left but as a zombie.

    The first is stopped before, so that it starts no other. Raises TargetError when one will not
    go, as with a device that hangs.
    """
    _signal(pid, signal.SIGSTOP)
    family = _family(pid)
    for member in reversed(family):
        _signal(member, signal.SIGKILL)
    for _ in range(int(_LIMIT_S / _POLL_S)):
        if not any(map(_lives, family)):
            return
        select.select([], [], [], _POLL_S)
    raise TargetError(
        f"process {pid} was killed and did not end in {_LIMIT_S:g} s",
        "look for storage that does not answer",
    )


def _family(pid: int) -> tuple[int, ...]:
    members = [pid]
    for member in members:
        members += remains.children_of(member)
    return tuple(members)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # The command's name may hold spaces and parentheses.
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
