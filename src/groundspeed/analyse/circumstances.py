"""Under which circumstances trials ran, as comparable facts: what varied, and what differs.

A hidden factor is a fact that nobody asked to compare and that is not the same in all trials of
a cell or of a comparison.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from groundspeed.analyse.cluster import cluster_facts
from groundspeed.analyse.findings import Difference, EnvironmentFacts
from groundspeed.analyse.settings import setting_text
from groundspeed.plan import POSTGRES, words_of
from groundspeed.record import PLACE_SETTINGS, UNKNOWN, Failed, Measured, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from groundspeed.analyse.attempts import Settled
    from groundspeed.plan import Trial
    from groundspeed.record import (
        HostFacts,
        Imported,
        Provenance,
        Record,
        ServerFacts,
        StorageFacts,
    )

_DEFAULT = "default"
# Which figures stood behind the name of an emulated device: between runs a hidden factor, between
# environments no news.
_FIGURES = "figures of the emulated device"


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _server(server: ServerFacts, engine: str) -> dict[str, str | None]:
    facts: dict[str, str | None] = {words_of(engine).server: server.version}
    facts["extensions"] = ", ".join(sorted(server.extensions)) or "none"
    for setting in server.settings:
        if setting.name not in PLACE_SETTINGS:
            facts[f"setting {setting.name}"] = setting_text(setting)
    return facts


def _host(host: HostFacts) -> dict[str, str | None]:
    return {
        "kernel": host.kernel,
        "CPU": host.cpu_model,
        "CPU count": _text(host.cpu_count),
        "memory": f"{host.memory_bytes / 1024**3:.1f} GiB",
        "virtualization": host.virtualization,
        "CPU governor": host.governor,
        "clock source": host.clock_source,
        "transparent huge pages": host.transparent_huge_pages,
    }


def _storage(storage: StorageFacts) -> dict[str, str | None]:
    # Not the path: every run makes its own directory.
    return {
        "storage": storage.label,
        "emulated": "yes" if storage.emulated else "no",
        "filesystem": storage.filesystem,
        "device": storage.device,
        "mount options": storage.mount_options,
        # Without a place of its own the log lies with the data.
        "WAL filesystem": storage.wal_filesystem or storage.filesystem,
        "WAL device": storage.wal_device or storage.device,
        _FIGURES: None
        if storage.profile is None
        else hashlib.sha256(storage.profile.encode()).hexdigest()[:8],
        **_memory(storage),
    }


def _memory(storage: StorageFacts) -> dict[str, str | None]:
    """Tell what stood before an emulated device; a real one has the machine's memory."""
    if storage.memory_bytes is None or storage.cache_bytes is None:
        return {}
    assumed = " (assumed: that of the machine)" if storage.memory_assumed else ""
    return {
        "emulated memory": f"{storage.memory_bytes / 1024**3:.1f} GiB{assumed}",
        "emulated page cache": f"{storage.cache_bytes / 1024**3:.2f} GiB",
    }


def _provenance(provenance: Provenance) -> dict[str, str | None]:
    facts: dict[str, str | None] = {
        "groundspeed": provenance.groundspeed_version,
        provenance.tool: provenance.tool_version,
    }
    if provenance.server is not None:
        facts |= _server(provenance.server, provenance.engine)
    if provenance.host is not None:
        facts |= _host(provenance.host)
    if provenance.storage is not None:
        facts |= _storage(provenance.storage)
    if provenance.cluster is not None:
        facts |= {fact.name: fact.value for fact in cluster_facts(provenance.cluster)}
    return facts


def _trial(trial: Trial) -> dict[str, str | None]:
    return {
        "protocol": trial.protocol,
        "duration": f"{trial.duration_s} s",
        "warm-up": f"{trial.warm_up_s:g} s",
        "rate": "none" if trial.rate_per_s is None else f"{trial.rate_per_s:g}/s",
        "latency limit": "none"
        if trial.latency_limit_s is None
        else f"{trial.latency_limit_s:g} s",
        "max tries": str(trial.max_tries),
    }


def varied(
    records: Iterable[Record], facts: Callable[[Record], dict[str, str | None]]
) -> dict[str, tuple[str, ...]]:
    """Find the facts with more than one value, in order of appearance; unknown is no value."""
    values: dict[str, dict[str, None]] = {}
    for name, value in _spread([facts(record) for record in records]):
        values.setdefault(name, {})[value] = None
    return {name: tuple(seen) for name, seen in values.items() if len(seen) > 1}


def _spread(all_facts: Sequence[dict[str, str | None]]) -> Iterable[tuple[str, str]]:
    settings = {name: None for f in all_facts for name in f if name.startswith("setting ")}
    for facts in all_facts:
        for name, value in facts.items():
            if value is not None:
                yield name, value
        # pg_settings was asked for what is not default, so absence is a value too.
        # An import may tell the version, but never all settings.
        if "extensions" in facts:
            yield from ((name, _DEFAULT) for name in settings if name not in facts)


def circumstances(record: Record) -> dict[str, str | None]:
    """Gather every fact that must be the same in all trials of a cell."""
    return {
        **_provenance(record.provenance),
        "reset": record.provenance.reset,
        **_trial(record.trial),
        **_of_source(record.provenance.imported),
    }


def _of_source(imported: Imported | None) -> dict[str, str | None]:
    """Tell what the source of an import says, and what it leaves open."""
    if imported is None:
        return {}
    # The version that read it has no part in the figure.
    unknown = dict.fromkeys(imported.unknown, UNKNOWN)
    return {"groundspeed": None, **unknown, **dict(imported.facts)}


def hidden_factors(records: Sequence[Record]) -> tuple[str, ...]:
    """Say which circumstances varied among the trials of one cell, one line for each."""
    return tuple(
        f"trials differ in {name}: {_list(values)}"
        for name, values in varied(records, circumstances).items()
    )


def _list(values: tuple[str, ...]) -> str:
    shown = 4
    more = f" and {len(values) - shown} more" if len(values) > shown else ""
    return ", ".join(values[:shown]) + more


def environment_facts(settled: Settled, environment: str) -> EnvironmentFacts:
    """Gather what is known of an environment; the first record that knows a part tells it."""
    trials = [t for t in settled.trials if t.record.trial.cell.environment == environment]
    outcomes = [t.record.outcome for t in trials]
    seen = [t.record.provenance for t in trials]
    notes = varied([t.record for t in trials], lambda record: _provenance(record.provenance))
    return EnvironmentFacts(
        environment=environment,
        run_ids=tuple(
            dict.fromkeys(
                [
                    *(run.run_id for run in settled.runs if environment in run.environments),
                    *(t.run.run_id for t in trials),
                ]
            )
        ),
        server=next((p.server for p in seen if p.server is not None), None),
        host=next((p.host for p in seen if p.host is not None), None),
        storage=next((p.storage for p in seen if p.storage is not None), None),
        cluster=next((p.cluster for p in seen if p.cluster is not None), None),
        engine=next((p.engine for p in seen), POSTGRES),
        tool=next((p.tool for p in seen if p.tool_version), "pgbench"),
        tool_version=next((p.tool_version for p in seen if p.tool_version), None),
        reset=next((p.reset for p in seen if p.reset), None),
        measured_count=sum(isinstance(o, Measured) for o in outcomes),
        failed_count=sum(isinstance(o, Failed) for o in outcomes),
        skipped_count=sum(isinstance(o, Skipped) for o in outcomes),
        reasons=tuple(dict.fromkeys(o.reason for o in outcomes if isinstance(o, Failed | Skipped))),
        notes=tuple(f"{name} varied: {_list(values)}" for name, values in notes.items()),
        imported=tuple(dict.fromkeys(p.imported for p in seen if p.imported is not None)),
    )


def differences(settled: Settled) -> tuple[Difference, ...]:
    """Find the facts in which environments differ: what is compared, or what confounds it.

    Only measured trials count: a failed one has no number that could be confounded.
    """
    by_environment: dict[str, list[Record]] = {}
    for trial in settled.measured:
        by_environment.setdefault(trial.record.trial.cell.environment, []).append(trial.record)
    names = [name for name in settled.environments if name in by_environment]
    owner = [(name, circumstances(r)) for name in names for r in by_environment[name]]
    known: dict[str, dict[str, dict[str, None]]] = {}
    settings = {fact: None for _, f in owner for fact in f if fact.startswith("setting ")}
    for name, facts in owner:
        defaults = settings if "extensions" in facts else {}
        for fact, value in {**dict.fromkeys(defaults, _DEFAULT), **facts}.items():
            if value is not None and fact != _FIGURES:
                known.setdefault(fact, {}).setdefault(name, {})[value] = None
    found: list[Difference] = []
    for fact, values in known.items():
        texts = {name: _list(tuple(values[name])) for name in names if name in values}
        if len(set(texts.values())) > 1:
            pairs = tuple((name, texts.get(name, "unknown")) for name in names)
            found.append(Difference(fact=fact, values=pairs))
    return tuple(found)
