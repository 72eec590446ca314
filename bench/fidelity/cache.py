"""The emulated page cache: a quarter of the file fits, so a quarter of uniform reads must hit.

Once while this machine's own cache holds the whole file, and once after it was told to drop it:
what the real cache holds must not matter.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from bench.fidelity import fio
from bench.fidelity.line import Line, Unit
from bench.fidelity.workshop import MIB, drop, fill
from groundspeed.stats.median import median_interval
from groundspeed.storage import catalogue

if TYPE_CHECKING:
    from bench.fidelity.workshop import Workshop

_CACHE_BYTES, _FILE_BYTES = 256 * MIB, 1024 * MIB
_BLOCK_BYTES = 4096
_JOBS = 4
_ALLOWED_RATIO = 0.03
_SHARE = Unit(word="%", scale=100, digits=2)


def _hit_ratio(shop: Workshop, file: Path, *, cold: bool) -> float:
    """Warm the emulated cache up, then take the difference of its counters over a second run."""
    with shop.device(
        catalogue.profile("local-nvme-plp"), file.parent, cache_bytes=_CACHE_BYTES
    ) as device:
        # Four times what the cache holds is looked for: e^-4 of it at most is not yet steady.
        for job_bytes in (4 * _CACHE_BYTES // _JOBS, shop.choose(512, 128) * MIB // _JOBS):
            if cold:
                drop(file)
            before = device.counters().reads
            fio.run(
                fio.Work(
                    file=file,
                    pattern="randread",
                    block_bytes=_BLOCK_BYTES,
                    jobs=_JOBS,
                    job_bytes=job_bytes,
                    direct=False,
                    seed=shop.dice.getrandbits(31),
                ),
                device.variables,
            )
        after = device.counters().reads
    hits = after.hit_pages_count - before.hit_pages_count
    misses = after.miss_pages_count - before.miss_pages_count
    return hits / (hits + misses)


def measure(shop: Workshop) -> list[Line]:
    """Measure the share of hits on this disk, hot and cold."""
    found = defaultdict(list)
    with shop.directory(Path(gettempdir())) as directory:
        file = fill(directory / "a", _FILE_BYTES)
        for cold in shop.shuffled_blocks((False, True), shop.choose(6, 1)):
            if not cold:
                _read_whole(file)
            found[cold].append(_hit_ratio(shop, file, cold=cold))
    return [_line(found[cold], cold=cold) for cold in (False, True)]


def _read_whole(file: Path) -> None:
    with file.open("rb", buffering=0) as opened:
        while opened.read(4 * MIB):
            pass


def _line(values: list[float], *, cold: bool) -> Line:
    asked = _CACHE_BYTES / _FILE_BYTES
    error = median_interval(values).median - asked
    return Line(
        what=f"hits, cache 256 MiB, uniform over 1 GiB, {'cold' if cold else 'hot'} host cache",
        asked=f"{asked:.0%}",
        measured=_SHARE.measured(values),
        error=f"{error * 100:+.2f} points",
        allowed=f"{_ALLOWED_RATIO * 100:.0f} points",
        met=abs(error) <= _ALLOWED_RATIO,
        raw={"asked": asked, "values": values},
    )
