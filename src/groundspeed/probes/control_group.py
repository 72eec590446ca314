"""The control group of the server, version 1 or 2: its limits and how often they bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.probes.kernel_files import (
    KeptFile,
    grown,
    number_after,
    read_bytes,
    read_whole,
    whole_number,
)
from groundspeed.record.machine import GroupWork

if TYPE_CHECKING:
    from collections.abc import Mapping

# Version 1 writes "no limit" as the largest number of whole pages.
_NO_LIMIT_BYTES = 1 << 62
_MOUNT_FIELD_COUNT = 5


class GroupUnseenError(Exception):
    """The control group cannot be found; the message says why."""


class _Place(NamedTuple):
    """A group of one hierarchy: its folder, and that of the highest group that can be seen."""

    version: int
    leaf: Path
    top: Path

    def levels(self) -> list[Path]:
        """Give the group and all above it: a limit of any of them binds."""
        inside = self.leaf.relative_to(self.top).parts
        return [self.top.joinpath(*inside[:n]) for n in range(len(inside), -1, -1)]


class _Throttled(NamedTuple):
    periods: int
    throttled_periods: int
    throttled_s: float


class _Quota:
    """One level with a processor quota, watched once a second."""

    def __init__(self, version: int, level: Path) -> None:
        self._version = version
        self._stat = KeptFile(level / "cpu.stat")
        self.first = self.last = self._read()

    def advance(self) -> float | None:
        before, self.last = self.last, self._read()
        return _ratio(before, self.last)

    def _read(self) -> _Throttled | None:
        text = self._stat.read()
        periods, held = (number_after(text, n) for n in (b"nr_periods", b"nr_throttled"))
        if periods is None or held is None:
            return None
        if self._version == 1:
            return _Throttled(periods, held, (number_after(text, b"throttled_time") or 0) / 1e9)
        return _Throttled(periods, held, (number_after(text, b"throttled_usec") or 0) / 1e6)

    def close(self) -> None:
        self._stat.close()


class ControlGroup:
    """The group of one process and all groups above it.

    The least limit of all levels counts. How often a quota bit is told by each level for itself;
    the level that was held back most is the one that is given.
    """

    def __init__(self, pid: int, proc: Path) -> None:
        """Find the group's folders. Raises GroupUnseenError."""
        memberships = _memberships(read_bytes(proc / str(pid) / "cgroup"))
        if not memberships:
            raise GroupUnseenError("the kernel does not tell the server's control group")
        mounts = read_mounts(proc)
        cpu = _place("cpu", memberships, mounts)
        if cpu is None:
            raise GroupUnseenError("the server's control group lies where it cannot be seen")
        self._cpu = cpu
        self._memory = _place("memory", memberships, mounts)
        self._limit_count: float | None = None
        self._quotas: list[_Quota] = []

    def begin(self) -> None:
        """Count from here, with the limits of this moment."""
        self.close()
        limits = {level: _cpu_limit(self._cpu.version, level) for level in self._cpu.levels()}
        bound = {level: limit for level, limit in limits.items() if limit is not None}
        self._limit_count = min(bound.values(), default=None)
        self._quotas = [_Quota(self._cpu.version, level) for level in bound]

    def advance(self) -> float | None:
        """Give the share of periods since the last look that were cut short; None without quota."""
        ratios = [quota.advance() for quota in self._quotas]
        return max((ratio for ratio in ratios if ratio is not None), default=None)

    def work(self) -> GroupWork:
        """Sum up from `begin` to the last `advance`."""
        seen = [
            (
                _ratio(quota.first, quota.last) or 0.0,
                quota.last.throttled_s - quota.first.throttled_s,
            )
            for quota in self._quotas
            if quota.first and quota.last
        ]
        ratio, throttled_s = max(seen, default=(None, None))
        limit, used = _memory(self._memory) if self._memory else (None, None)
        return GroupWork(
            version=self._cpu.version,
            cpu_limit_count=self._limit_count,
            throttled_ratio=ratio,
            throttled_s=throttled_s,
            memory_limit_bytes=limit,
            memory_used_bytes=used,
        )

    def close(self) -> None:
        """Let go of the files; `begin` opens them again."""
        for quota in self._quotas:
            quota.close()
        self._quotas = []


def _ratio(before: _Throttled | None, after: _Throttled | None) -> float | None:
    if before is None or after is None:
        return None
    periods = grown(before.periods, after.periods)
    # A period may be counted as throttled before it is counted.
    return min(1.0, grown(before[1], after[1]) / periods) if periods else 0.0


class Mount(NamedTuple):
    """A mounted hierarchy: version, the group at its root, its folder, and its controllers."""

    version: int
    root: str
    folder: Path
    controllers: frozenset[str]


def read_mounts(proc: Path) -> list[Mount]:
    """List the control group hierarchies that this process sees."""
    mounts = []
    text = read_whole(proc / "self/mountinfo").decode("utf-8", "replace")
    for line in text.splitlines():
        # 36 35 0:30 /root /folder options optional-fields... - type source super-options
        head, _, tail = line.partition(" - ")
        first, last = head.split(" "), tail.split(" ")
        if len(first) >= _MOUNT_FIELD_COUNT and last[0] in {"cgroup", "cgroup2"}:
            version = 2 if last[0] == "cgroup2" else 1
            root, folder = (_unescape(field) for field in first[3:5])
            mounts.append(Mount(version, root, Path(folder), frozenset(last[-1].split(","))))
    return mounts


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _memberships(text: bytes) -> dict[str, str]:
    """Read /proc/PID/cgroup: the group by controller of version 1, by "" of version 2."""
    groups = {}
    for line in text.decode("utf-8", "replace").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            if path and (controller or number == "0"):
                groups[controller] = path
    return groups


def _place(controller: str, groups: Mapping[str, str], mounts: list[Mount]) -> _Place | None:
    """Find a controller: it is in version 2 unless version 1 has it; both may be mounted."""
    version, path = (1, groups[controller]) if controller in groups else (2, groups.get("", ""))
    for mount in mounts:
        if mount.version != version or (version == 1 and controller not in mount.controllers):
            continue
        # A container sees its own group as the root of the mount, and by its full path in /proc.
        root = mount.root.rstrip("/")
        inside = path[len(root) :] if f"{path}/".startswith(f"{root}/") else None
        if inside is None or ".." in inside.split("/"):
            continue
        leaf = mount.folder / inside.strip("/")
        if leaf.is_dir():
            return _Place(version, leaf, mount.folder)
    return None


def _cpu_limit(version: int, level: Path) -> float | None:
    if version == 1:
        quota = whole_number(read_bytes(level / "cpu.cfs_quota_us"))
        period = whole_number(read_bytes(level / "cpu.cfs_period_us"))
    else:
        first, _, second = read_bytes(level / "cpu.max").partition(b" ")
        quota, period = whole_number(first), whole_number(second)
    return quota / period if quota and quota > 0 and period else None


def _memory(place: _Place) -> tuple[int | None, int | None]:
    """Give the least limit and what is used of it, in bytes; of the group itself without limit.

    Used is without the file cache that the kernel gives back first (inactive_file): else every
    group that reads files would look full.
    """
    old = place.version == 1
    limit_name = "memory.limit_in_bytes" if old else "memory.max"
    used_name = "memory.usage_in_bytes" if old else "memory.current"
    cache_name = b"total_inactive_file" if old else b"inactive_file"
    limits = {level: whole_number(read_bytes(level / limit_name)) for level in place.levels()}
    bound = {lv: limit for lv, limit in limits.items() if limit and limit < _NO_LIMIT_BYTES}
    level = min(bound, key=lambda lv: bound[lv], default=place.leaf)
    used = whole_number(read_bytes(level / used_name))
    if used is not None:
        used = max(0, used - (number_after(read_bytes(level / "memory.stat"), cache_name) or 0))
    return bound.get(level), used
