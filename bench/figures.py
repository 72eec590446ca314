"""What the benchmarks share: a figure and its table, a plan from text, a server of our own."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any

from groundspeed.cli import session, suites
from groundspeed.plan import EnvironmentPlan, StorageRequest, TargetKind
from groundspeed.probes.host import Host
from groundspeed.stats.median import median_interval
from groundspeed.storage.placement import Placement
from groundspeed.targets import installation, places, process
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import EmbeddedTarget, Surroundings
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.plan import Plan
    from groundspeed.targets.sql import Address

DATA = Path(__file__).parent / "data"
MEMORY = "/dev/shm"  # noqa: S108 - a tmpfs is what is wanted
POSTGRES_VERSION = 16
MISSED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of a benchmark's table. `met` is None where nothing was asked."""

    name: str
    measured: str
    asked: str = "-"
    error: str = "-"
    met: bool | None = None


def conclude(figures: Sequence[Figure]) -> int:
    """Print the table and return the exit code: 1 when a figure is missed."""
    rows = [("figure", "asked", "measured", "error (interval)", "")]
    words = {None: "", True: "met", False: "MISSED"}
    rows += [(f.name, f.asked, f.measured, f.error, words[f.met]) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = zip(row, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
    return MISSED if any(f.met is False for f in figures) else 0


def interval(values: Sequence[float], scale: float = 1.0, digits: int = 3, unit: str = "") -> str:
    """Word the 95% interval of the median of `values`, or their range where they are too few."""
    found = median_interval(values)
    if found.low is None or found.high is None:
        low, high, what = min(values), max(values), "range"
    else:
        low, high, what = found.low, found.high, f"{found.confidence_ratio:.1%} interval"
    shown = f"{low * scale:.{digits}f} to {high * scale:.{digits}f}{unit}"
    return f"{shown} ({what}, n = {len(values)})"


def save(name: str, command: Sequence[str], result: dict[str, Any]) -> None:
    """Keep a result as data, with the command that made it and the machine's facts."""
    host = Host().host_facts()
    data = {
        "command": " ".join(("python", "-m", *command)),
        "host": {
            "cpu_model": host.cpu_model,
            "cpu_count": host.cpu_count,
            "memory_bytes": host.memory_bytes,
            "kernel": re.match(r"[\d.]*", host.kernel)[0],  # type: ignore[index]
        },
        **result,
    }
    DATA.mkdir(exist_ok=True)
    (DATA / name).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print(f"saved {DATA.name}/{name}", file=sys.stderr)


def plan_of(suite: str, *overrides: str) -> Plan:
    """Make the plan of a suite that is written as YAML text, or of a preset."""
    if "\n" not in suite:
        return suites.load(suite, overrides)[1]
    with TemporaryDirectory() as directory:
        path = Path(directory) / "suite.yaml"
        path.write_text(suite, encoding="utf-8")
        return suites.load(str(path), overrides)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class BareRun:
    """What a pgbench printed that nobody watched, and the processor time it took itself."""

    stdout: str
    stderr: str
    cpu_s: float
    elapsed_s: float


class Server(EmbeddedTarget):
    """groundspeed's own embedded server, at which a bare pgbench can be run too."""

    @property
    def address(self) -> Address:
        """How it is reached."""
        return self._address

    @property
    def load_directory(self) -> Path:
        """The directory in memory where pgbench's logs go."""
        return self._load_directory

    def bare_pgbench(self, arguments: Sequence[str]) -> BareRun:
        """Run pgbench as a load is run - user, route, password - but unwatched and to files.

        Raises SystemExit when it fails.
        """
        password = f"*:*:*:*:{self._address.password}\n"
        with (
            TemporaryFile() as stdout,
            TemporaryFile() as stderr,
            process.memory_file(password, self._with.account) as (descriptor, passfile),
        ):
            started_s = session.SystemClock().monotonic_s()
            load = process.start(
                [self._programs.program("pgbench"), *arguments],
                account=self._with.account,
                environment={
                    "PGCONNECT_TIMEOUT": "10",
                    "PGAPPNAME": "pgbench",
                    "PGPASSFILE": passfile,
                },
                cwd=self._load_directory,
                pass_fds=(descriptor,),
                stdout=stdout,
                stderr=stderr,
            )
            try:
                _, status, usage = os.wait4(load.pid, 0)
                load.returncode = os.waitstatus_to_exitcode(status)
            finally:
                process.end(load)
            elapsed_s = session.SystemClock().monotonic_s() - started_s
            stdout.seek(0)
            stderr.seek(0)
            complaints = stderr.read().decode()
            if load.returncode != 0:
                raise SystemExit(f"pgbench: {pgbench.error_line(complaints)}")
            return BareRun(
                stdout=stdout.read().decode(),
                stderr=complaints,
                cpu_s=usage.ru_utime + usage.ru_stime,
                elapsed_s=elapsed_s,
            )


@contextmanager
def standing_server(
    directory: Path | str, *, scale: int | None, settings: tuple[tuple[str, str], ...] = ()
) -> Iterator[Server]:
    """Stand up groundspeed's embedded server below `directory`, and leave nothing of it.

    With a scale it has the pgbench dataset and is stopped; without one it runs and is empty.
    """
    run_id = f"bench-{os.getpid()}"
    with LeaseFile(run_id) as lease:
        account = process.unprivileged_account()
        found = installation.find(POSTGRES_VERSION)
        server = Server(
            EnvironmentPlan(
                name="bench",
                slug="bench",
                kind=TargetKind.EMBEDDED,
                storage=StorageRequest(directory=str(directory)),
                version=POSTGRES_VERSION,
                settings=settings,
            ),
            Placement(label="bench", emulated=False, directory=str(directory)),
            places.reachable_programs(found, run_id, account, lease),
            Surroundings(
                run_id=run_id,
                lease=lease,
                account=account,
                describe_storage=session.describe_storage,
                clone=False,
            ),
        )
        try:
            server.provide()
            if scale is not None:
                server.prepare(scale)
            yield server
        finally:
            server.remove()
