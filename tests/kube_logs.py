"""Logs of containers in the API server of `kube_server`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import threading

_Key = tuple[str, str, str]


class Line(NamedTuple):
    at_s: float
    text: bytes

    def stamped(self) -> bytes:
        moment = datetime.fromtimestamp(self.at_s, tz=UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S.%f}000Z ".encode() + self.text


class Logs:
    """By namespace, pod and container. `changed` is the condition of the store."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._lines: dict[_Key, list[Line]] = {}
        self._ended: set[_Key] = set()

    def write(self, key: _Key, data: bytes, at_s: float) -> None:
        with self._changed:
            found = self._lines.setdefault(key, [])
            found += [Line(at_s, text) for text in data.splitlines(keepends=True)]
            self._changed.notify_all()

    def end(self, key: _Key) -> None:
        with self._changed:
            self._ended.add(key)
            self._changed.notify_all()

    def is_ended(self, key: _Key) -> bool:
        return key in self._ended

    def lines(self, key: _Key) -> list[Line] | None:
        return self._lines.get(key)


def moment_s(text: str) -> float:
    """Read a time of RFC 3339, with nanoseconds or without."""
    whole = re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00")
    return datetime.fromisoformat(whole).timestamp()
