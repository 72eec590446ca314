"""Several load generators on one real PostgreSQL: added exactly, ended together."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import psycopg
import pytest

from groundspeed import measurement
from groundspeed.errors import TargetError
from groundspeed.manifests import naming
from groundspeed.plan import Cell, Trial, WorkloadPlan
from groundspeed.record import Failed, Measured
from groundspeed.targets import installation, leases, sql
from groundspeed.targets.generators import GeneratorLoader
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.loading import LocalLoader
from groundspeed.tools import pgbench, spread
from groundspeed.tools.load_tool import Pace
from groundspeed.tools.pgbench_load import PgbenchLoad
from tests import leftovers
from tests.kube_server import KubeServer, ready_pod
from tests.local_programs import GROUNDSPEED, LocalPods, job_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from groundspeed.plan import Command
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.targets.sql import Address
    from tests.server.given import Given
    from tests.small_runs import Place

RUN_ID = "20260131-120000-several"
DATABASE = "several"
COUNT = 3
PACE = Pace(rate_per_s=0.0, cpu_count=8)
LONG_S = 600
TOLD = ("cmdline", "environ")
SELECT = WorkloadPlan(name="select-only", writes=False)
TPCB = WorkloadPlan(name="tpcb-like", writes=True)


def trial_of(**changes: object) -> Trial:
    trial = Trial(
        trial_id="a.select-only.r1",
        block_index=0,
        repeat_index=0,
        cell=Cell(environment="a", workload="select-only", clients=5, threads=4, scale=1),
        duration_s=2,
        warm_up_s=0.5,
        protocol="prepared",
        random_seed=7,
    )
    return msgspec.structs.replace(trial, **changes)


@pytest.fixture(scope="module")
def address(given: Given) -> Address:
    """A database of the test's own; where it is filled is for the test."""
    given.create_database(DATABASE)
    conninfo = given.dsn(host="127.0.0.1", dbname=DATABASE)
    return sql.Address(conninfo=conninfo, password=given.password)


class Crew(NamedTuple):
    """A loader with its pods, and what it said."""

    loader: GeneratorLoader
    pods: LocalPods
    address: Address
    progress: list[Progress]

    def run(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float = 120.0,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> LoadResult:
        return self.loader.run(
            command,
            trial,
            address=self.address,
            variables={"PGSSLMODE": "prefer"},
            limit_s=limit_s,
            on_progress=on_progress or self.progress.append,
        )


@contextmanager
def crew_of(
    place: Place,
    address: Address,
    own: Callable[[int], tuple[Sequence[str], Mapping[str, str]]] | None = None,
) -> Iterator[Crew]:
    pods = LocalPods(RUN_ID, COUNT, place.state, own=own)
    local = LocalLoader(installation.newest(), RUN_ID)
    loader = GeneratorLoader(
        local, api=pods, run_id=RUN_ID, job=job_of(RUN_ID), count=COUNT, tell=lambda _: None
    )
    with LeaseFile(RUN_ID) as lease:
        loader.open(environment_slug="a", lease=lease)
        try:
            yield Crew(loader, pods, address, [])
        finally:
            loader.close(lease)
    # What a killed one left goes with the next command.
    assert leases.sweep(None) == ()
    # Whatever happened: no process, no directory and no lease is left of any of them.
    assert [program for program in pods.opened if program.process.poll() is None] == []
    assert loads_on(address) == []
    assert leftovers.leases(place.state) == []
    pids = [program.process.pid for program in pods.opened]
    assert [pid for pid in pids if Path(f"/dev/shm/groundspeed-generator-{pid}").exists()] == []


@pytest.fixture
def crew(place: Place, address: Address) -> Iterator[Crew]:
    with crew_of(place, address) as made:
        done = made.run(pgbench.initialise(address.conninfo, scale=1), None)
        assert done.returncode == 0
        # What prepares is made in one place.
        assert made.pods.opened == []
        yield made


def loads_on(address: Address) -> list[tuple[object, ...]]:
    """Clients of pgbench that the server still has, once all of them could have left."""
    sql.wait_for_clients_to_leave(address)
    with psycopg.connect(address.conninfo, password=address.password) as connection:
        return connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'"
        ).fetchall()


def command_of(trial: Trial, address: Address, workload: WorkloadPlan = SELECT) -> Command:
    return PgbenchLoad().command(trial, workload, conninfo=address.conninfo, pace=PACE)


def judged(trial: Trial, result: LoadResult, workload: WorkloadPlan = SELECT) -> object:
    return measurement.judge(PgbenchLoad(), trial, workload, result, pace=PACE).outcome


def test_three_are_one_load(crew: Crew) -> None:
    """Its warm-up, cut short, and the load itself: every transaction of every report is in it."""
    trial = trial_of()
    warm_up = PgbenchLoad().warm_up_command(trial, SELECT, conninfo=crew.address.conninfo)
    warmed = crew.run(warm_up, trial, limit_s=0.5)
    assert warmed.returncode != 0
    assert warmed.elapsed_s >= 0.5
    assert warmed.log is not None
    assert warmed.log.rate_per_s > 0
    result = crew.run(command_of(trial, crew.address), trial)
    outcome = judged(trial, result)
    assert isinstance(outcome, Measured), outcome
    reports = [pgbench.parse(text) for text in spread.split_reports(result.stdout)]
    assert [(report.clients, report.threads) for report in reports] == [(2, 2), (2, 1), (1, 1)]
    counts = [report.transaction_count for report in reports]
    assert min(counts) > 0
    assert outcome.histogram.count == outcome.transaction_count == sum(counts)
    assert outcome.tps_per_s == pytest.approx(sum(report.tps_per_s for report in reports))
    whole = [row for row in result.seconds if 0 <= row.index < trial.duration_s]
    assert [row.index for row in whole] == [0, 1]
    assert sum(row.count for row in result.seconds) == sum(counts)
    # The same connections serve warm-up and load.
    assert len(crew.pods.opened) == COUNT
    assert crew.progress
    assert all(told.tps_per_s is not None for told in crew.progress)
    assert "generator-node" not in [caution.code for caution in result.cautions]
    assert crew.loader.program_version("pgbench") == installation.newest().version


def test_three_do_what_one_does(crew: Crew, place: Place) -> None:
    """At a rate that all of them keep, so that the number of generators is the only difference."""
    trial = trial_of(rate_per_s=300.0)
    together = judged(trial, crew.run(command_of(trial, crew.address), trial))
    local = LocalLoader(installation.newest(), f"{RUN_ID}-alone")
    with LeaseFile(f"{RUN_ID}-alone") as lease:
        local.open(environment_slug="a", lease=lease)
        result = local.run(
            command_of(trial, crew.address),
            trial,
            address=crew.address,
            variables={},
            limit_s=60.0,
            on_progress=lambda _: None,
        )
        local.close(lease)
    alone = judged(trial, result)
    assert isinstance(together, Measured)
    assert isinstance(alone, Measured)
    assert together.tps_per_s == pytest.approx(alone.tps_per_s, rel=0.2)
    assert together.tps_per_s == pytest.approx(300.0, rel=0.2)
    assert together.schedule_lag is not None
    assert together.histogram.count == together.transaction_count
    assert place.state.exists()


def test_failures_and_retries_are_added_too(crew: Crew) -> None:
    """Clients of all of them fight for one row, and each log tells of its own."""
    script = (
        "BEGIN ISOLATION LEVEL SERIALIZABLE;\n"
        "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nEND;\n"
    )
    workload = WorkloadPlan(name="conflict", script=script, writes=True)
    cell = Cell(environment="a", workload="conflict", clients=6, threads=3, scale=1)
    trial = trial_of(cell=cell, max_tries=2)
    result = crew.run(command_of(trial, crew.address, workload), trial)
    outcome = judged(trial, result, workload)
    assert isinstance(outcome, Measured), outcome
    assert result.log is not None
    assert outcome.failed_count == result.log.failed
    assert outcome.retries_count == result.log.retries
    assert outcome.retried_count == result.log.retried
    assert (outcome.failed_count or 0) + (outcome.retries_count or 0) > 0


def test_an_empty_log_holds_nobody_up(crew: Crew) -> None:
    """Too short a load for the first transaction: there is no moment to count from."""
    workload = WorkloadPlan(name="slow", script="SELECT pg_sleep(5);\n", writes=False)
    trial = trial_of(cell=Cell(environment="a", workload="slow", clients=3, threads=1, scale=1))
    result = crew.run(command_of(trial, crew.address, workload), trial, limit_s=1.0)
    assert result.log is not None
    assert (result.log.count, result.seconds) == (0, ())


class Meanwhile:
    """Does something once, when all generators have told how they do: in the middle of a load."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self.is_done = False

    def __call__(self, _: Progress) -> None:
        if not self.is_done:
            self.is_done = True
            self._act()


def load_tools_of(pid: int) -> list[int]:
    """The pgbench of a generator."""
    found = leftovers.children_of(pid)
    names = {child: Path(f"/proc/{child}/comm").read_text().strip() for child in found}
    return [child for child, name in names.items() if name == "pgbench"]


def test_a_generator_that_is_killed_ends_the_load_of_all(crew: Crew) -> None:
    trial = trial_of(duration_s=LONG_S)
    seen: list[int] = []

    def kill() -> None:
        for program in crew.pods.opened:
            seen.extend(load_tools_of(program.process.pid))
        crew.pods.opened[1].process.kill()

    with pytest.raises(TargetError, match=r"generator 2 of 3 \(pod load-1\) was lost") as caught:
        crew.run(command_of(trial, crew.address), trial, on_progress=Meanwhile(kill))
    assert "resume" in caught.value.hint
    assert len(seen) == COUNT
    assert loads_on(crew.address) == []
    # A killed one leaves its directory to the next, as a killed run does; and they go on.
    short = trial_of(duration_s=1)
    assert isinstance(judged(short, crew.run(command_of(short, crew.address), short)), Measured)
    assert len(crew.pods.opened) == 2 * COUNT


def test_a_pod_that_is_gone_is_said_to_be(crew: Crew) -> None:
    trial = trial_of(duration_s=LONG_S)

    def lose() -> None:
        program, pod = crew.pods.opened[2], crew.pods.pods[2]
        pod["metadata"]["uid"] = "of-another"
        program.process.kill()

    with pytest.raises(TargetError, match=r"\(pod load-2\) was lost: its pod is gone"):
        crew.run(command_of(trial, crew.address), trial, on_progress=Meanwhile(lose))


def test_a_load_tool_that_is_killed_fails_the_load_and_says_where(crew: Crew) -> None:
    trial = trial_of(duration_s=LONG_S)

    def kill() -> None:
        (tool,) = load_tools_of(crew.pods.opened[2].process.pid)
        os.kill(tool, signal.SIGKILL)

    result = crew.run(command_of(trial, crew.address), trial, on_progress=Meanwhile(kill))
    outcome = judged(trial, result)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert outcome.reason == ("pgbench failed: generator 3 of 3 (pod load-2): killed by signal 9")
    assert result.elapsed_s < LONG_S


def test_an_interrupt_ends_all_of_them(crew: Crew) -> None:
    trial = trial_of(duration_s=LONG_S)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crew.run(command_of(trial, crew.address), trial, on_progress=Meanwhile(interrupt))
    assert loads_on(crew.address) == []


def test_a_generator_whose_caller_dies_ends_its_load(crew: Crew) -> None:
    trial = trial_of(duration_s=LONG_S)

    class DiedError(BaseException):
        pass

    def die() -> None:
        for program in crew.pods.opened:
            # Only the connections go, and nothing is said: as when the runner is killed.
            program.close()
        raise DiedError

    with pytest.raises(DiedError):
        crew.run(command_of(trial, crew.address), trial, on_progress=Meanwhile(die))
    # Each ended in order, by itself.
    assert [program.process.returncode for program in crew.pods.opened] == [0, 0, 0]
    assert loads_on(crew.address) == []


def test_a_wrong_password_is_told_with_its_place(place: Place, address: Address) -> None:
    wrong = msgspec.structs.replace(address, password="open-sesame")
    trial = trial_of()
    with crew_of(place, address) as crew:
        other = crew._replace(address=wrong)
        result = other.run(command_of(trial, address), trial)
        outcome = judged(trial, result)
        assert isinstance(outcome, Failed)
        assert "generator " in outcome.reason
        assert "password authentication failed" in outcome.reason
        assert "open-sesame" not in result.stdout + result.stderr


def test_the_password_is_in_no_argument_or_variable(crew: Crew) -> None:
    trial = trial_of(duration_s=LONG_S)
    seen: list[str] = []

    def look() -> None:
        for program in crew.pods.opened:
            for pid in (program.process.pid, *load_tools_of(program.process.pid)):
                seen.extend(Path(f"/proc/{pid}/{name}").read_text() for name in TOLD)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crew.run(command_of(trial, crew.address), trial, on_progress=Meanwhile(look))
    assert len(seen) == 4 * COUNT
    assert crew.address.password is not None
    assert [text for text in seen if crew.address.password in text] == []


def test_another_groundspeed_is_refused(place: Place, address: Address) -> None:
    fake = (
        "import groundspeed; groundspeed.__version__ = '0.0.1';"
        "from groundspeed.cli.main import main; main(['generator'])"
    )

    def own(number: int) -> tuple[Sequence[str], Mapping[str, str]]:
        return ((sys.executable, "-c", fake) if number == 1 else (*GROUNDSPEED, "generator")), {}

    trial = trial_of()
    refused = pytest.raises(TargetError, match=r"generator 2 of 3 .* has groundspeed 0\.0\.1")
    with crew_of(place, address, own) as crew, refused:
        crew.run(command_of(trial, address), trial)


def test_a_clock_that_is_wrong_is_corrected_and_told(place: Place, address: Address) -> None:
    """The wall clock of one generator is two seconds ahead; its log is, too."""
    # What reads the time in the generator and in the log of its pgbench.
    fake = (
        "import time; real = time.time_ns; time.time_ns = lambda: real() + 2 * 10**9;"
        "from groundspeed.cli.main import main; main(['generator'])"
    )
    trial = trial_of(duration_s=1)

    def own(number: int) -> tuple[Sequence[str], Mapping[str, str]]:
        return ((sys.executable, "-c", fake) if number == 1 else (*GROUNDSPEED, "generator")), {}

    with crew_of(place, address, own) as crew:
        crew.run(pgbench.initialise(address.conninfo, scale=1), None)
        result = crew.run(command_of(trial, address), trial)
        told = {caution.code: caution.message for caution in result.cautions}
        assert "generator 2 of 3 (pod load-1) is 2000" in told["clock-skew"]
        # It began with the others, although its clock says otherwise.
        assert "2000 ms apart" not in told.get("generators-apart", "")


GONE_WHEN_DONE = """
import os
from groundspeed.cli.main import main
from groundspeed.targets import generating, generator_messages
tell = generating.Generator._tell
def told(self, message):
    tell(self, message)
    if isinstance(message, generator_messages.LoadEnded):
        os._exit(9)
generating.Generator._tell = told
main(["generator"])
"""


def test_one_that_is_lost_after_its_load_has_done_its_part(place: Place, address: Address) -> None:
    """The result is there, with a doubt; the next load has a new one."""
    trial = trial_of(duration_s=1)

    def own(number: int) -> tuple[Sequence[str], Mapping[str, str]]:
        fake = (sys.executable, "-c", GONE_WHEN_DONE)
        return (fake if number == 1 else (*GROUNDSPEED, "generator")), {}

    with crew_of(place, address, own) as crew:
        crew.run(pgbench.initialise(address.conninfo, scale=1), None)
        for loads in (1, 2):
            result = crew.run(command_of(trial, address), trial)
            assert isinstance(judged(trial, result), Measured)
            told = [caution.message for caution in result.cautions if caution.code == "clock-skew"]
            assert "generator 2 of 3 (pod load-1) was not measured again" in told[-1]
            assert len(crew.pods.opened) == loads * COUNT


# -- over an API server, as the runner has it


@contextmanager
def crew_in_cluster(place: Place, address: Address) -> Iterator[tuple[Crew, KubeServer]]:
    """The same generators, started by the real client and talked with over its websockets."""
    environment = f"GROUNDSPEED_STATE_DIR={place.state}"
    with KubeServer() as kube:
        kube.on_exec(lambda _, __, argv: ("env", environment, *GROUNDSPEED, *argv[1:]))
        kube.put({**job_of(RUN_ID), "metadata": {"name": "load", "namespace": "bench"}})
        for number in range(COUNT):
            labels = naming.labels(RUN_ID, "generator")
            labels["batch.kubernetes.io/job-completion-index"] = str(number)
            kube.put(ready_pod(f"load-{number}", labels=labels, container="generator"))
        server = naming.labels(RUN_ID, "server", "a")
        kube.put(ready_pod("server-0", labels=server, node="node-1"))
        job = kube.object("Job", "load")
        assert job is not None
        loader = GeneratorLoader(
            LocalLoader(installation.newest(), RUN_ID),
            api=kube.client(),
            run_id=RUN_ID,
            job=job,
            count=COUNT,
            tell=lambda _: None,
        )
        with LeaseFile(RUN_ID) as lease:
            loader.open(environment_slug="a", lease=lease)
            try:
                yield Crew(loader, LocalPods(RUN_ID, 0, place.state), address, []), kube
            finally:
                loader.close(lease)
    assert loads_on(address) == []
    assert leftovers.leases(place.state) == []


def test_a_load_over_an_api_server(place: Place, address: Address) -> None:
    """And its server is on a node of theirs, which is told."""
    trial = trial_of()
    with crew_in_cluster(place, address) as (crew, _):
        crew.run(pgbench.initialise(address.conninfo, scale=1), None)
        result = crew.run(command_of(trial, address), trial)
    outcome = judged(trial, result)
    assert isinstance(outcome, Measured), outcome
    assert outcome.histogram.count == outcome.transaction_count
    told = {caution.code: caution.message for caution in result.cautions}
    assert "(node-1)" in told["generator-node"]


def test_connections_that_are_cut_end_the_load(place: Place, address: Address) -> None:
    """A connection was lost, and all generators end; the next load has new ones."""
    trial, short = trial_of(duration_s=LONG_S), trial_of(duration_s=1)
    with crew_in_cluster(place, address) as (crew, kube):
        crew.run(pgbench.initialise(address.conninfo, scale=1), None)
        with pytest.raises(TargetError, match=r"generator \d of 3 \(pod load-\d\) was lost"):
            crew.run(command_of(trial, address), trial, on_progress=Meanwhile(kube.cut_programs))
        assert loads_on(address) == []
        assert isinstance(judged(short, crew.run(command_of(short, address), short)), Measured)
