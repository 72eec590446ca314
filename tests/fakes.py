"""Truthful fakes of the ports: they keep the rules of the real ones and complain when broken.

A fake target has a life (absent, stopped, running), refuses what a real one could not do, and
writes every call into a journal that its test shares among all of them. What shall go wrong is
scripted by the name of the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import StoreError, TargetError
from groundspeed.ports import Entry, LoadResult, Progress, Seen, WatchPoints
from groundspeed.record import (
    Caution,
    Evidence,
    Histogram,
    LogTotals,
    SecondRow,
    Series,
    ServerFacts,
    StorageFacts,
    StorageWork,
)
from groundspeed.record.evidence import ProbeLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from groundspeed.plan import Command, Trial
    from groundspeed.record import Record
    from groundspeed.record.evidence import Absent

TRANSACTION_TYPES = {
    "select-only": "<builtin: select only>",
    "simple-update": "<builtin: simple update>",
    "tpcb-like": "<builtin: TPC-B (sort of)>",
}


class FakeClock:
    """Time that goes on only when it is told to; the wall clock may be set apart."""

    def __init__(self) -> None:
        self._now_s = 1000.0
        self._wall_offset_s = 1_700_000_000.0

    def monotonic_s(self) -> float:
        return self._now_s

    def wall_s(self) -> float:
        return self._now_s + self._wall_offset_s

    def pass_time(self, elapsed_s: float) -> None:
        """Let both clocks go on."""
        self._now_s += elapsed_s

    def jump(self, by_s: float) -> None:
        """Set the wall clock, as an administrator or a time server does."""
        self._wall_offset_s += by_s


class MemoryStore:
    """Keeps records in memory; with `room`, the disk is full after so many."""

    def __init__(self, records: tuple[Record, ...] = (), *, room: int | None = None) -> None:
        self._records = list(records)
        self._room = room
        self.raw: dict[str, str] = {}
        self.seconds: dict[tuple[str, int], tuple[SecondRow, ...]] = {}
        self.series: dict[tuple[str, int], Series] = {}

    def records(self) -> tuple[Record, ...]:
        return tuple(self._records)

    def append(self, record: Record) -> None:
        if self._room is not None and len(self._records) >= self._room:
            raise StoreError("records.jsonl: the disk is full", "make room")
        self._records.append(record)

    def write_raw(self, name: str, text: str) -> None:
        stems = [f"{r.trial.trial_id}.{r.attempt}." for r in self._records]
        assert not name.startswith(tuple(stems)), "raw output of a record is never written over"
        self.raw[name] = text

    def write_seconds(self, trial_id: str, attempt: int, rows: tuple[SecondRow, ...]) -> None:
        assert (trial_id, attempt) not in [(r.trial.trial_id, r.attempt) for r in self._records]
        self.seconds[trial_id, attempt] = rows

    def write_series(self, trial_id: str, attempt: int, series: Series) -> None:
        assert (trial_id, attempt) not in [(r.trial.trial_id, r.attempt) for r in self._records]
        self.series[trial_id, attempt] = series


class RecordingListener:
    """Remembers what it was told; `at_phase` is called in each phase."""

    def __init__(self, journal: list[str] | None = None) -> None:
        self.journal = [] if journal is None else journal
        self.notes: list[str] = []
        self.numbers: list[int] = []
        self.left_s: list[float] = []
        self.ended: list[Record] = []
        self.at_phase: Callable[[str], None] = lambda _: None

    def note(self, message: str) -> None:
        self.notes.append(message)

    def trial_started(self, trial: Trial, *, number: int, left_s: float) -> None:
        self.journal.append(f"trial {trial.trial_id}")
        self.numbers.append(number)
        self.left_s.append(left_s)

    def phase(self, name: str) -> None:
        self.journal.append(f"phase {name}")
        self.at_phase(name)

    def progress(self, progress: Progress) -> None:
        self.journal.append(f"progress {progress.elapsed_s:g}")

    def trial_ended(self, record: Record) -> None:
        self.ended.append(record)


class FakeTarget:
    """A server of an environment that exists only here.

    `script` maps the name of a call to what happens when it is called, once each and in order:
    an exception is raised, None lets it pass. For loads the names are `initialise`, `warm_up` and
    `measure`, and a LoadResult is given back. `speed` says how many transactions a second a load
    of a trial makes. A target that is warm keeps its server where it is told to stop.
    """

    def __init__(  # noqa: PLR0913 - what tests vary
        self,
        name: str,
        journal: list[str],
        *,
        clock: FakeClock | None = None,
        script: Mapping[str, Sequence[BaseException | LoadResult | None]] | None = None,
        check_cautions: tuple[Caution, ...] = (),
        storage: StorageFacts | None = None,
        storage_work: StorageWork | None = None,
        is_warm: bool = False,
        speed: Callable[[Trial], float] = lambda _: 1000.0,
    ) -> None:
        self.name = name
        self.journal = journal
        self.life = "absent"
        self.server_died = False
        self._clock = clock or FakeClock()
        self._script = {call: list(steps) for call, steps in (script or {}).items()}
        self._check_cautions = check_cautions
        self._storage = storage
        self._storage_work = storage_work
        self._is_warm = is_warm
        self._speed = speed
        self.at_load: Callable[[str], None] = lambda _: None

    def _call(self, call: str, *, life: tuple[str, ...]) -> LoadResult | None:
        self.journal.append(f"{self.name}.{call}")
        assert self.life in life, f"{call} while {self.life}"
        steps = self._script.get(call, [])
        step = steps.pop(0) if steps else None
        if isinstance(step, BaseException):
            raise step
        return step

    @property
    def conninfo(self) -> str:
        return f"host={self.name}"

    @property
    def reset_method(self) -> str:
        return "fake: nothing to reset"

    def provide(self) -> None:
        # As a real one, it has made something even when it fails.
        life, self.life = self.life, "running"
        assert life == "absent"
        self._call("provide", life=("running",))

    def prepare(self, scale: int) -> None:
        self._call(f"prepare {scale}", life=("running",))
        self._call("initialise", life=("running",))
        self.life = "stopped"

    def start(self) -> None:
        self._call("start", life=("stopped", "running") if self._is_warm else ("stopped",))
        self.life, self.server_died = "running", False

    def stop(self) -> None:
        self._call("stop", life=("running", "stopped"))
        if not self._is_warm or self.server_died:
            self.life = "stopped"

    def reset(self) -> None:
        self._call("reset", life=("running", "stopped"))

    def check(self) -> tuple[Caution, ...]:
        self._call("check", life=("running",))
        return self._check_cautions

    def checkpoint(self) -> tuple[Caution, ...]:
        self._call("checkpoint", life=("running",))
        return ()

    def reset_statistics(self) -> tuple[Caution, ...]:
        self._call("reset_statistics", life=("running",))
        return ()

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        assert trial is not None
        part = "warm_up" if limit_s < trial.duration_s else "measure"
        self._clock.pass_time(min(limit_s, trial.duration_s))
        self.at_load(part)
        result = self._call(part, life=("running",))
        if result is not None:
            return result
        if part == "warm_up":
            return interrupted_load(limit_s)
        on_progress(Progress(elapsed_s=1.0, tps_per_s=1000.0, p99_s=None))
        return finished_load(trial, command, tps_per_s=self._speed(trial))

    def storage_work(self) -> StorageWork | None:
        return self._storage_work

    def watch_points(self) -> WatchPoints:
        assert self.life == "running"
        return WatchPoints(conninfo=self.conninfo, password=None, groundspeed_pid=1)

    def is_alive(self) -> bool:
        return self.life == "running" and not self.server_died

    def why_dead(self) -> str:
        return "PANIC: out of ideas"

    def program_version(self, program: str) -> str:
        assert program == "pgbench"
        return "16.4"

    def server_facts(self) -> ServerFacts:
        assert self.life == "running"
        return ServerFacts(version="16.4", version_num=160004, settings=())

    def storage_facts(self) -> StorageFacts | None:
        return self._storage

    def remove(self) -> None:
        self._call("remove", life=("absent", "stopped", "running"))
        self.life = "absent"


class FakeDurableTarget(FakeTarget):
    """A target whose server can be killed. It has a ledger, and loses of it what `lost` names.

    Entries are acknowledged every tenth of a second while they are written.
    """

    def __init__(
        self,
        name: str,
        journal: list[str],
        *,
        clock: FakeClock,
        lost: Mapping[str, frozenset[str]] | None = None,
        script: Mapping[str, Sequence[BaseException | LoadResult | None]] | None = None,
    ) -> None:
        super().__init__(name, journal, clock=clock, script=script)
        self._clock = clock
        # By the ending that loses them.
        self._lost = lost or {}
        self._entries: list[Entry] = []
        self._present: frozenset[str] = frozenset()

    def ledger(self) -> FakeDurableTarget:
        assert self.life == "running"
        return self

    def open(self) -> None:
        self._call("open", life=("running",))

    def write_for(self, limit_s: float) -> None:
        self._call("write_for", life=("running",))
        for number in range(round(limit_s * 10)):
            self._clock.pass_time(0.1)
            at_ns = round(self._clock.monotonic_s() * 1e9)
            self._entries.append(Entry(name=f"0:{number}", at_ns=at_ns))
        self._present = frozenset(entry.name for entry in self._entries)

    def kill(self) -> None:
        self._call("kill", life=("running",))
        self.life = "stopped"
        self._present -= self._lost.get("killed", frozenset())

    def close(self) -> tuple[Entry, ...]:
        self._call("close", life=("running", "stopped"))
        return tuple(self._entries)

    def cut_power(self) -> int:
        self._call("cut_power", life=("stopped",))
        self._present -= self._lost.get("power-cut", frozenset())
        return 4096

    def present(self) -> frozenset[str]:
        self._call("present", life=("running",))
        return self._present


class FakeWatcher:
    """Opens watches that see what they are told to; without evidence there are none.

    As with targets, `script` says what happens at a call of `open`, `begin` or `end`.
    """

    def __init__(
        self,
        journal: list[str],
        *,
        evidence: Evidence | None = None,
        series: Series | None = None,
        script: Mapping[str, Sequence[BaseException | None]] | None = None,
    ) -> None:
        self.journal = journal
        self.points: list[WatchPoints] = []
        self.watches: list[FakeWatch] = []
        self._evidence = evidence
        self._series = series or Series()
        self._script = {call: list(steps) for call, steps in (script or {}).items()}

    def open(self, points: WatchPoints) -> FakeWatch | None:
        if self._evidence is None:
            return None
        self.points.append(points)
        self.call("open")
        seen = Seen(evidence=self._evidence, series=self._series)
        self.watches.append(FakeWatch(self, seen))
        return self.watches[-1]

    def call(self, call: str) -> None:
        """Note a call and let happen what its script says."""
        self.journal.append(f"watch.{call}")
        steps = self._script.get(call, [])
        step = steps.pop(0) if steps else None
        if step is not None:
            raise step


class FakeWatch:
    """One watch; it counts at most once, between begin and end."""

    def __init__(self, watcher: FakeWatcher, seen: Seen) -> None:
        self._watcher = watcher
        self._seen = seen
        self.life = "open"

    def begin(self) -> None:
        assert self.life == "open", f"begin while {self.life}"
        self.life = "counting"
        self._watcher.call("begin")

    def end(self) -> Seen:
        assert self.life == "counting", f"end while {self.life}"
        self.life = "open"
        self._watcher.call("end")
        return self._seen

    def close(self) -> None:
        self.life = "closed"
        self._watcher.call("close")


def evidence(*absent: Absent) -> Evidence:
    """What probes saw of a trial in which there was nothing to see."""
    return Evidence(
        level=ProbeLevel.FULL, started_at_s=1_700_000_000.0, elapsed_s=2.0, absent=absent
    )


def log_totals(count: int, *, latency_us: int = 100) -> LogTotals:
    """A log of equal transactions, one each millisecond."""
    return LogTotals(
        count=count,
        failed=0,
        serialization=0,
        deadlock=0,
        skipped=0,
        retried=0,
        retries=0,
        sum_us=latency_us * count,
        sum_squares_us2=latency_us**2 * count,
        min_us=latency_us if count else None,
        max_us=latency_us if count else None,
        first_us=1_000_000 if count else None,
        last_us=1_000_000 + 1000 * count if count else None,
        malformed=0,
        out_of_range=0,
        late=0,
        punch_failures=0,
        bytes=20 * count,
        histogram=Histogram(sub_bucket_bits=7, buckets=((latency_us, count),) if count else ()),
    )


def report_text(trial: Trial, count: int) -> str:
    """What pgbench 16 says at its end."""
    return "\n".join(
        (
            "pgbench (16.4)",
            f"transaction type: {TRANSACTION_TYPES.get(trial.cell.workload, 'script.sql')}",
            f"scaling factor: {trial.cell.scale}",
            f"query mode: {trial.protocol}",
            f"number of clients: {trial.cell.clients}",
            f"number of threads: {trial.cell.threads}",
            f"maximum number of tries: {trial.max_tries}",
            f"duration: {trial.duration_s} s",
            f"number of transactions actually processed: {count}",
            "number of failed transactions: 0 (0.000%)",
            "latency average = 0.100 ms",
            "latency stddev = 0.010 ms",
            "initial connection time = 1.000 ms",
            f"tps = {count / trial.duration_s:.6f} (without initial connection time)",
            "",
        )
    )


def interrupted_load(limit_s: float) -> LoadResult:
    """A warm-up that was ended after its time, as every one is."""
    return LoadResult(returncode=-2, stdout="", stderr="", elapsed_s=limit_s, log=log_totals(1000))


def finished_load(trial: Trial, command: Command, *, tps_per_s: float = 1000.0) -> LoadResult:
    """A load that ran to its end."""
    count = round(tps_per_s * trial.duration_s)
    sampled = [a for a in command.arguments if a.startswith("--sampling-rate")]
    assert not sampled, "1000 a second are logged whole"
    row = SecondRow(
        index=0,
        count=count,
        failed=0,
        skipped=0,
        mean_us=100,
        p50_us=100,
        p95_us=100,
        p99_us=100,
        max_us=100,
    )
    return LoadResult(
        returncode=0,
        stdout=report_text(trial, count),
        stderr="progress: 1.0 s, 1000.0 tps, lat 0.1 ms stddev 0.01\n",
        elapsed_s=float(trial.duration_s),
        log=log_totals(count),
        seconds=(row,),
    )


def failed_load(stderr: str = "pgbench: error: broken\n", returncode: int = 2) -> LoadResult:
    """A load that gave up."""
    return LoadResult(
        returncode=returncode, stdout="", stderr=stderr, elapsed_s=0.1, log=log_totals(0)
    )


def wrong_load(trial: Trial, command: Command) -> LoadResult:
    """A load that did something else than it was asked for."""
    other = msgspec.structs.replace(trial, protocol="simple")
    return msgspec.structs.replace(
        finished_load(trial, command), stdout=report_text(other, 1000 * trial.duration_s)
    )


def target_error(message: str = "broken") -> TargetError:
    return TargetError(message, "mend it")
