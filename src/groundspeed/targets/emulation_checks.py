"""What can be known before anything runs on an emulated device: whether this machine can play it.

A program that would not load the shim, and a directory that is slower than the device, are refused
here with a line each.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.record import Caution
from groundspeed.storage import catalogue
from groundspeed.storage.device_config import device_config
from groundspeed.storage.placement import Emulation
from groundspeed.targets import emulation, places, process, real_disk
from groundspeed.targets.leases import OWNED_NAME, LeaseFile
from groundspeed.targets.preloadable import refuse_unloadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.targets.process import Account

# Hours between two of them, virtual ones: no limit and no queue of a device is felt.
_REPLAY_PAUSE_NS = 10**13
_REPLAY_COUNT = 200
_BLOCK_BYTES = 8192
_LITTLE_CACHE_BYTES = 1024**2


def prove_that_it_works() -> None:
    """Play a device that takes no time to a program that reads a file, and see it counted.

    Raises TargetError with what is in the way.
    """
    reader = shutil.which("cat") or "/bin/cat"
    name = f"check-{secrets.token_hex(8)}"
    nothing = Emulation(
        profile=catalogue.profile("null"),
        cache_bytes=_LITTLE_CACHE_BYTES,
        memory_bytes=_LITTLE_CACHE_BYTES,
        memory_assumed=False,
    )
    refuse_program(Path(reader), None)
    with LeaseFile(name) as lease:
        device = emulation.EmulatedDevice(nothing, f"{OWNED_NAME}{name}", account=None, lease=lease)
        root = places.make(places.memory_directory() / f"{OWNED_NAME}{name}-files", None, lease)
        (root / "file").write_text("read me\n", encoding="utf-8")
        device.make([root])
        done = subprocess.run(
            [reader, root / "file"],
            capture_output=True,
            check=False,
            env={**process.kept_variables(), **device.variables()},
        )
        seen = device.counters()
    if done.returncode != 0 or not seen.reads.calls_count:
        raise TargetError(
            f"{reader} was not under emulation: it ended with {done.returncode} and"
            f" {seen.reads.calls_count} reads were seen",
            "see docs/emulation.md for what keeps it out",
        )


def doubts_here(
    asked: Emulation, directories: Sequence[Path], program: Path, account: Account | None
) -> tuple[Caution, ...]:
    """Find out before anything is made whether a device can be played here, and how well.

    Raises TargetError where the program would not be on it or a directory is slower than it.
    """
    refuse_program(program, account)
    found = [doubt for path in directories for doubt in doubts_about(path, asked)]
    return tuple(dict.fromkeys(found))


def refuse_program(program: Path, account: Account | None) -> None:
    """Raise TargetError where a program would not load the shim."""
    uid, gid = (os.getuid(), os.getgid()) if account is None else (account.uid, account.gid)
    refuse_unloadable(program, emulation.shim_path(), uid=uid, gid=gid)


def doubts_about(directory: Path, asked: Emulation) -> tuple[Caution, ...]:
    """Compare the real directory with the device: nothing can be played on something slower.

    Raises TargetError with both figures where the real median is longer than the emulated one; a
    caution where only the slowest real calls are.
    """
    place = places.existing(directory.absolute())
    asked_sync_s, asked_read_s = _emulated_medians_s(asked)
    real = real_disk.measure(place)
    if real.sync_median_s > asked_sync_s > 0 or real.read_median_s > asked_read_s > 0:
        # Once more: somebody else's burst of work is no reason to leave an environment out.
        real = real_disk.measure(place)
    doubts: list[Caution] = []
    for what, median_s, p99_s, asked_s in (
        ("a synced write", real.sync_median_s, real.sync_p99_s, asked_sync_s),
        ("a read", real.read_median_s, real.read_p99_s, asked_read_s),
    ):
        if asked_s == 0:
            # The profile asks for no delay of its own: the real one shows by design.
            continue
        name = asked.profile.label
        if median_s > asked_s:
            raise TargetError(
                f"{place} is slower than {name}: {what} of 8 KiB takes {_ms(median_s)}"
                f" (median), on the device it would be {_ms(asked_s)}",
                "put the files on a faster directory, such as /dev/shm",
            )
        if p99_s > asked_s:
            doubts.append(
                Caution(
                    code="real-disk-uneven",
                    message=f"1 in 100 times {what} takes the real disk longer"
                    f" than {name} usually takes ({_ms(asked_s)})",
                )
            )
    return tuple(doubts)


def _ms(value_s: float) -> str:
    return f"{value_s * 1e3:.3g} ms"


def _emulated_medians_s(asked: Emulation) -> tuple[float, float]:
    """Ask the model itself what a synced write and a read that misses take."""
    with process.memory_file(
        device_config(asked.profile, roots=("/",), cache_bytes=asked.cache_bytes, seed=1),
        None,
    ) as (descriptor, path):
        operations = []
        for number in range(_REPLAY_COUNT):
            at_ns = (number + 1) * _REPLAY_PAUSE_NS
            # Far apart: neighbours would be read ahead.
            offset = number * 1009 * _BLOCK_BYTES
            operations += [
                f"{at_ns} write 1 {offset} {_BLOCK_BYTES}",
                f"{at_ns} fsync 1 0 0",
                f"{at_ns + _REPLAY_PAUSE_NS // 2} read 2 {offset} {_BLOCK_BYTES}",
            ]
        done = emulation.tool(
            "replay", path, stdin="\n".join(operations) + "\n", pass_fds=(descriptor,)
        )
    waits = [int(row[1]) - int(row[0]) for row in map(str.split, done.splitlines())]
    writes, syncs, reads = waits[0::3], waits[1::3], waits[2::3]
    synced = sorted(max(write, sync) for write, sync in zip(writes, syncs, strict=True))
    return synced[len(synced) // 2] / 1e9, sorted(reads)[len(reads) // 2] / 1e9
