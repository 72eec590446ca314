"""The kernel's own caps on a device: blk-throttle in cgroup v1, io.max in v2.

In v1 the cap is set on the root group's entry for the device: pages that are written back later
are charged to that group whoever dirtied them. In v2 they are charged to who dirtied them, and the
root has no io.max, so this process moves to a group of its own, and what it starts with it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.storage.profile import Counted, Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.storage.profile import Limit

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")
_V1_FILES = {
    (Counted.REQUESTS, Direction.READ): "blkio.throttle.read_iops_device",
    (Counted.REQUESTS, Direction.WRITE): "blkio.throttle.write_iops_device",
    (Counted.BYTES, Direction.READ): "blkio.throttle.read_bps_device",
    (Counted.BYTES, Direction.WRITE): "blkio.throttle.write_bps_device",
}
_V2_WORDS = {
    (Counted.REQUESTS, Direction.READ): "riops",
    (Counted.REQUESTS, Direction.WRITE): "wiops",
    (Counted.BYTES, Direction.READ): "rbps",
    (Counted.BYTES, Direction.WRITE): "wbps",
}


def _has_v1() -> bool:
    return all((_V1 / name).exists() for name in _V1_FILES.values())


def _has_v2() -> bool:
    controllers = _V2 / "cgroup.controllers"
    return controllers.exists() and "io" in controllers.read_text().split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """Caps on one device, named by its numbers such as "7:0"; `group` is that of v2."""

    numbers: str
    group: Path | None

    @staticmethod
    def why_not() -> str | None:
        """Say why the kernel cannot throttle here; None where it can."""
        if _has_v1() or _has_v2():
            return None
        return "neither cgroup v1 with blk-throttle nor cgroup v2 with io is mounted"

    @staticmethod
    def group_path() -> Path | None:
        """Where the group of v2 will be; None where v1 is used."""
        return None if _has_v1() else _V2 / f"groundspeed-fidelity-{os.getpid()}"

    @classmethod
    @contextmanager
    def on(cls, device: Path, group: Path | None) -> Iterator[Throttle]:
        """Be able to cap a device; in v2 this process is in a group of its own meanwhile."""
        numbers = (Path("/sys/block") / device.name / "dev").read_text().strip()
        if group is None:
            yield cls(numbers=numbers, group=None)
            return
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
        (_V2 / "cgroup.subtree_control").write_text("+io")
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield cls(numbers=numbers, group=group)
        finally:
            (_V2 / own / "cgroup.procs").write_text(str(os.getpid()))

    @contextmanager
    def capped(self, limit: Limit) -> Iterator[None]:
        """Hold the device to a limit on reads or on writes."""
        self._set(limit, round(limit.rate_per_s))
        try:
            yield
        finally:
            self._set(limit, None)

    def _set(self, limit: Limit, rate: int | None) -> None:
        what = (limit.of, limit.on)
        if self.group is None:
            (_V1 / _V1_FILES[what]).write_text(f"{self.numbers} {rate or 0}")
        else:
            words = f"{self.numbers} {_V2_WORDS[what]}={rate or 'max'}"
            (self.group / "io.max").write_text(words)
