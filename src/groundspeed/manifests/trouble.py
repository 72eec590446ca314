"""What is wrong with an object, as a person is told it, and what the API server says made fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.manifests.naming import Object

# What is cut out of a longer text is its middle: causes stand at its end.
_LONGEST_TEXT, _KEPT_EACH_SIDE = 300, 145


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why an object does not get where it should. `message` and `hint` are one line each.

    `reason` is a word for programs, as in oom-killed. It is final where waiting longer does not
    help; else it is what to tell when the time is up.
    """

    reason: str
    message: str
    hint: str
    is_final: bool


def name_of(obj: Object) -> str:
    """Name an object by its metadata."""
    return str(obj["metadata"]["name"])


def one_line(text: object) -> str:
    """Make one line of what a server said, without its full stop; a long one loses its middle."""
    line = " ".join(str(text or "").split()).rstrip(".")
    if len(line) <= _LONGEST_TEXT:
        return line
    return f"{line[:_KEPT_EACH_SIDE].rstrip()} ... {line[-_KEPT_EACH_SIDE:].lstrip()}"


def telling_line(text: object) -> str:
    """Find the line of a log's end that tells why: the last fatal one, or else the last."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    fatal = [line for line in lines if re.search(r"\b(FATAL|PANIC|[Ee]rror)\b", line)]
    return one_line((fatal or lines or [""])[-1])


def events_of(obj: Object, events: Sequence[Object]) -> list[Object]:
    """Take the events of one object out of many, the latest last."""
    uid, name = obj["metadata"].get("uid"), name_of(obj)

    def is_meant(event: Object) -> bool:
        about = event.get("involvedObject") or event.get("regarding") or {}
        told = about.get("uid")
        return bool(told == uid if told and uid else about.get("name") == name)

    return sorted((event for event in events if is_meant(event)), key=_time_of)


def _time_of(event: Object) -> str:
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
    )
    # Some have fractions of a second and some have none: to the second they sort as text.
    return next((str(time)[:19] for time in times if time), "")


def count_of(event: Object) -> int:
    """Tell how often an event was seen."""
    series: dict[str, Any] = event.get("series") or {}
    return int(event.get("count") or series.get("count") or 1)


def condition(obj: Object, kind: str) -> dict[str, Any]:
    """Find a condition of an object that holds or not; {} where it has none of that kind."""
    found = (obj.get("status") or {}).get("conditions") or []
    return next((dict(one) for one in found if one.get("type") == kind), {})


def holds(obj: Object, kind: str) -> bool:
    """Tell whether a condition of an object is known to hold."""
    return condition(obj, kind).get("status") == "True"


def first_match(text: str, table: Sequence[tuple[str, str]]) -> str | None:
    """Find the first entry of a table of (pattern, value) whose pattern is in a text."""
    return next((value for pattern, value in table if re.search(pattern, text)), None)
