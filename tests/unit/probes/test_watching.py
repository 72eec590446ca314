"""The probe process and the side that asks, with real processes and a small real sampler."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.ports import WatchPoints
from groundspeed.probes.watching import ALL_PROBES, ProcessWatcher
from groundspeed.record.evidence import ProbeLevel
from tests import leftovers, small_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.ports import Seen
    from groundspeed.probes.watching import ProcessWatch

# Nothing here takes so long; it only keeps a broken test from holding up all others.
LIMIT_S = 60.0
SECRET = "the-s3cret-of-probes"

# Writes a byte into the file that `data_directory` names at each tick.
SMALL = """
import os, select, sys
from groundspeed.probes import watcher
from groundspeed.probes.sampling import Part
from groundspeed.record.evidence import Absent

class Small:
    def __init__(self, points):
        self.file = os.open(points.data_directory, os.O_WRONLY)
        print("a library that prints")
    def begin(self): self.count = self.seconds = 0
    def tick(self):
        self.count += 1
        os.write(self.file, b".")
    def second(self):
        self.seconds += 1
        return {"seconds_count": float(self.seconds)}
    def end(self):
        heavy = {"click", "rich", "pydantic", "yaml"} & set(sys.modules)
        return Part(
            activity_sample_count=self.count,
            absent=tuple(Absent(what=name, reason="loaded") for name in sorted(heavy)),
        )
    def close(self): os.write(self.file, b"c")

class Stuck(Small):
    def tick(self):
        os.write(self.file, b".")
        select.select([], [], [])

def samplers(level, points):
    def broken(): raise OSError("no luck with " + points.password)
    kinds = {"small": lambda: Small(points), "stuck": lambda: Stuck(points), "broken": broken}
    return {name: kinds[name] for name in KINDS}

sys.exit(watcher.main(sys.argv[1:], samplers))
"""


def program(*kinds: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-c", SMALL.replace("KINDS", repr(kinds)))


class Ticks:
    """Reads what the sampler writes; also the points that name it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "ticks"
        os.mkfifo(self.path)
        # Read and write: opening waits for nobody, and there is no end of file in between.
        self._descriptor = os.open(self.path, os.O_RDWR)
        self.seen = b""

    @property
    def points(self) -> WatchPoints:
        return WatchPoints(
            conninfo="host=nowhere",
            password=SECRET,
            groundspeed_pid=os.getpid(),
            data_directory=str(self.path),
        )

    def wait_for(self, count: int) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while len(self.seen) < count:
            left_s = deadline_s - time.monotonic()
            assert select.select([self._descriptor], [], [], max(0.0, left_s))[0], self.seen
            self.seen += os.read(self._descriptor, 4096)

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def ticks(tmp_path: Path) -> Iterator[Ticks]:
    made = Ticks(tmp_path)
    yield made
    made.close()


@contextmanager
def watching(
    ticks: Ticks,
    *kinds: str,
    argv: tuple[str, ...] | None = None,
    level: ProbeLevel = ProbeLevel.FULL,
    patience_s: float = LIMIT_S,
) -> Iterator[ProcessWatch]:
    watcher = ProcessWatcher(level, program=argv or program(*kinds), patience_s=patience_s)
    watch = watcher.open(ticks.points)
    assert watch is not None
    pid = watch.pid
    try:
        yield watch
    finally:
        watch.close()
        watch.close()
        assert pid is None or not Path(f"/proc/{pid}").exists()


def reason_of(seen: Seen) -> str:
    (absent,) = seen.evidence.absent
    assert absent.what == ALL_PROBES
    assert seen.series.columns == ()
    return absent.reason


def test_ticks_keep_their_rate(ticks: Ticks) -> None:
    with watching(ticks, "small") as watch:
        watch.begin()
        ticks.wait_for(25)
        seen = watch.end()
    evidence = seen.evidence
    assert evidence.level is ProbeLevel.FULL
    assert evidence.absent == ()
    # Never more than were due; fewer, where the machine was busy with other things.
    due = int(evidence.elapsed_s * 10)
    assert 25 <= evidence.activity_sample_count <= due
    assert evidence.activity_sample_count > due / 2
    whole_seconds = int(evidence.elapsed_s)
    assert whole_seconds >= 2
    assert seen.series.columns == ("second_index", "seconds_count")
    assert len(seen.series.values[0]) in {whole_seconds - 1, whole_seconds}
    assert abs(evidence.started_at_s + evidence.elapsed_s - time.time()) < LIMIT_S
    (cost,) = evidence.costs
    assert cost.call_count == evidence.activity_sample_count
    assert 0 < cost.cpu_s < evidence.elapsed_s


def test_a_watch_counts_again_and_ends_in_order(ticks: Ticks) -> None:
    with watching(ticks, "small") as watch:
        counts = []
        for total in (3, 8):
            watch.begin()
            ticks.wait_for(total)
            counts.append(watch.end().evidence.activity_sample_count)
        assert sum(counts) == len(ticks.seen)
    ticks.wait_for(len(ticks.seen) + 1)
    assert ticks.seen.endswith(b"c")


def test_a_probe_process_that_is_not_asked_does_nothing(ticks: Ticks) -> None:
    with watching(ticks, "small"):
        pass
    ticks.wait_for(1)
    assert ticks.seen == b"c"


def test_nothing_is_started_where_nothing_is_watched(ticks: Ticks) -> None:
    assert ProcessWatcher(ProbeLevel.OFF, program=("/nowhere",)).open(ticks.points) is None


def test_the_password_is_in_no_argument_and_no_variable(ticks: Ticks) -> None:
    with watching(ticks, "small") as watch:
        process = Path(f"/proc/{watch.pid}")
        for name in ("cmdline", "environ"):
            assert SECRET.encode() not in (process / name).read_bytes()


def test_a_sampler_that_cannot_be_opened_takes_no_other_with_it(ticks: Ticks) -> None:
    with watching(ticks, "broken", "small") as watch:
        watch.begin()
        ticks.wait_for(2)
        evidence = watch.end().evidence
    (absent,) = evidence.absent
    assert (absent.what, absent.reason) == ("broken", "OSError: no luck with ***")
    assert evidence.activity_sample_count >= 2


@pytest.mark.parametrize("moment", ["open", "begin"])
def test_a_probe_process_that_is_killed_is_absent(ticks: Ticks, moment: str) -> None:
    with watching(ticks, "small") as watch:
        if moment == "begin":
            watch.begin()
            ticks.wait_for(1)
        assert watch.pid is not None
        os.kill(watch.pid, signal.SIGKILL)
        if moment == "open":
            watch.begin()
        seen = watch.end()
    assert reason_of(seen) == "the probe process was killed by signal 9"
    assert seen.evidence.elapsed_s >= 0


def test_a_probe_process_that_is_stuck_is_given_up(ticks: Ticks) -> None:
    with watching(ticks, "stuck", patience_s=3.0) as watch:
        watch.begin()
        ticks.wait_for(1)
        seen = watch.end()
    assert reason_of(seen) == "the probe process gave no answer for 3 s"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("/nowhere/python",), "cannot be started"),
        ((sys.executable, "-c", "raise SystemExit('no such level')"), ": no such level"),
        ((sys.executable, "-c", "print('ready?')"), "answered b'ready?'"),
    ],
)
def test_a_probe_process_that_does_not_start_is_absent(
    ticks: Ticks, argv: tuple[str, ...], reason: str
) -> None:
    with watching(ticks, argv=argv) as watch:
        watch.begin()
        assert reason in reason_of(watch.end())


LIAR = """
import sys
for line, answer in zip(sys.stdin, ("ready", "begun", '{"evidence": 5}')):
    print(answer, flush=True)
"""


def test_an_answer_that_is_no_evidence_is_absent(ticks: Ticks) -> None:
    with watching(ticks, argv=(sys.executable, "-c", LIAR)) as watch:
        watch.begin()
        assert "gave no evidence" in reason_of(watch.end())


PARENT = """
import os, sys
from groundspeed.ports import WatchPoints
from groundspeed.probes.watching import ProcessWatcher
from groundspeed.record.evidence import ProbeLevel
points = WatchPoints(
    conninfo="", password=None, groundspeed_pid=os.getpid(), data_directory=sys.argv[1]
)
watch = ProcessWatcher(ProbeLevel.FULL, program=sys.argv[2:]).open(points)
watch.begin()
print(watch.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["small", "stuck"])
def test_a_probe_process_dies_with_its_groundspeed(ticks: Ticks, kind: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(ticks.path), *program(kind)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=small_runs.variables(),
    ) as parent:
        try:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            assert child in leftovers.children_of(parent.pid)
            ticks.wait_for(1)
            gone = os.pidfd_open(child)
        finally:
            parent.kill()
    assert select.select([gone], [], [], LIMIT_S)[0], f"process {child} does not end"
    os.close(gone)
