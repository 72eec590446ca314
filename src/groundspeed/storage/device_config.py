"""A profile becomes the text that the shim's device is made from.

The words are those of native/storage_state.c, which reads them. This module makes no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.storage.distribution import table_s
from groundspeed.storage.profile import NO_TIME, Device, Latency, Replication

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.storage.profile import CpuTime, Limit, Profile, Trouble

_NS_PER_S = 1_000_000_000
# The kernel's own: vm.dirty_ratio 20 and vm.dirty_background_ratio 10, in percent of what memory
# it may use; vm.dirty_expire_centisecs 3000.
_DIRTY_LIMIT_RATIO, _DIRTY_BACKGROUND_RATIO = 0.20, 0.10
_DIRTY_EXPIRE_NS = 30 * _NS_PER_S
_PAGE_BYTES = 4096
_MOST_ROOTS = 4
_NO_FRONT = Device(parallel_count=0)
_ONE_DEVICE = Replication(
    replicas_count=1, acknowledge_count=1, round_trip=NO_TIME, one_is_local=True
)


def device_config(profile: Profile, *, roots: Sequence[str], cache_bytes: int, seed: int) -> str:
    """Write the configuration of the emulated device.

    Files below `roots` (1 to 4 absolute real paths) lie on it; `cache_bytes` is the memory that
    caches them. Raises ValueError for other roots or a cache of less than a page.
    """
    if not 1 <= len(roots) <= _MOST_ROOTS or any(not _is_a_root(root) for root in roots):
        msg = f"a device needs 1 to {_MOST_ROOTS} absolute paths of one line, not {list(roots)}"
        raise ValueError(msg)
    if cache_bytes < _PAGE_BYTES:
        msg = f"a cache of {cache_bytes} bytes holds no page"
        raise ValueError(msg)
    front = profile.front or _NO_FRONT
    lines = [
        "groundspeed-storage 1",
        *(f"root {root}" for root in roots),
        f"cache_bytes {cache_bytes}",
        f"dirty_limit_bytes {_share(cache_bytes, _DIRTY_LIMIT_RATIO)}",
        f"dirty_background_bytes {_share(cache_bytes, _DIRTY_BACKGROUND_RATIO)}",
        f"dirty_expire_ns {_DIRTY_EXPIRE_NS}",
        f"writeback_depth {profile.writeback_depth_count}",
        f"readahead_bytes {profile.readahead_bytes}",
        f"request_bytes {profile.request_bytes}",
        *_replication(profile.replication or _ONE_DEVICE),
        f"front_parallel {front.parallel_count}",
        f"device_parallel {profile.device.parallel_count}",
        *(_limit("front", limit) for limit in front.limits),
        *(_limit("device", limit) for limit in profile.device.limits),
        *_tables(profile, front),
        *_work(profile.cpu),
        f"seed {seed}",
        *_trouble(profile.trouble),
    ]
    return "\n".join(lines) + "\n"


def _is_a_root(root: str) -> bool:
    return root.startswith("/") and "\n" not in root


def _share(cache_bytes: int, ratio: float) -> int:
    return max(round(cache_bytes * ratio), _PAGE_BYTES)


def _replication(asked: Replication) -> Iterator[str]:
    yield f"replicas {asked.replicas_count}"
    yield f"acknowledge {asked.acknowledge_count}"
    yield f"reads {asked.reads.value}"
    yield f"local_replicas {int(asked.one_is_local)}"
    if asked.link_bytes_per_s is not None:
        yield f"link_bytes_per_s {_number(asked.link_bytes_per_s)}"


def _limit(tier: str, limit: Limit) -> str:
    numbers = [limit.rate_per_s, limit.credits_count, limit.credits_count * limit.start_ratio]
    if limit.slice_s:
        numbers.append(limit.slice_s * _NS_PER_S)
    words = " ".join(map(_number, numbers))
    return f"limit {tier} {limit.on.value} {limit.of.value} {words}"


def _number(value: float) -> str:
    return format(value, ".15g")


def _tables(profile: Profile, front: Device) -> Iterator[str]:
    round_trip = profile.replication.round_trip if profile.replication else NO_TIME
    yield from _table("device_read", profile.device.read)
    yield from _table("device_write", profile.device.write)
    yield from _table("device_sync", profile.device.sync)
    yield from _table("front_read", front.read)
    yield from _table("front_write", front.write)
    yield from _table("front_sync", front.sync)
    yield from _table("round_trip", round_trip)


def _table(name: str, latency: Latency) -> Iterator[str]:
    values_ns = [round(value_s * _NS_PER_S) for value_s in table_s(latency)]
    if any(values_ns):
        yield f"table {name} {' '.join(map(str, values_ns))}"


def _work(cpu: CpuTime) -> Iterator[str]:
    for kind, time_s in (("read", cpu.read_s), ("write", cpu.write_s), ("sync", cpu.sync_s)):
        if time_s:
            yield f"{kind}_work_ns {round(time_s * _NS_PER_S)}"


def _trouble(trouble: Trouble) -> Iterator[str]:
    if trouble.stall_after_s is not None:
        yield f"stall_after_ns {round(trouble.stall_after_s * _NS_PER_S)}"
        yield f"stall_ns {round(trouble.stall_s * _NS_PER_S)}"
    if trouble.read_error_ratio:
        yield f"read_error_ratio {_number(trouble.read_error_ratio)}"
    if trouble.write_error_ratio:
        yield f"write_error_ratio {_number(trouble.write_error_ratio)}"
    if trouble.size_bytes is not None:
        yield f"device_bytes {trouble.size_bytes}"
