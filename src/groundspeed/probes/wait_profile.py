"""Waits as the extension pg_wait_sampling counts them, where it is there and counts all.

Its collector samples a hundred times a second inside the server, which ten looks a second from
outside cannot match. It is no use where it does not tell processes apart (profile_pid) or leaves
out sessions on the processor (before 1.1.5, or sample_cpu): shares of database time would be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.probes.waits import ProfileRow, profile_growth

if TYPE_CHECKING:
    from groundspeed.probes.asking import Asking
    from groundspeed.record.evidence import WaitCount

SOURCE = "pg_wait_sampling"
_WHAT = "pg-wait-sampling"


class WaitProfile:
    """The profile of a server between `begin` and `end`."""

    def __init__(self, asking: Asking, *, own_pid: int) -> None:
        self._asking = asking
        self._own_pid = own_pid
        self._is_usable = self._check()
        self._before: list[ProfileRow] | None = None
        self._background: dict[int, str] = {}

    def begin(self) -> None:
        """Take the profile as it is."""
        self._background = {}
        self._note_background()
        self._before = self._take()

    def know(self, background: dict[int, str]) -> None:
        """Take in processes of the server by pid: those that come and go must be told apart."""
        self._background |= background

    def end(self) -> tuple[tuple[WaitCount, ...], int] | None:
        """Tell what grew and over how many samples; None where that cannot be known."""
        after = self._take()
        if self._before is None or after is None:
            return None
        self._note_background()
        grown = profile_growth(
            self._before, after, background=self._background, own_pid=self._own_pid
        )
        if grown is None:
            self._asking.note(_WHAT, "its profile was reset, or shows no process of the server")
        return grown

    def _check(self) -> bool:
        row = self._asking.ask_one(_WHAT, "wait-profile-settings")
        if row is None:
            return False
        if row["samples_cpu"] != "on":
            self._asking.note(_WHAT, "it does not sample sessions on the processor")
        elif row["profiles_processes"] != "on":
            self._asking.note(_WHAT, "its profile does not tell processes apart")
        else:
            return True
        return False

    def _take(self) -> list[ProfileRow] | None:
        if not self._is_usable:
            return None
        rows = self._asking.ask(_WHAT, "wait-profile")
        return None if rows is None else msgspec.convert(rows, list[ProfileRow])

    def _note_background(self) -> None:
        rows = self._asking.ask(_WHAT, "background") or []
        self._background |= {row["pid"]: row["backend_type"] for row in rows}
