"""Drives a provocation on a real redis-server: load, real probes, and the diagnosis of its trial.

The load is redis-benchmark without an end, stopped by us: its rate is what the server counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.analyse.bottleneck import diagnose
from groundspeed.analyse.course import course
from groundspeed.plan import words_of
from groundspeed.ports import WatchPoints
from groundspeed.probes.watching import ProcessWatcher
from groundspeed.record import Histogram, LatencySummary, Measured, Record, StorageFacts
from groundspeed.record.evidence import ProbeLevel
from groundspeed.storage import catalogue
from groundspeed.storage.placement import Emulation
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.leases import OWNED_NAME, LeaseFile
from tests.examples import make_measured, make_provenance, make_record, make_trial
from tests.server.provoked.driving import Provoked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from groundspeed.ports import Seen

SERVER, LOAD, CLI = "redis-server", "redis-benchmark", "redis-cli"
MEMORY = Path("/dev/shm")
CACHE_BYTES = 2 * 1024**3
START_LIMIT_S = 30.0
# So that each look at a condition costs nothing that matters.
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Serving:
    """A running server, and the device that its files are on."""

    pid: int
    directory: Path
    device: EmulatedDevice | None

    @property
    def socket(self) -> str:
        return str(self.directory / "redis.sock")

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def ask(self, *command: str) -> str:
        """Ask with redis-cli; empty while nobody answers."""
        asked = [CLI, "-s", self.socket, *command]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, within reason."""
        deadline_s = time.monotonic() + START_LIMIT_S
        while not holds():
            assert time.monotonic() < deadline_s, (self.directory / "log").read_text()
            time.sleep(POLL_S)


@contextmanager
def serve(
    settings: Mapping[str, object],
    profile: Mapping[str, Any] | None = None,
    *,
    cache_bytes: int = CACHE_BYTES,
) -> Iterator[Serving]:
    """Run a server with its files in memory, on an emulated device where a profile is given."""
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="provoked-", dir=MEMORY))
        stack.callback(shutil.rmtree, directory)
        device = None if profile is None else _device(stack, profile, directory, cache_bytes)
        asked = {
            "port": 0,
            "unixsocket": directory / "redis.sock",
            "dir": directory,
            "save": "",
            **settings,
        }
        arguments = [part for name, value in asked.items() for part in (f"--{name}", str(value))]
        variables = {} if device is None else device.variables()
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [SERVER, *arguments], env={**os.environ, **variables}, stdout=log, stderr=log
            )
        stack.callback(_end, process)
        serving = Serving(process.pid, directory, device)
        serving.until(lambda: "PONG" in serving.ask("PING"))
        yield serving


def _device(
    stack: ExitStack, profile: Mapping[str, Any], directory: Path, cache_bytes: int
) -> EmulatedDevice:
    lease = stack.enter_context(LeaseFile(f"provoked-{directory.name}"))
    emulation = Emulation(
        profile=catalogue.load(dict(profile)),
        cache_bytes=cache_bytes,
        memory_bytes=cache_bytes,
        memory_assumed=False,
    )
    device = EmulatedDevice(emulation, f"{OWNED_NAME}{directory.name}", account=None, lease=lease)
    stack.callback(device.remove)
    device.make([directory])
    return device


def _end(process: subprocess.Popen[bytes]) -> None:
    # Nothing that it would still write is wanted.
    process.kill()
    process.wait()


def provoke_serving(
    serving: Serving,
    load: Sequence[str],
    *,
    clients: int,
    duration_s: float,
    meanwhile: Callable[[], None] | None = None,
) -> Provoked:
    """Load a server for a while and name what held it back."""
    points = WatchPoints(
        conninfo=serving.url,
        password=None,
        groundspeed_pid=os.getpid(),
        load_program=LOAD,
        server_pid=serving.pid,
        data_directory=str(serving.directory),
        engine="redis",
    )
    watch = ProcessWatcher(ProbeLevel.FULL, patience_s=60.0).open(points)
    assert watch is not None
    command = [LOAD, "-s", serving.socket, "-c", str(clients), "-n", "2000000000", *load]
    with ExitStack() as stack:
        stack.callback(watch.close)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(_end, process)
        serving.until(lambda: f"connected_clients:{clients}" in _clients(serving, clients))
        if serving.device is not None:
            serving.device.begin()
        watch.begin()
        deadline_s = time.monotonic() + duration_s
        while time.monotonic() < deadline_s:
            if meanwhile is not None:
                meanwhile()
            time.sleep(POLL_S)
        work = None if serving.device is None else serving.device.work()
        seen = watch.end()
    return _provoked(seen, clients, serving, work)


def _clients(serving: Serving, clients: int) -> str:
    """The line on clients; more than asked for are enough too."""
    lines = serving.ask("INFO", "clients").split()
    counts = [int(line.split(":")[1]) for line in lines if line.startswith("connected_clients:")]
    return f"connected_clients:{clients}" if counts and counts[0] > clients else ""


def _provoked(seen: Seen, clients: int, serving: Serving, work: Any) -> Provoked:  # noqa: ANN401
    served = seen.evidence.serving
    assert served is not None, seen.evidence.absent
    assert served.request_count
    rate = served.request_count / seen.evidence.elapsed_s
    trial = make_trial()
    cell = msgspec.structs.replace(trial.cell, clients=clients, workload="set")
    profile = None
    if serving.device is not None:
        profile = msgspec.json.encode(serving.device.emulation.profile).decode()
    record: Record = msgspec.structs.replace(
        make_record(),
        trial=msgspec.structs.replace(trial, cell=cell, duration_s=int(seen.evidence.elapsed_s)),
        outcome=_measured(rate, clients),
        provenance=msgspec.structs.replace(
            make_provenance(),
            tool=LOAD,
            storage=StorageFacts(label="e", emulated=profile is not None, profile=profile),
        ),
        evidence=seen.evidence,
        storage_work=work,
    )
    went = course(trial.trial_id, (), seen.evidence, seen.series, work)
    diagnosis = diagnose(record, series=seen.series, course=went, words=words_of("redis"))
    return Provoked(record, diagnosis)


def _measured(rate_per_s: float, clients: int) -> Measured:
    """By Little's law: every client always waits for one answer."""
    nan = float("nan")
    latency = LatencySummary(
        mean_s=clients / rate_per_s,
        stddev_s=nan,
        p50_s=nan,
        p90_s=nan,
        p95_s=nan,
        p99_s=nan,
        p999_s=nan,
        max_s=nan,
    )
    return msgspec.structs.replace(
        make_measured(),
        tps_per_s=rate_per_s,
        latency=latency,
        initial_connection_s=None,
        histogram=Histogram(),
    )
