"""The machine, read from /proc and /sys: processor, memory, clock, and where a path is stored.

It starts no program and changes nothing. A fact that the kernel does not tell is None or
"unknown": measuring goes on without it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from groundspeed.record import HostFacts

_MEMORY_FILESYSTEMS = frozenset({"tmpfs", "ramfs"})
_UNKNOWN = "unknown"


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """The storage below a path. `device` is the kernel's name of the source of the mount."""

    mount_point: str
    filesystem: str
    device: str
    mount_options: str
    device_number: int
    free_bytes: int

    @property
    def in_memory(self) -> bool:
        """Whether what is written there stays in memory."""
        return self.filesystem in _MEMORY_FILESYSTEMS


class Host:
    """The machine, as `ports.Probe`; other roots than /proc and /sys are for tests."""

    def __init__(self, *, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc = proc
        self._sys = sys

    def host_facts(self) -> HostFacts:
        """Describe the machine. Raises nothing; what cannot be read is None or "unknown"."""
        return HostFacts(
            kernel=_read(self._proc / "sys/kernel/osrelease") or _UNKNOWN,
            cpu_model=self._cpu_model(),
            cpu_count=self.cpu_count(),
            memory_bytes=self.memory_bytes(),
            virtualization=self._virtualization(),
            governor=self._governor(),
            clock_source=_read(
                self._sys / "devices/system/clocksource/clocksource0/current_clocksource"
            ),
            transparent_huge_pages=self._transparent_huge_pages(),
        )

    def cpu_count(self) -> int:
        """Count the processors this process may use, at least 1.

        The smaller of its affinity and its control group's quota: the machine's number would
        promise what a container does not get.
        """
        count = allowed_count(_read(self._proc / "self/status"))
        if count is None:
            cpuinfo = _read(self._proc / "cpuinfo") or ""
            count = len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE))
        quota, _, period = (_read(self._sys / "fs/cgroup/cpu.max") or "max").partition(" ")
        if quota.isdigit() and period.isdigit():
            count = min(count, int(quota) // int(period))
        return max(1, count)

    def memory_bytes(self) -> int:
        """Tell the memory of the machine, or of the control group where that is less; bytes."""
        total = self._meminfo_bytes("MemTotal")
        limit = _number(self._sys / "fs/cgroup/memory.max")
        return total if limit is None else min(total, limit)

    def available_memory_bytes(self) -> int:
        """Tell how much memory can be had without swapping; bytes."""
        available = self._meminfo_bytes("MemAvailable")
        group = self._sys / "fs/cgroup"
        limit, used = _number(group / "memory.max"), _number(group / "memory.current")
        if limit is None or used is None:
            return available
        # The group's count holds the page cache, which the kernel gives back when asked.
        cache = re.search(
            r"^inactive_file (\d+)$", _read(group / "memory.stat") or "", re.MULTILINE
        )
        return max(0, min(available, limit - used + (int(cache[1]) if cache else 0)))

    def huge_pages_count(self) -> int:
        """Count the huge pages set aside at this moment."""
        return int(_field(_read(self._proc / "meminfo"), "HugePages_Total") or 0)

    def mount_of(self, path: Path) -> Mount:
        """Find the storage of a path; one that does not exist yet is taken at its nearest parent.

        Raises OSError when nothing of it can be seen.
        """
        place = path.resolve()
        while not place.exists():
            place = place.parent
        device_number = place.stat().st_dev
        numbers = f"{os.major(device_number)}:{os.minor(device_number)}"
        space = os.statvfs(place)
        best: tuple[str, str, str, str] | None = None
        same_device = False
        for number, point, filesystem, device, options in self._mounts():
            if not place.is_relative_to(point):
                continue
            # The device's number decides where it can: the longest mount point alone errs where
            # one mount hides another. btrfs and overlays give numbers that are in no table.
            match = number == numbers
            if best is None or (match, len(point)) >= (same_device, len(best[0])):
                best, same_device = (point, filesystem, device, options), match
        point, filesystem, device, options = best or ("/", _UNKNOWN, _UNKNOWN, "")
        return Mount(
            mount_point=point,
            filesystem=filesystem,
            device=device,
            mount_options=options,
            device_number=device_number,
            # What an unprivileged process may use: the reserve of root is no place for a run.
            free_bytes=space.f_bavail * space.f_frsize,
        )

    def _mounts(self) -> list[tuple[str, str, str, str, str]]:
        mounts = []
        for line in (_read(self._proc / "self/mountinfo") or "").splitlines():
            # 36 35 98:0 /root /point options optional-fields... - type source super-options
            head, dash, tail = line.partition(" - ")
            first, last = head.split(" "), tail.split(" ")
            if not dash or len(first) < 6 or len(last) < 3:  # noqa: PLR2004 - the line above
                continue
            # Options of the mount point and of the file system, each once: data=ordered is one
            # of the second kind.
            options = dict.fromkeys(f"{first[5]},{last[2]}".split(","))
            mounts.append(
                (first[2], _unescape(first[4]), last[0], _unescape(last[1]), ",".join(options))
            )
        return mounts

    def _meminfo_bytes(self, name: str) -> int:
        value = _field(_read(self._proc / "meminfo"), name) or "0"
        return int(value.split()[0]) * 1024

    def _cpu_model(self) -> str:
        cpuinfo = _read(self._proc / "cpuinfo")
        model = _field(cpuinfo, "model name") or _field(cpuinfo, "Model")
        if model:
            return " ".join(model.split())
        # Arm tells two numbers and no name.
        maker, part = _field(cpuinfo, "CPU implementer"), _field(cpuinfo, "CPU part")
        return f"Arm implementer {maker} part {part}" if maker and part else _UNKNOWN

    def _governor(self) -> str | None:
        files = (self._sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
        return ", ".join(sorted({text for file in files if (text := _read(file))})) or None

    def _transparent_huge_pages(self) -> str | None:
        text = _read(self._sys / "kernel/mm/transparent_hugepage/enabled") or ""
        chosen = re.search(r"\[(\w+)\]", text)
        return chosen[1] if chosen else None

    def _virtualization(self) -> str:
        dmi = self._sys / "class/dmi/id"
        machine = " ".join(
            text for name in ("sys_vendor", "product_name") if (text := _read(dmi / name))
        )
        flags = (_field(_read(self._proc / "cpuinfo"), "flags") or "").split()
        kind = _read(self._sys / "hypervisor/type")
        if "hypervisor" in flags or kind:
            seen = "virtual machine"
            about = ", ".join(part for part in (kind, machine) if part)
            seen += f" ({about})" if about else ""
        else:
            seen = machine or "none seen"
        # A root of overlayfs is how container engines build one; the control group's name, the
        # older sign, is hidden by cgroup namespaces.
        if any(point == "/" and kind == "overlay" for _, point, kind, _, _ in self._mounts()):
            seen += ", in a container"
        return seen


def storage_facts_of(path: Path) -> Mount:
    """Find the storage of a path on this machine. Raises OSError when nothing of it is seen."""
    return Host().mount_of(path)


def is_memory_backed(path: Path) -> bool:
    """Tell whether what is written to a path stays in memory. Raises OSError."""
    return storage_facts_of(path).in_memory


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if text and text.isdigit() else None


def _field(text: str | None, name: str) -> str | None:
    match = re.search(rf"^{re.escape(name)}\s*:[ \t]*(.*)$", text or "", re.MULTILINE)
    return match[1].strip() or None if match else None


def allowed_count(status: str | None) -> int | None:
    """Count the processors that a process may use, by its /proc/PID/status; None if it says not."""
    return _length_of_list(_field(status, "Cpus_allowed_list") or "") or None


def _length_of_list(text: str) -> int:
    """Count the members of a kernel list such as "0-3,8"."""
    count = 0
    for part in text.split(","):
        low, _, high = part.partition("-")
        if not low.isdigit() or (high and not high.isdigit()):
            return 0
        count += int(high or low) - int(low) + 1
    return count


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
