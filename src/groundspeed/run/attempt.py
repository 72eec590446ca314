"""One attempt at one trial, phase by phase; whatever comes of it is a record."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from groundspeed import __version__
from groundspeed.errors import TargetError
from groundspeed.measurement import judge
from groundspeed.record import Caution, Failed, Measured, Phase, Provenance, Record
from groundspeed.run import doubts
from groundspeed.run.crew import attempt_number, timestamp
from groundspeed.storage import counters
from groundspeed.tools import engines
from groundspeed.tools.load_tool import Pace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import Command, Plan, Trial
    from groundspeed.ports import LoadResult, Progress, Seen, Watch
    from groundspeed.record import Evidence, Outcome, StorageWork
    from groundspeed.run.crew import Crew, EnvironmentState

# A wall clock and the monotonic clock differ by far less over a trial unless somebody set it.
_CLOCK_JUMP_S = 1.0
# A load finishes what it has begun after its time; a client that hangs longer is a failure.
_OVERTIME_S = 60.0
# A load of so many requests takes as long as it takes; the rate it was expected from is a guess.
_OVERTIME_RATIO = 2.0


class Attempt:
    """One attempt at one trial, phase by phase."""

    def __init__(self, plan: Plan, crew: Crew, trial: Trial, state: EnvironmentState) -> None:
        self._crew = crew
        self._trial = trial
        self._state = state
        self._workload = plan.workload(trial.cell.workload)
        self._engine = plan.engine
        self._tool = engines.load_tool(plan.engine)
        self._dataset_bytes = plan.dataset_bytes(trial.cell.scale)
        rounds = plan.sequential
        self._is_watched = rounds is None or trial.repeat_index < rounds.watched_round_count
        self._target = crew.targets[trial.cell.environment]
        self._number = attempt_number(crew, trial)
        self._phases: list[Phase] = []
        self._cautions: list[Caution] = []
        self._command: Command | None = None
        self._storage_work: StorageWork | None = None
        self._evidence: Evidence | None = None

    def run(self) -> Record:
        """Measure; a misfortune of the server or the load becomes a Failed outcome."""
        clock = self._crew.clock
        started_wall_s, started_s = clock.wall_s(), clock.monotonic_s()
        try:
            outcome = self._live()
        except TargetError as error:
            outcome = Failed(reason=self._blame(error.message), retryable=True)
        if not isinstance(outcome, Measured):
            self._state.upkeep.doubt()
        elapsed_s = clock.monotonic_s() - started_s
        jump_s = clock.wall_s() - started_wall_s - elapsed_s
        if abs(jump_s) > _CLOCK_JUMP_S:
            message = f"the wall clock jumped by {jump_s:+.1f} s during the trial"
            self._caution("clock-jump", message)
        return self._record(outcome, timestamp(started_wall_s), elapsed_s)

    def clean(self) -> None:
        """Bring the dataset back where that is due, and stop the server or let it rest.

        What fails there costs no record.

        Back before the stop, because its checkpoint would come in between: after one VACUUM logs
        every page it touches in full, and after a start it finds none of them in buffers.
        """
        self._crew.listener.phase("clean")
        trial = self._trial
        load_s = trial.warm_up_s + trial.duration_s if self._workload.writes else 0.0
        self._state.upkeep.loaded(load_s, self._crew.clock.monotonic_s())
        for step in (self._bring_back, self._target.stop):
            try:
                step()
            except TargetError as error:
                self._crew.listener.note(f"{self._trial.cell.environment}: {error.message}")

    def _bring_back(self) -> None:
        state = self._state
        if not (state.upkeep.is_due and state.dirty and self._target.is_alive()):
            return
        self._target.reset()
        state.dirty = False
        if self._crew.is_warm and self._target.is_alive():
            # Now and not before its next trial: pages left dirty would be written while others are
            # measured.
            self._checkpoint()

    def _checkpoint(self) -> None:
        self._state.checkpoint_cautions = self._target.checkpoint()
        self._state.upkeep.done(self._crew.clock.monotonic_s())

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
        with ExitStack() as stack:
            with self._phase("start"):
                self._start()
            with self._phase("check"):
                self._check()
                watch = self._open_watch(stack)
            # From here on the dataset may have changed, whatever comes of the trial.
            self._state.dirty = self._state.dirty or self._workload.writes
            with self._phase("warm up"):
                pace = self._warm_up()
            with self._phase("measure"):
                self._cautions += self._target.reset_statistics()
                result = self._measure(pace, watch)
        with self._phase("verify"):
            return self._verify(result, pace)

    def _start(self) -> None:
        if self._state.dirty and self._state.upkeep.is_due:
            self._target.reset()
            self._state.dirty = False
        self._target.start()

    def _check(self) -> None:
        self._cautions += self._target.check()
        self._state.look_at_cluster(self._crew, self._target)
        self._cautions += doubts.of_circumstances(
            self._state.storage, self._crew.host, self._dataset_bytes, self._state.cluster
        )
        if self._state.upkeep.is_due:
            self._state.server = self._target.server_facts()
            self._checkpoint()
        self._cautions += self._state.checkpoint_cautions

    def _open_watch(self, stack: ExitStack) -> Watch | None:
        """Before the warm-up, so that what opening costs is over when it counts."""
        if not self._is_watched:
            return None
        watch = self._crew.watcher.open(self._target.watch_points())
        if watch is not None:
            stack.callback(watch.close)
        return watch

    def _warm_up(self) -> Pace:
        """Warm up and say at which rate, from which follows how much to log or to ask for.

        On a server that is warm the rate of an earlier trial of the cell will do, where no warm-up
        is asked for.
        """
        trial = self._trial
        known_per_s = trial.rate_per_s or self._state.tps_per_s.get(trial.cell)
        if trial.warm_up_s == 0 and not self._crew.is_warm:
            self._caution("no-warm-up", "the trial had no warm-up")
            # A tool that runs for a time needs no pace; another one asks for so many requests.
            if known_per_s is not None or self._tool.keeps_log:
                return self._pace(known_per_s or 0.0)
        if trial.warm_up_s == 0 and known_per_s is not None:
            return self._pace(known_per_s)
        limit_s = max(trial.warm_up_s, self._tool.tells_rate_after_s)
        command = self._tool.warm_up_command(
            trial,
            self._workload,
            conninfo=self._target.conninfo,
        )
        result = self._target.load(command, trial, limit_s=limit_s, on_progress=_ignore_progress)
        # A warm-up that was cut short has a return code of its own; one that failed says why.
        if result.returncode != 0 and result.elapsed_s < limit_s:
            told = self._tool.error_line(result.stderr) or f"{self._tool.program} failed"
            raise TargetError(f"warm-up: {told}", "see the raw output")
        if result.log is not None:
            # Between the first and the last transaction: connecting is no part of the rate.
            return self._pace(result.log.rate_per_s)
        return self._pace(self._tool.rate_per_s(result.stdout))

    def _pace(self, rate_per_s: float) -> Pace:
        return Pace(rate_per_s=rate_per_s, cpu_count=self._crew.host.cpu_count)

    def _measure(self, pace: Pace, watch: Watch | None) -> LoadResult:
        self._command = self._tool.command(
            self._trial, self._workload, conninfo=self._target.conninfo, pace=pace
        )
        if watch is not None:
            watch.begin()
        expected_s = self._tool.expected_s(self._trial, self._workload, pace)
        late_s = max(expected_s - self._trial.duration_s, 0.0) * _OVERTIME_RATIO
        result = self._target.load(
            self._command,
            self._trial,
            limit_s=self._trial.duration_s + late_s + _OVERTIME_S,
            on_progress=self._crew.listener.progress,
        )
        # First: it takes milliseconds, and its figures are of the time since the statistics reset.
        self._storage_work = self._target.storage_work()
        self._cautions += result.cautions
        if watch is not None:
            self._keep_seen(watch.end())
        if self._storage_work is not None:
            self._cautions += counters.doubts(self._storage_work)
        stem = f"{self._trial.trial_id}.{self._number}"
        self._crew.store.write_raw(f"{stem}.stdout.txt", result.stdout)
        self._crew.store.write_raw(f"{stem}.stderr.txt", result.stderr)
        return result

    def _keep_seen(self, seen: Seen) -> None:
        self._evidence = seen.evidence
        state = self._state
        self._cautions += doubts.of_absent(
            seen.evidence, state.storage, state.server, state.cluster
        )
        self._crew.store.write_series(self._trial.trial_id, self._number, seen.series)

    def _verify(self, result: LoadResult, pace: Pace) -> Outcome:
        alive = self._target.is_alive()
        judged = judge(self._tool, self._trial, self._workload, result, pace=pace)
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
            self._state.tps_per_s[self._trial.cell] = judged.outcome.tps_per_s
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
                engine=self._engine,
                tool=self._tool.program,
                tool_version=self._state.tool_version,
                server=self._state.server,
                host=self._crew.host,
                storage=self._state.storage,
                cluster=self._state.cluster,
                reset=self._state.upkeep.method(self._target.reset_method),
            ),
            cautions=tuple(dict.fromkeys(self._cautions)),
            storage_work=self._storage_work,
            evidence=self._evidence,
        )


def _ignore_progress(_: Progress) -> None:
    """Show nothing of a warm-up: its figures are not results."""
