"""The life of a run and of a trial: provide, prepare, check, warm up, measure, verify, clean.

Yields a `Record` for every trial, whatever came of it, and goes on where an earlier process
stopped. It owns no machine and writes no file: targets and a store do.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from groundspeed import __version__
from groundspeed.errors import TargetError
from groundspeed.measurement import judge
from groundspeed.plan import DATASET_BYTES_PER_SCALE
from groundspeed.ports import Clock, Listener, Store, Target
from groundspeed.record import (
    Caution,
    Failed,
    HostFacts,
    Measured,
    Phase,
    Provenance,
    Record,
    ServerFacts,
    Skipped,
    StorageFacts,
    StorageWork,
)
from groundspeed.storage import counters
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.plan import Command, Plan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Outcome

# A wall clock and the monotonic clock differ by far less over a trial unless somebody set it.
_CLOCK_JUMP_S = 1.0
# pgbench finishes its running transactions after -T; a client that hangs longer is a failure.
_OVERTIME_S = 60.0
# A dataset below this share of the memory stays in the page cache beside everything else.
_CACHED_RATIO = 0.7


class Crew(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run works with. `unavailable` maps an environment to why it has no target."""

    targets: Mapping[str, Target]
    unavailable: Mapping[str, str]
    store: Store
    clock: Clock
    listener: Listener
    host: HostFacts


class _EnvironmentState:
    """What the run knows of an environment that stands."""

    def __init__(self) -> None:
        self.dirty = False
        self.pgbench_version = ""
        self.server: ServerFacts | None = None
        self.storage: StorageFacts | None = None


def remaining(plan: Plan, records: Sequence[Record]) -> tuple[Trial, ...]:
    """Trials that still want a measurement, in order.

    A trial is done when it has a record that is no retryable failure.
    """
    done = {
        record.trial.trial_id
        for record in records
        if not (isinstance(record.outcome, Failed) and record.outcome.retryable)
    }
    return tuple(trial for trial in plan.trials if trial.trial_id not in done)


def execute(plan: Plan, crew: Crew) -> None:
    """Run what remains of a plan and leave nothing behind.

    Raises TargetError when an environment cannot be set up, StoreError when a record cannot be
    kept. A trial that fails is a record, not an exception.
    """
    todo = remaining(plan, crew.store.records())
    for trial in todo:
        if trial.cell.environment in crew.unavailable:
            reason = crew.unavailable[trial.cell.environment]
            _keep(crew, _untried(plan, trial, Skipped(reason=reason), crew))
    todo = tuple(t for t in todo if t.cell.environment not in crew.unavailable)
    wanted = dict.fromkeys(t.cell.environment for t in todo)
    try:
        states = {name: _set_up(plan, crew, name) for name in wanted}
        for number, trial in enumerate(todo, start=1):
            crew.listener.trial_started(
                trial,
                number=len(plan.trials) - len(todo) + number,
                left_s=_left_s(plan, todo[number - 1 :]),
            )
            attempt = _Attempt(plan, crew, trial, states[trial.cell.environment])
            _keep(crew, attempt.run())
            # Only now: a Ctrl-C while the server stops must not cost what was measured.
            attempt.clean()
    finally:
        _tear_down(crew, list(wanted))


def _left_s(plan: Plan, todo: Sequence[Trial]) -> float:
    """Estimate what is left, from the plan; shown to people, never measured by."""
    overhead_s = (plan.estimate.wall_s - plan.estimate.load_s) / max(1, len(plan.trials))
    return sum(trial.duration_s + overhead_s for trial in todo)


def _set_up(plan: Plan, crew: Crew, name: str) -> _EnvironmentState:
    target = crew.targets[name]
    state = _EnvironmentState()
    crew.listener.note(f"{name}: setting up, scale {plan.trials[0].cell.scale}")
    target.provide()
    state.pgbench_version = target.program_version("pgbench")
    state.server = target.server_facts()
    state.storage = target.storage_facts()
    target.prepare(plan.trials[0].cell.scale)
    return state


def _tear_down(crew: Crew, names: Sequence[str]) -> None:
    for name in names:
        try:
            crew.targets[name].remove()
        except TargetError as error:
            # Its lease stays, so the next command tries again; a run's result does not hang on it.
            crew.listener.note(f"{name}: left behind: {error.message}; {error.hint}")


def _keep(crew: Crew, record: Record) -> None:
    crew.store.append(record)
    crew.listener.trial_ended(record)


def _attempt_number(crew: Crew, trial: Trial) -> int:
    earlier = sum(r.trial.trial_id == trial.trial_id for r in crew.store.records())
    return earlier + 1


def _timestamp(wall_s: float) -> str:
    moment = dt.datetime.fromtimestamp(wall_s, tz=dt.UTC)
    return moment.isoformat(timespec="milliseconds")


def _untried(plan: Plan, trial: Trial, outcome: Outcome, crew: Crew) -> Record:
    asked = plan.environment(trial.cell.environment).storage
    storage = None
    if asked is not None and asked.emulate is not None:
        # So that a report labels it as emulated although no device was ever made.
        storage = StorageFacts(label=asked.emulate, emulated=True)
    return Record(
        trial=trial,
        attempt=_attempt_number(crew, trial),
        started_at=_timestamp(crew.clock.wall_s()),
        elapsed_s=0.0,
        outcome=outcome,
        provenance=Provenance(groundspeed_version=__version__, host=crew.host, storage=storage),
    )


class _Attempt:
    """One attempt at one trial, phase by phase."""

    def __init__(self, plan: Plan, crew: Crew, trial: Trial, state: _EnvironmentState) -> None:
        self._crew = crew
        self._trial = trial
        self._state = state
        self._workload = plan.workload(trial.cell.workload)
        self._target = crew.targets[trial.cell.environment]
        self._number = _attempt_number(crew, trial)
        self._phases: list[Phase] = []
        self._cautions: list[Caution] = []
        self._command: Command | None = None
        self._storage_work: StorageWork | None = None

    def run(self) -> Record:
        """Measure; a misfortune of the server or the load becomes a Failed outcome."""
        clock = self._crew.clock
        started_wall_s, started_s = clock.wall_s(), clock.monotonic_s()
        try:
            outcome = self._live()
        except TargetError as error:
            outcome = Failed(reason=self._blame(error.message), retryable=True)
        elapsed_s = clock.monotonic_s() - started_s
        jump_s = clock.wall_s() - started_wall_s - elapsed_s
        if abs(jump_s) > _CLOCK_JUMP_S:
            message = f"the wall clock jumped by {jump_s:+.1f} s during the trial"
            self._caution("clock-jump", message)
        return self._record(outcome, _timestamp(started_wall_s), elapsed_s)

    def clean(self) -> None:
        """Bring the dataset back and stop the server; what fails there costs no record.

        Before the stop, because its checkpoint would come in between: after a checkpoint VACUUM
        logs every page it touches in full, and after a start it finds none of them in buffers.
        """
        self._crew.listener.phase("clean")
        for step in (self._bring_back, self._target.stop):
            try:
                step()
            except TargetError as error:
                self._crew.listener.note(f"{self._trial.cell.environment}: {error.message}")

    def _bring_back(self) -> None:
        if self._state.dirty and self._target.is_alive():
            self._target.reset()
            self._state.dirty = False

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self._crew.listener.phase(name)
        started_s = self._crew.clock.monotonic_s()
        try:
            yield
        finally:
            elapsed_s = self._crew.clock.monotonic_s() - started_s
            self._phases.append(Phase(name=name, elapsed_s=elapsed_s))

    def _caution(self, code: str, message: str) -> None:
        self._cautions.append(Caution(code=code, message=message))

    def _live(self) -> Outcome:
        target = self._target
        with self._phase("start"):
            if self._state.dirty:
                target.reset()
                self._state.dirty = False
            target.start()
        with self._phase("check"):
            self._cautions += self._circumstances()
            self._cautions += target.check()
            self._state.server = target.server_facts()
            self._cautions += target.checkpoint()
        # From here on the dataset may have changed, whatever comes of the trial.
        self._state.dirty = self._workload.writes
        with self._phase("warm up"):
            sampling_ratio = self._warm_up()
        with self._phase("measure"):
            self._cautions += target.reset_statistics()
            result = self._measure(sampling_ratio)
        with self._phase("verify"):
            return self._verify(result, sampling_ratio)

    def _circumstances(self) -> Iterator[Caution]:
        """Doubts that hold for every trial of an environment on this machine."""
        storage = self._state.storage
        if storage is None:
            return
        host, cell = self._crew.host, self._trial.cell
        yield Caution(
            code="shared-machine",
            message="server and load share the cores of this machine"
            f" ({host.cpu_count}): what the load takes, the server lacks",
        )
        memory_bytes, whose = host.memory_bytes, "this machine's memory"
        if storage.memory_bytes is not None:
            # On an emulated device no more is cached than the environment's own memory holds.
            memory_bytes, whose = storage.memory_bytes, "the memory of the environment"
        if cell.scale * DATASET_BYTES_PER_SCALE < memory_bytes * _CACHED_RATIO:
            yield Caution(
                code="cached-dataset",
                message=f"the dataset fits in {whose}: reads come from there, and only writes"
                " reach the storage",
            )
        if storage.memory_assumed:
            yield Caution(
                code="assumed-memory",
                message="the suite names no memory for the emulated environment: that of this"
                " machine is assumed, less its shared buffers, for the page cache",
            )

    def _warm_up(self) -> float:
        """Warm up and say from its rate which share of the transactions to log."""
        trial = self._trial
        if trial.warm_up_s == 0:
            self._caution("no-warm-up", "the trial had no warm-up")
            return self._sampling_ratio(trial.rate_per_s or 0.0)
        command = pgbench.warm_up_command(
            trial,
            self._workload,
            conninfo=self._target.conninfo,
        )
        result = self._target.load(
            command, trial, limit_s=trial.warm_up_s, on_progress=_ignore_progress
        )
        # A warm-up that was cut short has a return code of its own; one that failed says why.
        if result.returncode != 0 and result.elapsed_s < trial.warm_up_s:
            raise TargetError(
                f"warm-up: {pgbench.error_line(result.stderr) or 'pgbench failed'}",
                "see the raw output",
            )
        # Between the first and the last transaction: connecting is no part of the rate.
        return self._sampling_ratio(result.log.rate_per_s if result.log else 0.0)

    def _sampling_ratio(self, tps_per_s: float) -> float:
        return pgbench.sampling_ratio(
            tps_per_s, threads=self._trial.cell.threads, cpu_count=self._crew.host.cpu_count
        )

    def _measure(self, sampling_ratio: float) -> LoadResult:
        self._command = pgbench.command(
            self._trial,
            self._workload,
            conninfo=self._target.conninfo,
            sampling_ratio=sampling_ratio,
        )
        result = self._target.load(
            self._command,
            self._trial,
            limit_s=self._trial.duration_s + _OVERTIME_S,
            on_progress=self._crew.listener.progress,
        )
        self._storage_work = self._target.storage_work()
        if self._storage_work is not None:
            self._cautions += counters.doubts(self._storage_work)
        stem = f"{self._trial.trial_id}.{self._number}"
        self._crew.store.write_raw(f"{stem}.stdout.txt", result.stdout)
        self._crew.store.write_raw(f"{stem}.stderr.txt", result.stderr)
        return result

    def _verify(self, result: LoadResult, sampling_ratio: float) -> Outcome:
        alive = self._target.is_alive()
        judged = judge(
            self._trial,
            self._workload,
            result,
            sampling_ratio=sampling_ratio,
            cpu_count=self._crew.host.cpu_count,
        )
        self._cautions += judged.cautions
        if isinstance(judged.outcome, Failed):
            return Failed(
                reason=self._blame(judged.outcome.reason), retryable=judged.outcome.retryable
            )
        if not alive:
            return Failed(reason=self._blame("the server died after the load"), retryable=True)
        if isinstance(judged.outcome, Measured):
            # Another thread's line may come before second 0, and the last transactions end after
            # the last second: partial seconds would look like a drop.
            whole = tuple(s for s in result.seconds if 0 <= s.index < self._trial.duration_s)
            self._crew.store.write_seconds(self._trial.trial_id, self._number, whole)
        return judged.outcome

    def _blame(self, reason: str) -> str:
        """Add the server's own last words where it is the server that died."""
        if self._target.is_alive():
            return reason
        return f"the server died: {self._target.why_dead()} ({reason})"

    def _record(self, outcome: Outcome, started_at: str, elapsed_s: float) -> Record:
        return Record(
            trial=self._trial,
            attempt=self._number,
            started_at=started_at,
            elapsed_s=elapsed_s,
            phases=tuple(self._phases),
            outcome=outcome,
            provenance=Provenance(
                groundspeed_version=__version__,
                command=self._command.argv if self._command else (),
                pgbench_version=self._state.pgbench_version,
                server=self._state.server,
                host=self._crew.host,
                storage=self._state.storage,
                reset=self._target.reset_method,
            ),
            cautions=tuple(dict.fromkeys(self._cautions)),
            storage_work=self._storage_work,
        )


def _ignore_progress(_: Progress) -> None:
    """Show nothing of a warm-up: its figures are not results."""
