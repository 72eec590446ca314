"""The same cap on the same files, set once in the kernel and once in the shim.

The emulated device has the cap and no latency of its own, so that the cap is all that both have.
Its cap has the kernel's slice of time, whose requests may all go at its start.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bench.fidelity import fio, loop_device
from bench.fidelity.database import NATIVE, database
from bench.fidelity.line import Line, not_possible
from bench.fidelity.pairs import abba, agree
from bench.fidelity.workshop import MIB, drop, fill
from groundspeed.storage import catalogue
from groundspeed.storage.profile import Counted, Direction, Limit

if TYPE_CHECKING:
    from pathlib import Path

    from bench.fidelity.database import Database
    from bench.fidelity.loop_device import LoopDevice
    from bench.fidelity.workshop import Workshop
    from groundspeed.storage.profile import Profile

# What was found in a block: by the kernel and by the shim.
Block = tuple[list[float], list[float]]

_ALLOWED_RATIO = 0.10
_DEVICE_BYTES = 4096 * MIB
_FILE_BYTES = 512 * MIB
_CACHE_BYTES = 1024 * MIB
_WHAT = "kernel's cap against the shim's"
_SCALE = 10
# What blk-throttle lets through in so much time goes at its start (block/blk-throttle.c: a tenth
# of a second). Clients that share syncs of the log share more or fewer of them for it.
_KERNEL_SLICE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FioCase:
    """Work of fio and the cap it runs into."""

    pattern: str
    block_bytes: int
    jobs: int
    limit: Limit

    @property
    def what(self) -> str:
        """Name it."""
        return f"fio {self.pattern} {self.block_bytes // 1024} KiB, {_count(self.jobs, 'job')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PgbenchCase:
    """A workload of pgbench, the cap it runs into, and the settings that bring it there."""

    name: str
    script: str
    clients: int
    limit: Limit
    settings: tuple[tuple[str, str], ...]

    @property
    def what(self) -> str:
        """Name it."""
        return f"pgbench {self.name}, {_count(self.clients, 'client')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def _limit(of: Counted, on: Direction, rate_per_s: float) -> Limit:
    return Limit(of=of, on=on, rate_per_s=rate_per_s, slice_s=_KERNEL_SLICE_S)


_FIO = (
    FioCase(
        pattern="randread",
        block_bytes=4096,
        jobs=8,
        limit=_limit(Counted.REQUESTS, Direction.READ, 1000.0),
    ),
    FioCase(
        pattern="randwrite",
        block_bytes=4096,
        jobs=8,
        limit=_limit(Counted.REQUESTS, Direction.WRITE, 1000.0),
    ),
    FioCase(
        pattern="read",
        block_bytes=262144,
        jobs=1,
        limit=_limit(Counted.BYTES, Direction.READ, 50.0 * MIB),
    ),
    FioCase(
        pattern="write",
        block_bytes=262144,
        jobs=1,
        limit=_limit(Counted.BYTES, Direction.WRITE, 50.0 * MIB),
    ),
)
# All of it fits: what reaches the device is the log, synced at each commit.
_FITS = (("shared_buffers", "512MB"),)
# The kernel's page cache has the size of the machine, not of the emulated one; so neither is used,
# and nearly every transaction reads a page.
_PAST_THE_CACHE = (("shared_buffers", "8MB"), ("debug_io_direct", "data"))
_PGBENCH = (
    *(
        PgbenchCase(
            name="simple-update",
            script="simple-update",
            clients=clients,
            limit=_limit(Counted.REQUESTS, Direction.WRITE, 300.0),
            settings=_FITS,
        )
        for clients in (1, 8)
    ),
    PgbenchCase(
        name="select-only past the page cache",
        script="select-only",
        clients=8,
        limit=_limit(Counted.REQUESTS, Direction.READ, 1000.0),
        settings=_PAST_THE_CACHE,
    ),
)


def only_capped(limit: Limit) -> Profile:
    """Give a device that costs nothing but the cap."""
    null = catalogue.profile("null")
    device = msgspec.structs.replace(null.device, limits=(limit,))
    return msgspec.structs.replace(null, name="capped", device=device)


def measure(shop: Workshop) -> list[Line]:
    """Compare fio and pgbench under both caps, or say why not."""
    why = loop_device.why_not()
    if why is not None:
        return [not_possible(_WHAT, why)]
    try:
        with loop_device.mounted(shop, _DEVICE_BYTES) as device:
            return [*_fio_lines(shop, device), *_pgbench_lines(shop, device)]
    except PermissionError as error:
        return [not_possible(_WHAT, str(error))]


def _agree(case: FioCase | PgbenchCase, blocks: list[Block], unit: str) -> Line:
    rate, word = case.limit.rate_per_s, f"{case.limit.on.value} IOPS"
    if case.limit.of is Counted.BYTES:
        rate, word = rate / MIB, f"MiB/s of {case.limit.on.value}s"
    return agree(
        f"kernel and shim, cap {rate:,.0f} {word}: {case.what}",
        blocks,
        allowed_ratio=_ALLOWED_RATIO,
        asked="kernel:",
        unit=unit,
    )


def _fio_lines(shop: Workshop, device: LoopDevice) -> list[Line]:
    found: dict[FioCase, list[Block]] = defaultdict(list)
    with shop.directory(device.directory) as directory:
        file = fill(directory / "a", _FILE_BYTES)
        for case in shop.shuffled_blocks(_FIO, shop.choose(4, 1)):
            found[case].append(abba(partial(_fio, shop, device, case, file)))
    return [
        _agree(case, found[case], " IOPS" if case.limit.of is Counted.REQUESTS else " MiB/s")
        for case in _FIO
    ]


def _fio(
    shop: Workshop,
    device: LoopDevice,
    case: FioCase,
    file: Path,
    emulated: bool,  # noqa: FBT001 - `abba` calls it with one of its two ways
) -> float:
    work = fio.Work(
        file=file,
        pattern=case.pattern,
        block_bytes=case.block_bytes,
        jobs=case.jobs,
        duration_s=shop.choose(3, 2),
        ramp_s=1,
        seed=shop.dice.getrandbits(31),
    )
    # Under the shim the real writes stay in the page cache; direct ones would have to write them
    # first, under the cap.
    drop(file)
    if emulated:
        with shop.device(only_capped(case.limit), file.parent) as played:
            done = fio.run(work, played.variables)
    else:
        with device.throttle.capped(case.limit):
            done = fio.run(work, NATIVE)
    if case.limit.of is Counted.REQUESTS:
        return done.requests_per_s
    return done.bytes_per_s / MIB


def _pgbench_lines(shop: Workshop, device: LoopDevice) -> list[Line]:
    lines = []
    for case in _PGBENCH:
        with database(shop, device.directory, scale=_SCALE, settings=case.settings) as served:
            found = [
                abba(partial(_pgbench, shop, device, case, served))
                for _ in range(shop.choose(2, 1))
            ]
        lines.append(_agree(case, found, " TPS"))
    return lines


def _pgbench(
    shop: Workshop,
    device: LoopDevice,
    case: PgbenchCase,
    served: Database,
    emulated: bool,  # noqa: FBT001 - `abba` calls it with one of its two ways
) -> float:
    """Start the server, bring it to its speed under the cap, measure, end it at once."""
    served.settle()
    with ExitStack() as stack:
        variables = NATIVE
        if emulated:
            played = stack.enter_context(
                shop.device(
                    only_capped(case.limit),
                    served.data_directory,
                    cache_bytes=_CACHE_BYTES,
                    account=shop.account,
                )
            )
            variables = played.variables
        stack.enter_context(served.running(variables))
        if case.limit.on is Direction.WRITE:
            served.warm()
        if not emulated:
            stack.enter_context(device.throttle.capped(case.limit))
        arguments = ("-b", case.script, "-c", str(case.clients), "-T")
        served.tps_per_s(*arguments, "2")
        return served.tps_per_s(*arguments, str(shop.choose(6, 4)))
