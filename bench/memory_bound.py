"""How much memory an hour of transaction log takes, on /dev/shm and in the log reader.

    python -m bench.memory_bound [--speed N] [--quick]
    python -m bench.memory_bound --full [--minutes N]

The short version writes as many lines as an hour at 20,000 a second would, at 100 times that speed,
into two files as two pgbench threads do, through groundspeed's own load path with its log reader.
With --full a real pgbench runs at a rate of 20,000/s in a real run, its script without SQL.
Both are watched every 10 ms: blocks held by the log files, peak resident memory of the reader.

The writer of the short version never waits for the reader: what the reader has not freed, stays.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from bench.figures import MEMORY, Figure, conclude, plan_of
from groundspeed import store
from groundspeed.cli import session
from groundspeed.cli.display import PlainDisplay
from groundspeed.plan import Command
from groundspeed.record import Measured
from groundspeed.targets import leases, load
from groundspeed.tools import pgbench
from groundspeed.tools.pgbench_load import PgbenchLoad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import Plan

ASKED_BYTES = 64 * 1024**2
LINES_PER_S = 20_000
HOUR_S = 3600
RUN_ID = "memory-bound"
SUITE = """
suite: memory-bound
seed: 1
environments: {{memory: {{target: embedded, storage: {{directory: {directory}}}}}}}
workloads: [{{script: {script}, name: no-sql, writes: false}}]
clients: [2]
threads: [2]
scale: 1
measure: {{duration: {duration_s}s, warm_up: 1s, repeats: 1}}
pgbench: {{rate: {rate}/s}}
"""

# Stands in for pgbench: writes the lines of each second of an hour, `speed` such seconds a second.
WRITER = """
import os, sys, time
prefix, lines_per_s, seconds, speed = sys.argv[1], *map(int, sys.argv[2:5])
half = lines_per_s // 2
files = [open(f"{prefix}.{os.getpid()}{end}", "wb", buffering=0) for end in ("", ".1")]
blocks = [
    b"".join(
        b"%d %d %d 0 SECONDS... %d\\n" % (c, n, 200 + n * 7919 % 1800, n * 1_000_000 // half)
        for n in range(half)
    )
    for c in range(2)
]
start_s, begin_s, told_s = int(time.time()) + 1, time.monotonic(), 0
for second in range(seconds):
    for file, block in zip(files, blocks):
        file.write(block.replace(b"SECONDS...", b"%10d" % (start_s + second)))
    now_s = time.monotonic() - begin_s
    if now_s > told_s + 1:
        told_s = now_s
        print(f"progress: {now_s:.1f} s, {second * lines_per_s / now_s:.1f} tps", file=sys.stderr,
              flush=True)
    time.sleep(max(0, (second + 1) / speed - now_s))
"""


class Watch:
    """The most that was seen of each; log files are those that match below /dev/shm."""

    def __init__(self, directory: str) -> None:
        self._pattern = f"{directory}/{pgbench.LOG_PREFIX}.*"
        self._ended = threading.Event()
        self.log_bytes = 0
        self.reader_bytes = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look every 10 ms."""
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        reader: Path | None = None
        while not self._ended.wait(0.01):
            held = 0
            # A file may go while it is looked at.
            with suppress(OSError):
                for path in Path(MEMORY).glob(self._pattern):
                    held += path.stat().st_blocks * 512
            self.log_bytes = max(self.log_bytes, held)
            if reader is None or not reader.exists():
                reader = _reader_status()
            if reader is not None:
                self.reader_bytes = max(self.reader_bytes, _peak_bytes(reader))


def _reader_status() -> Path | None:
    """Find the status file of a log reader that is our child."""
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
            if fields["Name"] == "log_reader" and int(fields["PPid"]) == os.getpid():
                return status
    return None


def _peak_bytes(status: Path) -> int:
    with suppress(OSError):
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def written_hour(seconds: int, speed: int) -> tuple[Watch, list[Figure]]:
    """Write the lines of an hour through the load path and watch."""
    trial = msgspec.structs.replace(plan_of("quick").trials[0], duration_s=seconds + 2)
    lines = seconds * LINES_PER_S
    with TemporaryDirectory(dir=MEMORY) as directory:
        watch = Watch(Path(directory).name)
        numbers = (str(LINES_PER_S), str(seconds), str(speed))
        with watch.watching():
            started_s = time.monotonic()
            result = load.run_load(
                Command(program="pgbench", arguments=("-c", WRITER, pgbench.LOG_PREFIX, *numbers)),
                trial,
                program=Path(sys.executable),
                directory=Path(directory),
                tool=PgbenchLoad(),
                login=load.Login(),
                account=None,
                limit_s=10.0 * seconds,
                on_progress=lambda _: None,
            )
            elapsed_s = time.monotonic() - started_s
    log = result.log
    if result.returncode != 0 or log is None:
        raise SystemExit(f"the writer failed: {result.stderr[-400:]}")
    whole = log.count == lines and not (log.malformed or log.late or log.punch_failures)
    return watch, [
        Figure(
            name="lines written while it was read",
            asked=f"{lines:,}",
            measured=f"{log.count:,}",
            error=f"malformed {log.malformed}, late {log.late},"
            f" not freed {log.punch_failures}, at {lines / elapsed_s:,.0f}/s",
            met=whole,
        )
    ]


def _script_plan(minutes: int) -> Plan:
    with TemporaryDirectory() as directory:
        script = Path(directory) / "no-sql.sql"
        script.write_text("\\set x 1\n", encoding="utf-8")
        asked = {"duration_s": minutes * 60, "rate": LINES_PER_S}
        return plan_of(SUITE.format(directory=MEMORY, script=script, **asked))


def real_run(minutes: int) -> tuple[Watch, list[Figure]]:
    """Run a real trial at the rate and watch."""
    plan = _script_plan(minutes)
    # A run gives its directories a random part.
    watch = Watch(f"{leases.OWNED_NAME}{RUN_ID}-*-load")
    with TemporaryDirectory() as results:
        run_dir = store.create_run(Path(results), plan, RUN_ID)
        with watch.watching(), PlainDisplay(plan, Console(stderr=True)) as display:
            session.run_plan(plan, run_dir, passwords={}, listener=display)
        (record,) = store.read_run(run_dir).records
    outcome = record.outcome
    if not isinstance(outcome, Measured):
        raise SystemExit(f"the trial has no measurement: {outcome}")
    return watch, [
        Figure(
            name=f"lines written in {minutes} minutes, while they were read",
            asked=f"{minutes * 60 * LINES_PER_S:,}",
            measured=f"{outcome.histogram.count:,}",
            error=f"share logged {outcome.log_sampling_ratio}",
        )
    ]


def main() -> int:
    """Watch one of the versions and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory_bound", description=__doc__)
    parser.add_argument("--full", action="store_true", help="a real pgbench at 20,000/s")
    parser.add_argument("--minutes", type=int, default=60, help="of --full")
    parser.add_argument("--speed", type=int, default=100, help="times 20,000 lines/s")
    parser.add_argument("--quick", action="store_true", help="6 minutes' lines, not an hour's")
    asked = parser.parse_args()
    if asked.full:
        watch, figures = real_run(asked.minutes)
    else:
        watch, figures = written_hour(HOUR_S // 10 if asked.quick else HOUR_S, asked.speed)
    for name, peak in (("log files", watch.log_bytes), ("reader's memory", watch.reader_bytes)):
        figures.append(
            Figure(
                name=f"{name}, most held",
                asked=f"< {ASKED_BYTES >> 20} MiB",
                measured=f"{peak / 2**20:.1f} MiB",
                error="seen every 10 ms",
                met=0 < peak < ASKED_BYTES,
            )
        )
    return conclude(figures)


if __name__ == "__main__":
    sys.exit(main())
