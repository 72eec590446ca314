"""A watch that goes on: through lost connections, and through versions a server no longer has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.kube.api import Change, KubeError
from groundspeed.kube.refusals import GONE, Asked, refusal
from groundspeed.kube.wire import CutError, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from groundspeed.kube.listing import Listing
    from groundspeed.kube.wire import Wire

# A server sends a bookmark about once a minute. Where nothing came for longer, the connection may
# be dead without telling: asking again from where we are costs nothing.
_LONGEST_SILENCE_S = 90.0
# A control plane that is replaced may be away for minutes; a watch of hours outlives that.
_LONGEST_OUTAGE_S = 300.0
_WAIT_S = 1.0


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What is watched: a path of many objects, and what narrows it."""

    path: str
    query: tuple[tuple[str, str], ...]
    asked: Asked
    limit_s: float


def watch(wire: Wire, watched: Watched, list_all: Callable[[], Listing]) -> Iterator[Change]:
    """Tell the state as ADDED and then every change until the limit; see Api.watch.

    When the state has to be told again, what vanished meanwhile is told as DELETED first, in the
    form it was last seen.
    """
    return _Watch(wire, watched, list_all).changes()


class _Watch:
    def __init__(self, wire: Wire, watched: Watched, list_all: Callable[[], Listing]) -> None:
        self._wire = wire
        self._watched = watched
        self._list_all = list_all
        self._deadline_s = wire.now_s() + watched.limit_s
        self._lost_since_s: float | None = None
        self._version = ""
        self._last: dict[tuple[str, str], dict[str, Any]] = {}

    def changes(self) -> Iterator[Change]:
        while True:
            try:
                if not self._version:
                    yield from self._tell_state()
                if self._left_s() <= 0:
                    return
                yield from self._follow()
            except CutError as cut:
                self._wait(cut)
            except KubeError as error:
                if error.status == GONE:
                    self._version = ""
                    continue
                if error.status is not None and error.status < 500:  # noqa: PLR2004 - theirs
                    raise
                self._wait(error)

    def _left_s(self) -> float:
        return self._deadline_s - self._wire.now_s()

    def _tell_state(self) -> Iterator[Change]:
        items, version = self._list_all()
        self._lost_since_s = None
        there = {_key(item) for item in items}
        for key in [key for key in self._last if key not in there]:
            yield Change(kind="DELETED", object=self._last.pop(key))
        for item in items:
            self._last[_key(item)] = item
            yield Change(kind="ADDED", object=item)
        self._version = version

    def _follow(self) -> Iterator[Change]:
        stream = self._wire.open(self._request())
        self._lost_since_s, since_s = None, self._wire.now_s()
        try:
            for line in lines(stream.chunks(self._silence_s)):
                change = self._read(line)
                if change is not None:
                    yield change
        except CutError:
            if self._left_s() > 0:
                raise
        finally:
            stream.close()
        if self._left_s() > 0 and self._wire.now_s() - since_s < _WAIT_S:
            raise CutError("it ended at once")

    def _silence_s(self) -> float:
        return min(max(self._left_s(), 0.0), _LONGEST_SILENCE_S)

    def _request(self) -> Request:
        further = (
            ("watch", "1"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self._version),
            ("timeoutSeconds", str(max(int(self._left_s()) + 1, 1))),
        )
        return Request(
            method="GET",
            path=self._watched.path,
            query=(*self._watched.query, *further),
            asked=self._watched.asked,
            is_repeatable=True,
        )

    def _read(self, line: bytes) -> Change | None:
        try:
            event = json.loads(line)
        except ValueError as error:
            # A line that a lost connection tore.
            raise CutError("a torn event") from error
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            # It is about the version we came with; another one may do.
            self._version = ""
            raise refusal(int(found.get("code") or 500), found, self._watched.asked)
        self._version = found["metadata"]["resourceVersion"]
        if kind == "BOOKMARK":
            return None
        if kind == "DELETED":
            self._last.pop(_key(found), None)
        else:
            self._last[_key(found)] = found
        return Change(kind=kind, object=found)

    def _wait(self, error: Exception) -> None:
        """Wait a little before asking again; give up when that went on for too long."""
        now_s = self._wire.now_s()
        self._lost_since_s = now_s if self._lost_since_s is None else self._lost_since_s
        if isinstance(error, KubeError) and (
            now_s - self._lost_since_s > _LONGEST_OUTAGE_S or self._left_s() <= 0
        ):
            raise error
        self._wire.sleep(max(min(_WAIT_S, self._left_s()), 0.0))


def _key(item: dict[str, Any]) -> tuple[str, str]:
    meta = item["metadata"]
    return meta.get("namespace") or "", meta["name"]


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Split what arrives into lines, without their ends; the last may be without one."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest
