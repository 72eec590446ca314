"""Plays operations on an emulated device in virtual time: what is owed, to the nanosecond."""

from __future__ import annotations

import subprocess
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from groundspeed import native
from groundspeed.storage.device_config import device_config
from groundspeed.storage.profile import Device, Latency, Limit, Profile

if TYPE_CHECKING:
    from collections.abc import Iterable

S = 1_000_000_000
MS = 1_000_000
PAGE = 4096
# In place of a moment: when the operation before is done.
AFTER_THE_LAST = 0
MIB = 1024**2


class Operation(NamedTuple):
    at_ns: int
    what: str
    file: int
    offset: int
    length: int


class Played(NamedTuple):
    at_ns: int
    done_ns: int
    hit_pages: int
    miss_pages: int

    @property
    def took_ns(self) -> int:
        return self.done_ns - self.at_ns


def fixed(seconds: float) -> Latency:
    return Latency(median_s=seconds, p99_s=seconds)


def profile(  # noqa: PLR0913 - each names one property of the device
    *,
    read_s: float = 0.0,
    write_s: float = 0.0,
    sync_s: float = 0.0,
    parallel: int = 64,
    limits: tuple[Limit, ...] = (),
    request_bytes: int = 256 * 1024,
    readahead_bytes: int = 0,
) -> Profile:
    """A device that always takes the same time, unless told otherwise."""
    return Profile(
        name="test",
        about="test",
        device=Device(
            read=fixed(read_s),
            write=fixed(write_s),
            sync=fixed(sync_s),
            parallel_count=parallel,
            limits=limits,
        ),
        request_bytes=request_bytes,
        readahead_bytes=readahead_bytes,
    )


def replay(
    device: Profile, operations: Iterable[Operation], *, cache_bytes: int = 64 * MIB, seed: int = 1
) -> list[Played]:
    """Play operations, which come in order of time."""
    config = device_config(device, roots=["/anywhere"], cache_bytes=cache_bytes, seed=seed)
    with tempfile.NamedTemporaryFile("w", suffix=".config") as file:
        file.write(config)
        file.flush()
        done = subprocess.run(
            [native.executable_path("storage_state"), "replay", file.name],
            input="\n".join(" ".join(map(str, operation)) for operation in operations),
            capture_output=True,
            text=True,
            check=True,
        )
    return [Played(*map(int, line.split())) for line in done.stdout.splitlines()]
