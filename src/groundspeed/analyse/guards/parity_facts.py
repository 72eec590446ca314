"""The facts that environments are compared over, each of a kind that a suite may `vary`.

What is not known is left out: an unknown fact is neither alike nor different.
"""

from __future__ import annotations

import hashlib
import re
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from groundspeed.analyse.cluster import cluster_facts
from groundspeed.analyse.guards.trials import host_of, sizes_of
from groundspeed.analyse.settings import setting_text
from groundspeed.plan import words_of
from groundspeed.record import PLACE_SETTINGS, Setting
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial
    from groundspeed.record import HostFacts, ServerFacts, StorageFacts
    from groundspeed.record.evidence import ServerSizes
    from groundspeed.record.machine import HostWork

DEFAULT = "default"
ABSENT = "none"
# How a server writes and where it logs, not how fast it is.
WITHOUT_EFFECT = PLACE_SETTINGS | {
    "DateStyle",
    "TimeZone",
    "default_text_search_config",
    "lc_messages",
    "log_destination",
    "log_file_mode",
    "log_line_prefix",
    "log_timezone",
    "ssl_ca_file",
    "ssl_cert_file",
    "ssl_key_file",
    "unix_socket_group",
    "unix_socket_permissions",
}
_HOST = re.compile(r"(?:^|\s)host(?:addr)?='?([^'\s]+)")
_SERVICE = re.compile(r"\.svc(\.|$)")
_LOOPBACK = re.compile(r"localhost|127\.[\d.]+|::1")


class Fact(NamedTuple):
    """A fact by its kind (a word of `vary`) and its name."""

    kind: str
    name: str


STORAGE = Fact("storage", "storage")
FIGURES = Fact("storage", "figures of the emulated device")
HUGE_PAGES = Fact("settings", "huge_pages")
HUGE_PAGES_STATUS = Fact("settings", "huge_pages_status")
PATH = Fact("connection", "connection")
MEMORY = Fact("memory", "memory")
MACHINE = Fact("host", "server's machine")
THIS_MACHINE = "this one"
_WEB = re.compile(r"(?!postgres)(?P<scheme>[a-z]+)://")
Facts = dict[Fact, str]


class Known(NamedTuple):
    """All that is known of an environment; the round trip is a time and not a word.

    `in_force` has values that probes asked for, of settings that `facts` lacks where they are
    default.
    """

    facts: Mapping[Fact, str]
    server_is_known: bool
    round_trip_s: float | None = None
    in_force: Mapping[Fact, str] = MappingProxyType({})


def known(trials: Sequence[MeasuredTrial]) -> Known:
    """Gather the facts of an environment from its trials; several values become "x or y"."""
    values: dict[Fact, dict[str, None]] = {}
    in_force: Facts = {}
    for trial in trials:
        in_force |= _in_force(trial)
        for fact, value in _of(trial).items():
            values.setdefault(fact, {})[value] = None
    trips = [s.round_trip_s for t in trials if (s := sizes_of(t)) and s.round_trip_s is not None]
    return Known(
        facts={fact: " or ".join(sorted(seen)) for fact, seen in values.items()},
        server_is_known=any(t.record.provenance.server is not None for t in trials),
        round_trip_s=median(trips) if trips else None,
        in_force=in_force,
    )


def _in_force(trial: MeasuredTrial) -> Facts:
    sizes = sizes_of(trial)
    if sizes is None:
        return {}
    pages = Setting(
        name="shared_buffers", value=str(sizes.shared_buffers_bytes // 8192), unit="8kB", source=""
    )
    return {
        Fact("settings", "shared_buffers"): setting_text(pages),
        Fact("settings", "max_connections"): str(sizes.max_connections_count),
    }


def _of(trial: MeasuredTrial) -> Facts:
    provenance = trial.record.provenance
    sizes, seen = sizes_of(trial), host_of(trial)
    facts: Facts = {}
    if provenance.command:
        facts |= connection(provenance.command[-1])
    if provenance.server is not None:
        facts |= _server(provenance.server, provenance.engine)
    if provenance.tool_version:
        facts[Fact("version", provenance.tool)] = provenance.tool_version
    if sizes is not None:
        facts |= _sizes(sizes)
    if provenance.host is not None:
        facts |= _host(provenance.host, seen)
    if provenance.storage is not None:
        facts |= {Fact("storage", n): v for n, v in storage(provenance.storage).items()}
        memory_bytes = _memory_bytes(provenance.storage, provenance.host, seen)
        if memory_bytes is not None:
            facts[MEMORY] = format_bytes(memory_bytes)
    if provenance.cluster is not None:
        if provenance.cluster.server is not None:
            # What is known of a machine is of the one that makes the load.
            facts.pop(MEMORY, None)
        facts |= {Fact(one.kind, one.name): one.value for one in cluster_facts(provenance.cluster)}
    return facts


def version(engine: str) -> Fact:
    """Name the version of a server."""
    return Fact("version", words_of(engine).server)


def connection(conninfo: str) -> Facts:
    """Tell by a connection string, or another server's URL, how and where it is reached."""
    if _WEB.match(conninfo):
        # A socket's URL has no host.
        host = urlsplit(conninfo).hostname or "/"
    elif match := _HOST.search(conninfo):
        host = match[1]
    else:
        return {}
    if host.startswith(("/", "@")):
        return {PATH: "unix socket", MACHINE: THIS_MACHINE}
    if _LOOPBACK.fullmatch(host):
        return {PATH: "TCP on loopback", MACHINE: THIS_MACHINE}
    if _SERVICE.search(host):
        # A Service of Kubernetes is no machine: each server has one of its own name.
        return {PATH: "TCP over a network"}
    return {PATH: "TCP over a network", MACHINE: host}


def _server(server: ServerFacts, engine: str) -> Facts:
    facts = {version(engine): server.version}
    for extension in server.extensions:
        name, _, installed = extension.partition(" ")
        facts[Fact("extensions", name)] = installed or "of unknown version"
    for setting in server.settings:
        if setting.name not in WITHOUT_EFFECT:
            facts[Fact("settings", setting.name)] = setting_text(setting)
    return facts


def _sizes(sizes: ServerSizes) -> Facts:
    facts: Facts = {}
    if sizes.data_checksums is not None:
        facts[Fact("settings", "data_checksums")] = sizes.data_checksums
    if sizes.huge_pages_status is not None:
        facts[HUGE_PAGES_STATUS] = sizes.huge_pages_status
    if sizes.is_encrypted is not None:
        facts[Fact("connection", "encryption")] = "on" if sizes.is_encrypted else "off"
    return facts


def _host(host: HostFacts, seen: HostWork | None) -> Facts:
    facts = {
        Fact("cpu", "CPU"): host.cpu_model,
        Fact("cpu", "cores"): str(host.cpu_count),
        Fact("cpu", "CPU governor"): host.governor,
        Fact("host", "kernel"): host.kernel,
        Fact("host", "virtualization"): host.virtualization,
        Fact("host", "clock source"): host.clock_source,
        Fact("host", "transparent huge pages"): host.transparent_huge_pages,
    }
    if seen is not None and seen.group is not None:
        limit = seen.group.cpu_limit_count
        facts[Fact("cpu", "CPU limit")] = ABSENT if limit is None else f"{limit:g} cores"
    if seen is not None and seen.network is not None and seen.network.link_bytes_per_s:
        rate = seen.network.link_bytes_per_s
        facts[Fact("network", "link")] = f"{format_bytes(rate)}/s"
    return {fact: value for fact, value in facts.items() if value is not None}


def _memory_bytes(place: StorageFacts, host: HostFacts | None, seen: HostWork | None) -> int | None:
    """Give the memory of an environment: emulated, of its control group, or of the machine."""
    if place.memory_bytes is not None:
        return place.memory_bytes
    if host is None:
        return None
    limit = seen.group.memory_limit_bytes if seen is not None and seen.group is not None else None
    return host.memory_bytes if limit is None else min(limit, host.memory_bytes)


def figures(profile_json: str) -> str:
    """Stand for the figures of a profile: nobody reads all of them in a sentence."""
    return hashlib.sha256(profile_json.encode()).hexdigest()[:8]


def storage(place: StorageFacts) -> dict[str, str]:
    """Tell the storage of an environment by its facts.

    Where the real files of an emulated device lie shows in no figure, so it is left out.
    """
    if place.emulated:
        facts = {STORAGE.name: f"{place.label} (emulated)"}
        if place.profile is not None:
            facts[FIGURES.name] = figures(place.profile)
        return facts
    facts = {
        STORAGE.name: place.label,
        "file system": place.filesystem,
        "device": place.device,
        "mount options": place.mount_options,
        # Without a place of its own the log lies with the data.
        "file system of the log": place.wal_filesystem or place.filesystem,
        "device of the log": place.wal_device or place.device,
    }
    return {name: value for name, value in facts.items() if value}
