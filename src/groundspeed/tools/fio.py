"""fio: a job file for a block of measurements, and what its JSON says came of them.

Knows the output of fio 3 (`json+`, which keeps every bin of the latency histograms). The engine is
psync with a thread for each request in flight: it is in every fio, works on every file system, and
waits as a database's backends do. Executes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from enum import Enum
from typing import Any

import msgspec

from groundspeed.plan import Command

DATA_FILE = "data"
LOG_FILE = "log"
JOB_FILE = "jobs.fio"
# Every result waits for fio's main loop, which looks every 100 ms and takes two looks to go on.
POLL_S = 0.1
GAP_S = 0.2
_FILL_BYTES = 1024**2


class Access(Enum):
    """How a job goes through its file; the value is fio's word."""

    RANDOM_READ = "randread"
    RANDOM_WRITE = "randwrite"
    MIXED = "randrw"
    READ = "read"
    WRITE = "write"
    BOTH = "rw"

    @property
    def is_stream(self) -> bool:
        """Whether it goes through the file in order."""
        return self in (Access.READ, Access.WRITE, Access.BOTH)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One load on one file for one time.

    `depth_count` requests are in flight at once. `sync`: fdatasync after each write, through the
    page cache, as a database writes its log; else the page cache is passed by where the file system
    allows it. `window_s`: keep the rate of each window in a log of that name.
    """

    name: str
    access: Access
    block_bytes: int
    depth_count: int
    duration_s: float
    sync: bool = False
    window_s: float | None = None


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """The two files that are measured, and whether O_DIRECT works where they are."""

    data_bytes: int
    log_bytes: int
    direct: bool


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """Latencies of one kind of request: exact extremes and mean, and (ns, count) bins by time.

    A bin of fio is 1/64 of its time wide at most.
    """

    count: int
    mean_s: float
    min_s: float
    max_s: float
    bins_ns: tuple[tuple[int, int], ...]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What reads or writes of a job came to."""

    rate_per_s: float
    bytes_per_s: float
    latency: Latencies


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one job did. A side that it does not have is None.

    `cpu_count`: cores it kept busy; `kernel_cpu_count`: those of them that were in the kernel.
    """

    name: str
    read: Side | None
    write: Side | None
    sync: Latencies | None
    cpu_count: float
    kernel_cpu_count: float


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """All that one fio did."""

    version: str
    results: tuple[Result, ...]


def fill_command(files: Files) -> Command:
    """Command that writes both files in full, once, with data that does not compress."""
    lines = ["[global]", "rw=write", f"bs={_FILL_BYTES}", "ioengine=psync", "thread=1"]
    # Preallocated blocks alone would be marked as never written, and the first write to each
    # would pay for the mark.
    lines += ["fallocate=none", "refill_buffers=1", "end_fsync=1", f"direct={int(files.direct)}"]
    for name, size_bytes in ((DATA_FILE, files.data_bytes), (LOG_FILE, files.log_bytes)):
        lines += [f"[fill-{name}]", "stonewall", f"filename={name}", f"size={size_bytes}"]
    return _command(lines)


def command(jobs: tuple[Job, ...], files: Files, *, seed: int) -> Command:
    """Command that runs jobs one after another on files that are filled."""
    lines = ["[global]", "ioengine=psync", "thread=1", "group_reporting=1", "time_based=1"]
    lines += ["fallocate=none", "overwrite=1", "norandommap=1", "log_unix_epoch=0"]
    for place, job in enumerate(jobs):
        lines += [f"[{job.name}]", "stonewall", "new_group", *_options(job, files)]
        lines.append(f"randseed={seed + place}")
    return _command(lines)


def _command(lines: list[str]) -> Command:
    return Command(
        program="fio",
        arguments=("--output-format=json+", JOB_FILE),
        files=((JOB_FILE, "\n".join(lines) + "\n"),),
    )


def _options(job: Job, files: Files) -> list[str]:
    size_bytes = files.log_bytes if job.sync else files.data_bytes
    options = [
        f"filename={LOG_FILE if job.sync else DATA_FILE}",
        f"rw={job.access.value}",
        f"bs={job.block_bytes}",
        f"numjobs={job.depth_count}",
        f"runtime={round(job.duration_s * 1000)}ms",
        f"direct={int(files.direct and not job.sync)}",
    ]
    if job.access.is_stream and job.depth_count > 1:
        # Each thread its own stretch: on one file position they would read each other's cache.
        share = size_bytes // job.depth_count // job.block_bytes * job.block_bytes
        options += [f"size={share}", f"offset_increment={share}"]
    else:
        options.append(f"size={size_bytes // job.block_bytes * job.block_bytes}")
    if job.access is Access.MIXED:
        options.append("rwmixread=70")
    elif job.access is Access.BOTH:
        options.append("rwmixread=50")
    if job.sync:
        options.append("fdatasync=1")
    if job.window_s is not None:
        options += [f"write_iops_log={job.name}", f"log_avg_msec={round(job.window_s * 1000)}"]
        options.append("per_job_logs=0")
    return options


def log_name(job: Job) -> str:
    """Name of the file with the rates of a job that has a window."""
    return f"{job.name}_iops.log"


def parse(stdout: str) -> Output:
    """Read fio's JSON. Raises ValueError that says what is wrong with it.

    Notes that fio writes before it are passed over.
    """
    start = stdout.find("{\n")
    if start < 0:
        raise ValueError("fio printed no JSON")
    try:
        document = msgspec.json.decode(stdout[start : stdout.rindex("}") + 1])
        return Output(
            version=document["fio version"].removeprefix("fio-"),
            results=tuple(_result(job) for job in document["jobs"]),
        )
    except (msgspec.DecodeError, ValueError) as error:
        raise ValueError(f"fio's JSON cannot be read: {error}") from None
    except KeyError as error:
        raise ValueError(f"fio's JSON lacks {error}") from None


def _result(job: dict[str, Any]) -> Result:
    if job["error"]:
        raise ValueError(f"job {job['jobname']} failed with error {job['error']}")
    sync = _latencies(job["sync"]["lat_ns"])
    threads = int(job.get("job options", {}).get("numjobs", 1))
    return Result(
        name=job["jobname"],
        read=_side(job["read"]),
        write=_side(job["write"]),
        sync=sync if sync.count else None,
        # Percents of the time of all threads together.
        cpu_count=(job["usr_cpu"] + job["sys_cpu"]) / 100 * threads,
        kernel_cpu_count=job["sys_cpu"] / 100 * threads,
    )


def _side(side: dict[str, Any]) -> Side | None:
    if not side["total_ios"]:
        return None
    return Side(
        rate_per_s=float(side["iops"]),
        bytes_per_s=float(side["bw_bytes"]),
        latency=_latencies(side["clat_ns"]),
    )


def _latencies(told: dict[str, Any]) -> Latencies:
    bins = tuple(sorted((int(ns), count) for ns, count in told.get("bins", {}).items() if count))
    return Latencies(
        count=sum(count for _, count in bins),
        mean_s=told["mean"] / 1e9,
        min_s=told["min"] / 1e9,
        max_s=told["max"] / 1e9,
        bins_ns=bins,
    )


def parse_log(text: str, job: Job) -> tuple[float, ...]:
    """Read a rate log: requests a second of all threads together, window by window.

    A thread that finished nothing in a window writes no line for it. A window of which no thread
    tells was looked at late, all of them at once: the next line is the mean since the last one.
    Raises ValueError for a line that is none.
    """
    if job.window_s is None:
        raise ValueError(f"{job.name} keeps no log")
    totals: Counter[int] = Counter()
    for line in text.splitlines():
        time_ms, rate, *_ = line.split(",")
        # Told a few ms around the end of a window.
        totals[math.floor(int(time_ms) / 1000 / job.window_s + 0.5)] += int(rate)
    # The last one is torn where the load ends within it.
    last = min(math.floor(job.duration_s / job.window_s + 1e-9), max(totals, default=0))
    rates: list[float] = []
    for window in range(last, 0, -1):
        rates.append(float(totals[window]) if window in totals else rates[-1] if rates else 0.0)
    return tuple(reversed(rates))


def error_line(stderr: str) -> str:
    """Pick the line of fio's standard error that says what went wrong; may be empty."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "No space" in line]
    return (errors or lines or [""])[0].removeprefix("fio: ")
