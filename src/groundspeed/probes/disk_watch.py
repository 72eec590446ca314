"""The disks of the data directory and of the WAL, watched while a load is measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.probes.disk_counters import (
    Disk,
    DiskReading,
    DiskUnseenError,
    disk_work,
    find_disk,
    read_disk,
)
from groundspeed.probes.kernel_files import KeptFile
from groundspeed.record.evidence import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.record.machine import DiskWork

_DATA, _WAL = "disk", "wal-disk"


class DiskWatch:
    """/proc/diskstats once a second for one disk or two.

    The columns of a series are those of the data directory's disk. Where the WAL lies on the same
    disk there is no second one, and nothing is absent.
    """

    def __init__(
        self, data_directory: str | None, wal_directory: str | None, *, proc: Path, sys: Path
    ) -> None:
        """Directories None: the server runs elsewhere. A WAL directory None is data's pg_wal."""
        self._sys = sys
        self._file = KeptFile(proc / "diskstats")
        self._paths: dict[str, Path] = {}
        if data_directory is not None:
            self._paths[_DATA] = Path(data_directory)
            self._paths[_WAL] = Path(wal_directory or Path(data_directory) / "pg_wal")
        self._disks: dict[str, Disk] = {}
        self._first: dict[str, DiskReading] = {}
        self._last: dict[str, DiskReading] = {}
        self.absent: tuple[Absent, ...] = ()

    def begin(self) -> None:
        """Find the disks, for a mount may have changed, and count from here."""
        text = self._file.read()
        found: dict[str, Disk] = {}
        missing: list[Absent] = []
        if not self._paths:
            missing.append(Absent(what=_DATA, reason="the server runs elsewhere"))
        for what, path in self._paths.items():
            try:
                found[what] = find_disk(path, sys=self._sys, diskstats=text)
            except DiskUnseenError as error:
                missing.append(Absent(what=what, reason=str(error)))
                if what == _DATA:
                    # The WAL is beneath it most of the time, and a reason is told once.
                    break
        if found.get(_WAL) == found.get(_DATA):
            found.pop(_WAL, None)
        self.absent = tuple(missing)
        self._disks = found
        self._first = self._last = self._read(text)

    def advance(self, elapsed_s: float) -> Mapping[str, float | None]:
        """Look again; gives the data disk's columns, None where it has none."""
        before, self._last = self._last, self._read(self._file.read())
        work = self._work(_DATA, before, elapsed_s)
        return {
            "disk_reads_per_s": work.reads_per_s if work else None,
            "disk_writes_per_s": work.writes_per_s if work else None,
            "disk_bytes_per_s": work.read_bytes_per_s + work.write_bytes_per_s if work else None,
            "disk_depth_count": work.depth_count if work else None,
            "disk_utilisation_ratio": work.utilisation_ratio if work else None,
        }

    def data_work(self, elapsed_s: float) -> DiskWork | None:
        """Sum up the disk of the data directory from `begin` to the last `advance`."""
        return self._work(_DATA, self._first, elapsed_s)

    def wal_work(self, elapsed_s: float) -> DiskWork | None:
        """Sum up the disk of the WAL; None where it is the same disk."""
        return self._work(_WAL, self._first, elapsed_s)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _read(self, text: bytes) -> dict[str, DiskReading]:
        readings = {what: read_disk(disk, text) for what, disk in self._disks.items()}
        return {what: reading for what, reading in readings.items() if reading}

    def _work(
        self, what: str, before: Mapping[str, DiskReading], elapsed_s: float
    ) -> DiskWork | None:
        if what not in before or what not in self._last or elapsed_s <= 0:
            return None
        return disk_work(self._disks[what], self._last[what].since(before[what]), elapsed_s)
