"""Control groups as a container sees its own: read by a shell inside of it, or by ourselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.probes.cluster_objects import cpuset
from groundspeed.probes.kernel_files import number_after, read_whole, whole_number
from groundspeed.record.cluster_work import ContainerWork

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = "/sys/fs/cgroup"
IN_CONTAINER = "cpu.stat in the container"
_CPU_STAT = ("cpu.stat", "cpu/cpu.stat", "cpu,cpuacct/cpu.stat")
_CPU_USED = ("cpuacct/cpuacct.usage", "cpu,cpuacct/cpuacct.usage")
_CPUSET = ("cpuset.cpus.effective", "cpuset/cpuset.effective_cpus", "cpuset/cpuset.cpus")
_USED = ("memory.current", "memory/memory.usage_in_bytes")
_LIMIT = ("memory.max", "memory/memory.limit_in_bytes")
_STAT = ("memory.stat", "memory/memory.stat")
_KILLS = ("memory.events", "memory/memory.oom_control")
_ALL = (*_CPU_STAT, *_CPU_USED, *_CPUSET, *_USED, *_LIMIT, *_STAT, *_KILLS)
_FILES = tuple(f"{ROOT}/{name}" for name in _ALL)
# A mark that begins no line of these files.
_MARK = "@ "
# Only what every shell has built in: the container may have no other program, and none is started.
_SCRIPT = (
    'for f in "$@"; do [ -r "$f" ] || continue; echo "@ $f"; '
    'while read -r l; do echo "$l"; done <"$f"; done; exit 0'
)
COMMAND = ("sh", "-c", _SCRIPT, "sh", *_FILES)
# Version 1 writes "no limit" as the largest number of whole pages.
_NO_LIMIT_BYTES = 1 << 62


class Group(NamedTuple):
    """One look at a control group; counters since the container began. None: not to be seen."""

    version: int | None = None
    cpu_s: float | None = None
    period_count: int | None = None
    throttled_count: int = 0
    throttled_s: float = 0.0
    cpuset: str | None = None
    memory_used_bytes: int | None = None
    memory_limit_bytes: int | None = None
    kill_count: int | None = None


def told(listing: bytes) -> Group:
    """Read what `COMMAND` printed."""
    files: dict[str, bytes] = {}
    name = ""
    for line in listing.decode(errors="replace").splitlines():
        if line.startswith(_MARK):
            name = line.removeprefix(_MARK)
            files[name] = b""
        elif name:
            files[name] += line.encode() + b"\n"
    return _group(files)


def own(root: Path = Path(ROOT)) -> Group:
    """Read the control group of this process, which is in a container."""
    found = {name: read_whole(root / Path(name).relative_to(ROOT)) for name in _FILES}
    return _group({name: text for name, text in found.items() if text})


def _group(files: Mapping[str, bytes]) -> Group:
    def first(names: tuple[str, ...]) -> bytes:
        return next((files[n] for name in names if (n := f"{ROOT}/{name}") in files), b"")

    stat = first(_CPU_STAT)
    # Where version 1 has a controller, its folder is there.
    version = None if not files else 2 if f"{ROOT}/{_CPU_STAT[0]}" in files else 1
    used, limit = whole_number(first(_USED)), whole_number(first(_LIMIT))
    label = b"total_inactive_file" if version == 1 else b"inactive_file"
    if used is not None:
        used = max(0, used - (number_after(first(_STAT), label) or 0))
    return Group(
        version=version,
        cpu_s=_seconds(number_after(stat, b"usage_usec"), whole_number(first(_CPU_USED))),
        period_count=number_after(stat, b"nr_periods"),
        throttled_count=number_after(stat, b"nr_throttled") or 0,
        throttled_s=_seconds(
            number_after(stat, b"throttled_usec"), number_after(stat, b"throttled_time")
        )
        or 0.0,
        cpuset=cpuset(first(_CPUSET).decode(errors="replace")),
        memory_used_bytes=used,
        memory_limit_bytes=None if limit is None or limit >= _NO_LIMIT_BYTES else limit,
        # With a space: oom_kill_disable begins alike.
        kill_count=number_after(first(_KILLS), b"oom_kill "),
    )


def _seconds(micro: int | None, nano: int | None) -> float | None:
    """Take a time as version 2 writes it, else as version 1 does."""
    if micro is not None:
        return micro / 1e6
    return None if nano is None else nano / 1e9


def work(
    pod: str, before: Group | None, after: Group | None, elapsed_s: float
) -> ContainerWork | None:
    """Tell what came between two looks; None where one of them failed.

    The load lasted `elapsed_s` of the time between them; in the rest nothing was asked for.
    """
    if before is None or after is None or before.version is None or after.version is None:
        return None
    if (after.cpu_s or 0.0) < (before.cpu_s or 0.0):
        # Another container: its counters began anew.
        before = Group(cpu_s=0.0, period_count=0)
    cpu_s = None if before.cpu_s is None or after.cpu_s is None else after.cpu_s - before.cpu_s
    has_quota = before.period_count is not None and after.period_count is not None
    return ContainerWork(
        pod=pod,
        cpu_count=None if cpu_s is None or elapsed_s <= 0 else cpu_s / elapsed_s,
        period_count=(after.period_count or 0) - (before.period_count or 0) if has_quota else None,
        throttled_count=after.throttled_count - before.throttled_count if has_quota else None,
        throttled_s=after.throttled_s - before.throttled_s if has_quota else None,
        source=IN_CONTAINER,
    )
