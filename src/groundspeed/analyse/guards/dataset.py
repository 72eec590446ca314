"""Dataset guard: a storage comparison whose data lie in memory compares memory with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.diagnosis import GuardFinding, GuardKind
from groundspeed.analyse.guards import parity_facts
from groundspeed.analyse.guards.trials import (
    by_cell,
    environments_of,
    host_of,
    keys_of,
    sizes_of,
)
from groundspeed.plan import (
    DATASET_BYTES_PER_SCALE,
    DEFAULT_SHARED_BUFFERS_BYTES,
    POSTGRES,
)
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.plan import Cell
    from groundspeed.record import Record

CODE = "did-not-measure-storage"
# Of the time of all clients: an emulated device that held them longer was measured, whatever the
# sizes say (a cache that was cold, a script with files of its own).
_DEVICE_SHARE_RATIO = 0.05
_BUFFERS, _EMULATED, _PAGES = "shared buffers", "the emulated page cache", "the page cache"


class _Fit(NamedTuple):
    """The data of a cell, and where they fit; `off` is the setting that lets writes not wait."""

    touched_bytes: int
    estimated: bool
    place: str
    capacity_bytes: int
    off: str


def dataset_findings(settled: Settled) -> tuple[GuardFinding, ...]:
    """Find the cells of a storage comparison that never had to reach the storage.

    Those are cells that only read, and cells that write where neither commits nor checkpoints wait
    for the log; their data must fit shared buffers or page cache.
    """
    if not _compares_storage(settled):
        return ()
    merged: dict[tuple[int, bool, str, str], list[tuple[Cell, _Fit]]] = {}
    for cell, trials in by_cell(settled).items():
        fit = _fit(trials)
        if fit is not None:
            key = (cell.scale, fit.estimated, fit.place, fit.off)
            merged.setdefault(key, []).append((cell, fit))
    return tuple(_finding(settled, found) for found in merged.values())


def _compares_storage(settled: Settled) -> bool:
    """Tell whether environments were measured on different storage, or were meant to be."""
    if any(run.vary is not None and "storage" in run.vary for run in settled.runs):
        return len({t.record.trial.cell.environment for t in settled.measured}) > 1
    seen: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for trial in settled.measured:
        storage = trial.record.provenance.storage
        if storage is not None:
            facts = tuple(sorted(parity_facts.storage(storage).items()))
            seen.setdefault(trial.record.trial.cell.environment, set()).add(facts)
    return len({frozenset(facts) for facts in seen.values()}) > 1


def _finding(settled: Settled, found: Sequence[tuple[Cell, _Fit]]) -> GuardFinding:
    cells = [cell for cell, _ in found]
    fits = [fit for _, fit in found]
    touched = format_bytes(max(fit.touched_bytes for fit in fits))
    sizes = {format_bytes(fit.capacity_bytes) for fit in fits}
    least = format_bytes(min(fit.capacity_bytes for fit in fits))
    about = f"about {touched} (estimated from the scale)" if fits[0].estimated else touched
    capacity = least if len(sizes) == 1 else f"{least} or more"
    unsynced = f" and {fits[0].off} is off" if fits[0].off else ""
    return GuardFinding(
        kind=GuardKind.DATASET,
        code=CODE,
        message=f"the data of {about} fit in {fits[0].place} of {capacity}{unsynced}:"
        " this did not measure storage",
        cells=keys_of(settled, cells),
        environments=environments_of(settled, cells),
    )


def _fit(trials: Sequence[MeasuredTrial]) -> _Fit | None:
    """Say where the data of a cell fit in every one of its trials; None where they do not."""
    fits = [_fit_of(trial) for trial in trials]
    known = [fit for fit in fits if fit is not None]
    if len(known) < len(fits):
        return None
    # The one that fits most narrowly speaks for all.
    return min(known, key=lambda fit: fit.capacity_bytes - fit.touched_bytes)


def _fit_of(trial: MeasuredTrial) -> _Fit | None:
    if trial.record.provenance.imported is not None or trial.run.engine != POSTGRES:
        # Neither its buffers nor its memory are known, only that it had some. Another engine's data
        # are in memory, and nobody says that reads measure storage.
        return None
    off = _unsynced(trial.record) if trial.writes else ""
    if (trial.writes and not off) or _device_was_felt(trial):
        return None
    sizes = sizes_of(trial)
    touched_bytes = (
        trial.record.trial.cell.scale * DATASET_BYTES_PER_SCALE
        if sizes is None
        else sizes.touched_bytes
    )
    for place, capacity_bytes in _places(trial):
        if touched_bytes <= capacity_bytes:
            return _Fit(touched_bytes, sizes is None, place, capacity_bytes, off)
    return None


def _unsynced(record: Record) -> str:
    """Name the setting by which commits do not wait for the log; empty where they do."""
    server = record.provenance.server
    settings = {} if server is None else {s.name: s.value for s in server.settings}
    return next((n for n in ("fsync", "synchronous_commit") if settings.get(n) == "off"), "")


def _device_was_felt(trial: MeasuredTrial) -> bool:
    work = trial.record.storage_work
    if work is None or work.elapsed_s <= 0:
        return False
    waited_s = work.read_waited_s + work.write_waited_s + work.sync_waited_s
    all_s = work.elapsed_s * trial.record.trial.cell.clients
    return waited_s > _DEVICE_SHARE_RATIO * all_s


def _places(trial: MeasuredTrial) -> list[tuple[str, int]]:
    """List what could hold the data, with its size; the first that does is named."""
    buffers_bytes = shared_buffers_bytes(trial)
    places = [(_BUFFERS, buffers_bytes)]
    storage = trial.record.provenance.storage
    if storage is None:
        # A given server: the memory of its machine cannot be asked for over SQL.
        return places
    if storage.cache_bytes is not None:
        return [*places, (_EMULATED, storage.cache_bytes)]
    cluster = trial.record.provenance.cluster
    if cluster is not None:
        # What is known of a machine is of the one that makes the load.
        held_bytes = cluster.memory_bytes
        rest = [] if held_bytes is None else [(_PAGES, max(0, held_bytes - buffers_bytes))]
        return [*places, *rest]
    host = trial.record.provenance.host
    seen = host_of(trial)
    memory_bytes = host.memory_bytes if host is not None else 0
    if seen is not None and seen.group is not None and seen.group.memory_limit_bytes is not None:
        memory_bytes = min(memory_bytes, seen.group.memory_limit_bytes)
    rest_bytes = max(0, memory_bytes - buffers_bytes)
    if seen is not None and seen.memory is not None:
        # What others hold is no page cache of ours.
        rest_bytes = min(rest_bytes, seen.memory.available_least_bytes)
    return [*places, (_PAGES, rest_bytes)]


def shared_buffers_bytes(trial: MeasuredTrial) -> int:
    """Give shared_buffers as probes saw it, or by the server's settings."""
    sizes = sizes_of(trial)
    if sizes is not None:
        return sizes.shared_buffers_bytes
    server = trial.record.provenance.server
    named = [s.value for s in server.settings if s.name == "shared_buffers"] if server else []
    # pg_settings counts pages of 8 KiB.
    return int(named[0]) * 8192 if named and named[0].isdigit() else DEFAULT_SHARED_BUFFERS_BYTES
