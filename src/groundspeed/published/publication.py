"""A file of published results becomes environments and cells, with what is told beside them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.errors import UsageError
from groundspeed.published import shape

if TYPE_CHECKING:
    from collections.abc import Iterator

# "Title (author, 2026-03-07)"; either part in the brackets may be missing.
_SOURCE = re.compile(
    r"(?P<title>.*\S)\s*\((?P<author>[^()]*?)(?:,?\s*(?P<date>\d{4}(?:-\d\d){0,2}))?\)"
)
# What of a storage's description is of use in a comparison, and how it is written.
_UNITS = {"type": "", "size_gb": " GB", "iops": " IOPS", "throughput_mb_s": " MB/s"}
_SHAPE_HINT = "docs/import.md of groundspeed shows the shape; an article itself is for the audit"


class PublishedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One published figure of pgbench; None where the publication does not say."""

    workload: str
    clients: int
    threads: int | None
    tps_per_s: float
    mean_s: float | None


class PublishedEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """One environment; `facts` are what is told of it, by the names that reports use."""

    name: str
    label: str
    facts: tuple[tuple[str, str], ...]
    scale: int | None
    duration_s: int | None
    protocol: str | None
    cells: tuple[PublishedCell, ...]


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's benchmark. `date` is as it is written: a year, a month or a day.

    `file` keeps what only another engine's readers understand.
    """

    name: str
    title: str
    author: str | None
    date: str | None
    url: str | None
    tool: str
    note: str
    environments: tuple[PublishedEnvironment, ...]
    file: shape.File

    @property
    def cells_count(self) -> int:
        """The number of figures of pgbench."""
        return sum(len(environment.cells) for environment in self.environments)

    @property
    def reference(self) -> str:
        """Name the source in a line."""
        told = ", ".join(part for part in (self.author, self.date) if part)
        return f"{self.title} ({told})" if told else self.title


def parse(text: str | bytes, *, name: str) -> Publication:
    """Read the JSON of a publication. Raises UsageError for JSON of another shape."""
    try:
        file = msgspec.json.decode(text, type=shape.File)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: no published results: {error}", _SHAPE_HINT) from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{name}: not JSON: {error}", _SHAPE_HINT) from None
    names = [environment.environment for environment in file.environments]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise UsageError(f"{name}: environment {twice!r} is there twice", _SHAPE_HINT)
    match = _SOURCE.fullmatch(file.source.strip())
    parts = match.groupdict() if match else {"title": file.source}
    return Publication(
        name=name,
        title=parts["title"] or file.source,
        author=file.author or parts.get("author") or None,
        date=file.date or parts.get("date"),
        url=file.url,
        tool=file.tool,
        note=file.note,
        environments=tuple(
            _environment(environment, _typed(file.tool)) for environment in file.environments
        ),
        file=file,
    )


class _Typed(NamedTuple):
    """What the published command line tells of all its cells."""

    threads: int | None
    duration_s: int | None
    scale: int | None
    protocol: str | None


def _typed(tool: str) -> _Typed:
    def number(option: str) -> int | None:
        # Letters stand for what varies, as in "-c N".
        match = re.search(rf"\s-{option}\s*(\d+)\b", tool)
        return int(match[1]) if match else None

    if not tool.startswith("pgbench"):
        return _Typed(None, None, None, None)
    protocol = re.search(r"\s(?:-M\s*|--protocol[ =])(simple|extended|prepared)\b", tool)
    return _Typed(number("j"), number("T"), number("s"), protocol[1] if protocol else None)


def _environment(told: shape.Environment, typed: _Typed) -> PublishedEnvironment:
    return PublishedEnvironment(
        name=told.environment,
        label=told.label or told.environment,
        facts=tuple(_facts(told)),
        scale=told.scale or typed.scale,
        duration_s=told.duration_s or typed.duration_s,
        protocol=typed.protocol,
        cells=tuple(
            PublishedCell(
                workload=point.workload,
                clients=point.clients,
                threads=point.threads or typed.threads,
                tps_per_s=point.tps,
                mean_s=None if point.latency_ms is None else point.latency_ms / 1000,
            )
            for point in told.points
        ),
    )


def _facts(told: shape.Environment) -> Iterator[tuple[str, str]]:
    if told.label:
        yield "environment", told.label
    if told.postgres is not None:
        yield "PostgreSQL", told.postgres
    storage = _storage(told)
    if storage:
        yield "storage", storage
    if told.instance is not None:
        yield "CPU", f"that of instance {told.instance}"
        yield "memory", f"that of instance {told.instance}"
    for name, value in (("platform", told.platform), ("region", told.region)):
        if value is not None:
            yield name, value
    for name, value in told.settings.items():
        yield f"setting {name}", _setting(value)


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _storage(told: shape.Environment) -> str:
    if isinstance(told.storage, str):
        return told.storage
    parts = [
        f"{value}{_UNITS[key]}" for key, value in (told.storage or {}).items() if key in _UNITS
    ]
    return ", ".join([told.disk, *parts] if told.disk else parts)
