"""How a storage request becomes directories and, where it is emulated, a device with its cache.

The seam for storage emulation: a target asks here and does as it is told, whatever the storage is.
This module is pure; it makes no directory, starts nothing and looks at no machine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.plan import DEFAULT_SHARED_BUFFERS_BYTES
from groundspeed.storage.profile import Profile

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan, StorageRequest

# Even a server whose memory is all shared buffers has some page cache: its own programs need it.
LEAST_CACHE_BYTES = 64 * 1024**2
_BLOCK_BYTES = 8192
# guc.c: units of memory, case and all, and whatever strtol and strtod take for a number.
_UNITS = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
_SIZE = re.compile(
    r"\s*\+?(?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<octal>0[0-7]+)"
    r"|(?P<decimal>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+))"
    r"\s*(?P<unit>B|kB|MB|GB|TB)?\s*"
)


class Emulation(msgspec.Struct, frozen=True, kw_only=True):
    """A device to be played and the memory that stands before it.

    `cache_bytes` is its page cache, `memory_bytes` the memory of the environment, of which shared
    buffers and page cache are made; `memory_assumed` where the suite named none and that of this
    machine was taken.
    """

    profile: Profile
    cache_bytes: int
    memory_bytes: int
    memory_assumed: bool


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of an environment go, and which device is played below them, if any."""

    label: str
    emulated: bool
    directory: str
    wal_directory: str | None = None
    emulation: Emulation | None = None


class Unavailable(msgspec.Struct, frozen=True, kw_only=True):
    """The storage cannot be had here; trials on it are skipped for this reason."""

    reason: str


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What a placement needs to know of this machine.

    `fast_directory` is where the files of an emulated device go when the suite names no directory.
    """

    memory_bytes: int
    fast_directory: str


def placement(environment: EnvironmentPlan, machine: Machine) -> Placement | Unavailable:
    """Decide where files go. Directories are passed on as given.

    Raises TargetError when the memory of an emulated environment has no room for its shared
    buffers.
    """
    request = environment.storage
    if request is None:
        raise ValueError("only an embedded environment has storage")
    if request.emulate is not None:
        return _emulated(environment, request, machine)
    assert request.directory is not None  # noqa: S101 - one of the two is set
    label = request.directory
    if request.wal_directory is not None:
        label = f"{request.directory}, log on {request.wal_directory}"
    return Placement(
        label=label,
        emulated=False,
        directory=request.directory,
        wal_directory=request.wal_directory,
    )


def _emulated(
    environment: EnvironmentPlan, request: StorageRequest, machine: Machine
) -> Placement | Unavailable:
    if request.profile is None:
        return Unavailable(
            reason=f"the plan has no figures of {request.emulate}: it was made by a groundspeed"
            " without storage emulation; start a new run of the suite"
        )
    profile = msgspec.json.decode(request.profile, type=Profile)
    memory_bytes = environment.memory_bytes or machine.memory_bytes
    return Placement(
        label=profile.label,
        emulated=True,
        directory=request.directory or machine.fast_directory,
        wal_directory=request.wal_directory,
        emulation=Emulation(
            profile=profile,
            cache_bytes=_cache_bytes(environment, memory_bytes),
            memory_bytes=memory_bytes,
            memory_assumed=environment.memory_bytes is None,
        ),
    )


def _cache_bytes(environment: EnvironmentPlan, memory_bytes: int) -> int:
    """Give what the server leaves of the memory to the page cache."""
    if environment.server_bytes is not None:
        return max(LEAST_CACHE_BYTES, memory_bytes - environment.server_bytes)
    buffers_bytes = shared_buffers_bytes(environment)
    if memory_bytes <= buffers_bytes:
        raise TargetError(
            f"{environment.name}: shared_buffers take {buffers_bytes // 1024**2} MiB of"
            f" {memory_bytes // 1024**2} MiB of memory",
            "give the environment more memory, as in memory: 8GiB, or lower shared_buffers",
        )
    return max(LEAST_CACHE_BYTES, memory_bytes - buffers_bytes)


def shared_buffers_bytes(environment: EnvironmentPlan) -> int:
    """Read shared_buffers of an environment as PostgreSQL does; bytes.

    What PostgreSQL would not read counts as its default: the server itself says what is wrong.
    """
    named = [value for name, value in environment.settings if name.lower() == "shared_buffers"]
    match = _SIZE.fullmatch(named[-1]) if named else None
    if match is None:
        return DEFAULT_SHARED_BUFFERS_BYTES
    if match["hex"]:
        amount = float(int(match["hex"], 16))
    elif match["octal"]:
        amount = float(int(match["octal"], 8))
    else:
        amount = float(match["decimal"])
    unit_bytes = _UNITS[match["unit"]] if match["unit"] else _BLOCK_BYTES
    return round(amount * unit_bytes / _BLOCK_BYTES) * _BLOCK_BYTES
