"""Runs fio with psync, one call at a time and in order, and reads its JSON and its latency log.

fio sees an ordinary file; whether a device is played below it is the caller's, by variables.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from groundspeed.targets import process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NS_PER_S = 1e9
_MS_PER_S = 1e3
FIO = "fio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What fio does. `pattern` is its rw; jobs share the file.

    `direct` goes past the page cache, emulated or real; otherwise nothing is dropped from it and
    no advice is given. Without a duration it ends when each job has moved `job_bytes`.
    """

    file: Path
    pattern: str
    block_bytes: int
    jobs: int = 1
    duration_s: float | None = None
    ramp_s: float = 0.0
    job_bytes: int | None = None
    direct: bool = True
    sync_each: bool = False
    seed: int = 1
    log: Path | None = None

    def arguments(self) -> list[str]:
        """Give fio's command line."""
        words = {
            "name": "fidelity",
            "ioengine": "psync",
            "filename": self.file,
            "filesize": self.file.stat().st_size,
            "rw": self.pattern,
            "bs": self.block_bytes,
            "numjobs": self.jobs,
            "group_reporting": 1,
            # fio's own map of blocks never repeats one: that is not uniform.
            "norandommap": 1,
            "randrepeat": 0,
            "randseed": self.seed,
            "direct": int(self.direct),
            "invalidate": 0,
            "fadvise_hint": 0,
            # Else each write is preceded by work of fio that no device would be waiting for.
            "scramble_buffers": 0,
            "output-format": "json+",
        }
        if self.duration_s is not None:
            words |= {"time_based": 1, "runtime": f"{self.duration_s * _MS_PER_S:.0f}ms"}
            words |= {"ramp_time": f"{self.ramp_s * _MS_PER_S:.0f}ms"}
        if self.job_bytes is not None:
            words |= {"io_size": self.job_bytes}
        if self.sync_each:
            words |= {"fdatasync": 1}
        if self.log is not None:
            words |= {"write_lat_log": self.log, "per_job_logs": 0}
        return [FIO, *(f"--{name}={value}" for name, value in words.items())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What fio reports of its jobs together. Bins are (latency in ns, count), ascending."""

    requests_per_s: float
    bytes_per_s: float
    bins: tuple[tuple[float, int], ...]
    sync_bins: tuple[tuple[float, int], ...]


def is_here() -> bool:
    """Tell whether there is a fio to run."""
    return shutil.which(FIO) is not None


def start(work: Work, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start fio and do not wait for it."""
    return process.start(work.arguments(), account=None, environment=variables)


def run(work: Work, variables: Mapping[str, str]) -> Done:
    """Run fio to its end. Raises SystemExit when it fails."""
    return finish([start(work, variables)])[0]


def finish(started: Sequence[subprocess.Popen[bytes]]) -> list[Done]:
    """Wait for what was started. Raises SystemExit when one fails; ends them all then."""
    found = []
    try:
        for one in started:
            stdout, stderr = one.communicate()
            if one.returncode != 0:
                raise SystemExit(f"fio: {stderr.decode().strip() or one.returncode}")
            found.append(_read(stdout.decode()))
    finally:
        for one in started:
            process.end(one)
    return found


def _read(text: str) -> Done:
    # Warnings come before the object.
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    side = max(job["read"], job["write"], key=lambda found: found["total_ios"])
    seconds = side["runtime"] / _MS_PER_S
    return Done(
        requests_per_s=side["total_ios"] / seconds,
        bytes_per_s=side["io_bytes"] / seconds,
        bins=_bins(side["clat_ns"]),
        sync_bins=_bins(job.get("sync", {}).get("lat_ns", {})),
    )


def _bins(latency: Mapping[str, Any]) -> tuple[tuple[float, int], ...]:
    return tuple(sorted((float(ns), count) for ns, count in latency.get("bins", {}).items()))


def quantile_s(bins: Sequence[tuple[float, int]], ratio: float) -> float:
    """Read a quantile off the bins, with a straight line between their middles; seconds.

    fio's bins are 1.6% wide at most, so their middles alone would be off by up to 0.8%.
    """
    wanted = ratio * sum(count for _, count in bins)
    passed, points = 0.0, []
    for middle_ns, count in bins:
        points.append((passed + count / 2, middle_ns))
        passed += count
    for (low, low_ns), (high, high_ns) in pairwise(points):
        if low <= wanted <= high:
            return (low_ns + (high_ns - low_ns) * (wanted - low) / (high - low)) / _NS_PER_S
    return (points[0][1] if wanted < points[0][0] else points[-1][1]) / _NS_PER_S


def completions_s(log: Path) -> list[float]:
    """List when each request of a logged run was done, in order; seconds since fio began.

    The log has one line a request: milliseconds, latency, direction, size, ....
    """
    (path,) = (p for p in log.parent.iterdir() if re.fullmatch(rf"{log.name}_clat\..*log", p.name))
    with path.open(encoding="ascii") as lines:
        return sorted(int(line.partition(",")[0]) / _MS_PER_S for line in lines)
