"""What is kept of an environment's storage: where it was, and what an emulated device did."""

from __future__ import annotations

import msgspec


class StorageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where the data directory of an embedded server really was; empty where it never was."""

    label: str
    emulated: bool
    path: str = ""
    filesystem: str = ""
    device: str = ""
    mount_options: str = ""
    wal_path: str | None = None
    wal_filesystem: str | None = None
    wal_device: str | None = None
    # Of an emulated device: the profile as JSON, and the memory that stood before it.
    profile: str | None = None
    cache_bytes: int | None = None
    memory_bytes: int | None = None
    # The suite named no memory, that of this machine was taken.
    memory_assumed: bool = False


class CreditsLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A burst bucket of an emulated device; requests or bytes, by `of`."""

    tier: str
    of: str
    on: str
    left: float
    capacity: float


class StorageSecond(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One second of an emulated device; `depth_count` is the mean number of requests in it."""

    index: int
    read_request_count: int
    write_request_count: int
    bytes: int
    depth_count: float
    throttled_s: float


class StorageWork(msgspec.Struct, frozen=True, kw_only=True):
    """What an emulated device did while a trial was measured.

    Waits are those of all server processes together. Depth is the number of requests in the device:
    its mean over the time, and that of the busiest second. Pages have 4 KiB.
    """

    elapsed_s: float
    read_call_count: int
    read_bytes: int
    hit_page_count: int
    miss_page_count: int
    read_request_count: int
    read_request_bytes: int
    read_waited_s: float
    readahead_page_count: int
    write_call_count: int
    write_bytes: int
    write_request_count: int
    write_request_bytes: int
    write_waited_s: float
    sync_call_count: int
    sync_waited_s: float
    mean_depth_count: float
    max_depth_count: float
    throttled_s: float
    # Real calls that took longer than the emulated ones, and by how much in all.
    late_count: int
    late_s: float
    dirty_peak_bytes: int
    error_count: int
    full_count: int
    refused_count: int
    forgotten_file_count: int
    credits: tuple[CreditsLeft, ...] = ()
    seconds: tuple[StorageSecond, ...] = ()
