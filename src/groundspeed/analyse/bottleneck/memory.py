"""Too little memory: blocks that come and go, sorts that spill, a machine that swaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import device, remedies
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

# Fewer hits than this with a dataset that fits would be its first seconds after a start.
_CACHED_RATIO = 0.99
# A MiB/s both ways is no tidying up of old pages.
_SWAP_BYTES_PER_S = 1024.0**2
# All tasks at a standstill for memory a tenth of the time.
_PRESSURE_RATIO = 0.1


def bound(scene: Scene) -> Suspect | None:
    """Memory-bound: by shared buffers, by work_mem or by the machine, whichever explains most."""
    found = [s for s in (_buffers(scene), _spill(scene), _machine(scene)) if s is not None]
    return max(found, key=lambda suspect: suspect.score, default=None)


def _buffers(scene: Scene) -> Suspect | None:
    """Blocks that shared buffers lack and the page cache has, and dirty ones put out for them."""
    if not _is_larger_than_buffers(scene):
        return None
    copied = scene.share(Place.READ) - device.read_share(scene)
    put_out = scene.share(Place.WRITE) - device.write_share(scene)
    score = copied + scene.share(Place.BUFFER) + max(0.0, put_out)
    if score <= 0:
        return None
    name = "of database time moves blocks in and out of shared buffers, without a device"
    clue = Clue(
        name=name,
        value=score / max(1e-9, 1.0 - scene.share(Place.OUTSIDE)),
        unit="ratio",
        source=scene.waits_source,
    )
    return Suspect(
        bottleneck=Bottleneck.MEMORY,
        score=min(1.0, score),
        clues=(clue, *_buffer_clues(scene)),
        remedy=_remedy(scene),
        doubtful=not device.read_is_seen(scene),
    )


def _is_larger_than_buffers(scene: Scene) -> bool:
    sizes, database = scene.postgres.sizes, scene.postgres.database
    if sizes is not None and sizes.touched_bytes:
        return sizes.touched_bytes > sizes.shared_buffers_bytes
    cached = database.cached_ratio if database is not None else None
    return cached is not None and cached < _CACHED_RATIO


def _buffer_clues(scene: Scene) -> list[Clue]:
    sizes, database = scene.postgres.sizes, scene.postgres.database
    clues = []
    if database is not None and database.cached_ratio is not None:
        name = "of blocks asked for were in shared buffers"
        clues.append(
            Clue(name=name, value=database.cached_ratio, unit="ratio", source="pg_stat_database")
        )
    if sizes is not None and sizes.touched_bytes and sizes.shared_buffers_bytes:
        name = "times shared buffers is what the workload touches"
        value = sizes.touched_bytes / sizes.shared_buffers_bytes
        source = "pg_table_size, pg_indexes_size and pg_settings"
        clues.append(Clue(name=name, value=value, unit="count", source=source))
    evicted = sum(row.eviction_count for row in scene.postgres.io)
    if evicted and scene.elapsed_s:
        name, rate = "buffers evicted a second", evicted / scene.elapsed_s
        clues.append(Clue(name=name, value=rate, unit="per_s", source="pg_stat_io"))
    return clues


def _remedy(scene: Scene) -> str:
    now = scene.setting("shared_buffers")
    return remedies.BUFFERS.format(now=f" (now {now})" if now else "")


def _spill(scene: Scene) -> Suspect | None:
    """Sorts and hashes that do not fit work_mem."""
    score, database = scene.share(Place.SPILL), scene.postgres.database
    if not score:
        return None
    name = "of database time reads and writes temporary files"
    clues = [scene.waits_clue(name, Place.SPILL)]
    if database is not None and scene.elapsed_s:
        rate = database.temp_bytes / scene.elapsed_s
        name = "go to temporary files"
        clues.append(Clue(name=name, value=rate, unit="bytes_per_s", source="pg_stat_database"))
        name, each = "temporary files", float(database.temp_file_count)
        clues.append(Clue(name=name, value=each, unit="count", source="pg_stat_database"))
    return Suspect(
        bottleneck=Bottleneck.MEMORY, score=score, clues=tuple(clues), remedy=remedies.SPILL
    )


def _machine(scene: Scene) -> Suspect | None:
    """Pages that go to swap and come back while tasks stand still for them."""
    host = scene.host
    if host is None or host.memory is None or not scene.elapsed_s:
        return None
    both_ways = min(host.memory.swap_in_bytes, host.memory.swap_out_bytes) / scene.elapsed_s
    pressure = host.pressure.memory_some_ratio or 0.0
    if both_ways < _SWAP_BYTES_PER_S or pressure < _PRESSURE_RATIO:
        return None
    source = "/proc/vmstat"
    return Suspect(
        bottleneck=Bottleneck.MEMORY,
        score=min(1.0, pressure),
        clues=(
            Clue(
                name="of the time some task stood still for memory",
                value=pressure,
                unit="ratio",
                source="/proc/pressure/memory",
            ),
            Clue(
                name="come back from swap",
                value=host.memory.swap_in_bytes / scene.elapsed_s,
                unit="bytes_per_s",
                source=source,
            ),
            Clue(
                name="were available at the least",
                value=float(host.memory.available_least_bytes),
                unit="bytes",
                source="/proc/meminfo",
            ),
        ),
        remedy=remedies.SWAP if scene.serving is None else remedies.SWAP_DATA,
    )
