"""What is known of each environment, as a table: one row a fact, one column an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse import setting_text
from groundspeed.analyse.cluster import cluster_facts
from groundspeed.plan import words_of
from groundspeed.report.scaling import NOTHING, format_bytes
from groundspeed.report.shapes import FactRow, FactTable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from groundspeed.analyse import EnvironmentFacts
    from groundspeed.plan import Words
    from groundspeed.record import HostFacts, Imported, ServerFacts, StorageFacts


# What came of an environment; a difference in them confounds nothing.
_RESULTS = frozenset(
    {"trials measured", "trials failed", "trials skipped", "reasons", "not the same in all trials"}
)


def fact_row(fact: str, values: Sequence[str]) -> FactRow:
    """Make a row; it differs where two known circumstances are not the same."""
    known = {value for value in values if value != NOTHING}
    differs = len(known) > 1 and fact not in _RESULTS
    return FactRow(fact=fact, values=tuple(values), differs=differs)


def label_of(environment: str, emulated: Container[str]) -> str:
    """Name an environment for people; one that is emulated says so wherever it is named."""
    return f"{environment} (emulated)" if environment in emulated else environment


def fact_table(
    environments: Sequence[EnvironmentFacts], emulated: Container[str] = ()
) -> FactTable:
    """Lay the facts of all environments side by side; a fact nobody knows has no row."""
    settings = dict.fromkeys(
        setting.name for facts in environments if facts.server for setting in facts.server.settings
    )
    columns = [dict(_facts(facts)) | _settings(facts, settings) for facts in environments]
    names = dict.fromkeys(name for column in columns for name in column if name not in settings)
    return FactTable(
        environments=tuple(facts.environment for facts in environments),
        labels=tuple(label_of(facts.environment, emulated) for facts in environments),
        rows=tuple(
            fact_row(name, [column.get(name, NOTHING) for column in columns])
            for name in (*names, *settings)
        ),
    )


def _settings(facts: EnvironmentFacts, names: Iterable[str]) -> dict[str, str]:
    if facts.server is None:
        return {}
    # The server was asked for what is not default, so absence is a value too.
    return dict.fromkeys(names, "default") | {
        s.name: setting_text(s) for s in facts.server.settings
    }


def _facts(facts: EnvironmentFacts) -> Iterable[tuple[str, str]]:
    yield "trials measured", f"{facts.measured_count:,}"
    if facts.failed_count or facts.skipped_count:
        yield "trials failed", f"{facts.failed_count:,}"
        yield "trials skipped", f"{facts.skipped_count:,}"
    if facts.reasons:
        yield "reasons", "; ".join(facts.reasons)
    if facts.imported:
        yield from _imported(facts.imported)
    if facts.storage is not None:
        yield from _storage(facts.storage)
    if facts.server is not None:
        yield from _server(facts.server, words_of(facts.engine))
    if facts.tool_version is not None:
        yield facts.tool, facts.tool_version
    if facts.reset is not None:
        yield "reset", facts.reset
    yield from _machines(facts)
    if facts.notes:
        yield "not the same in all trials", "; ".join(facts.notes)


def _machines(facts: EnvironmentFacts) -> Iterable[tuple[str, str]]:
    if facts.cluster is not None:
        yield from ((fact.name, fact.value) for fact in cluster_facts(facts.cluster))
    if facts.host is not None:
        # In Kubernetes this is the machine that makes the load, and not the server's.
        whose = "" if facts.cluster is None else " (load)"
        yield from ((f"{name}{whose}", value) for name, value in _host(facts.host))


def _imported(sources: Sequence[Imported]) -> Iterable[tuple[str, str]]:
    first = sources[0]
    what = "published by" if first.is_published else "imported from"
    yield what, "; ".join(dict.fromkeys(source.reference for source in sources))
    urls = dict.fromkeys(source.url for source in sources if source.url)
    if urls:
        yield "address", "; ".join(urls)
    for name, value in first.facts:
        # Settings have rows of their own, where a server was asked for them.
        yield name.removeprefix("setting "), value
    told = list(dict.fromkeys(name for source in sources for name in source.unknown))
    yield "not told", ", ".join(told)


def _storage(storage: StorageFacts) -> Iterable[tuple[str, str]]:
    yield "storage", f"{storage.label} (emulated)" if storage.emulated else storage.label
    yield "path", storage.path
    yield "filesystem", storage.filesystem or NOTHING
    yield "device", storage.device or NOTHING
    yield "mount options", storage.mount_options or NOTHING
    if storage.memory_bytes is not None and storage.cache_bytes is not None:
        assumed = " (assumed: that of the machine)" if storage.memory_assumed else ""
        yield "emulated memory", f"{format_bytes(storage.memory_bytes)}{assumed}"
        yield "emulated page cache", format_bytes(storage.cache_bytes)
    if storage.wal_path is not None:
        yield "WAL path", storage.wal_path
        yield "WAL filesystem", storage.wal_filesystem or NOTHING
        yield "WAL device", storage.wal_device or NOTHING


def _server(server: ServerFacts, words: Words) -> Iterable[tuple[str, str]]:
    yield words.server, server.version
    if server.extensions:
        yield "extensions", ", ".join(server.extensions)


def _host(host: HostFacts) -> Iterable[tuple[str, str]]:
    yield "kernel", host.kernel
    yield "CPU", f"{host.cpu_count} x {host.cpu_model}"
    yield "memory", format_bytes(host.memory_bytes)
    yield "virtualization", host.virtualization
    known = (
        ("CPU governor", host.governor),
        ("clock source", host.clock_source),
        ("transparent huge pages", host.transparent_huge_pages),
    )
    yield from ((name, value) for name, value in known if value is not None)
