"""A run that stops when it is decided, on real PostgreSQL: warm servers, at rest and ended."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import yaml

from groundspeed import deciding, store
from groundspeed.cli import session, storage_places
from groundspeed.cli.outfit import Outfit
from groundspeed.probes.host import Host
from groundspeed.record import Measured
from groundspeed.targets import sql
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import EmbeddedTarget
from tests import leftovers
from tests.interrupted.driving import driven, traced, wait_until_gone
from tests.server.test_embedded import ask, postmaster_of
from tests.small_runs import SETTINGS, Listening, embedded, plan_of, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import Plan
    from groundspeed.record import Record
    from tests.small_runs import Place


def plan_for(place: Place, workload: str, *, at_most: str = "10m", **settings: str) -> Plan:
    """One cell on two environments that are the same; decided after seven rounds at best."""
    suite = {
        "suite": "sequential",
        "postgres": {"version": 16, "settings": {**SETTINGS, **settings}},
        "environments": {"disk": embedded(place.storage), "memory": embedded("/dev/shm")},
        "workloads": [workload],
        "clients": [2],
        "scale": 1,
        "measure": {
            "until": "decided",
            "margin": "50%",
            "slice": "1s",
            "warm_up": "100ms",
            "at_most": at_most,
            "probes": "off",
        },
    }
    return plan_of(yaml.safe_dump(suite, sort_keys=False))


class Servers(Listening):
    """Notes which servers run at every load."""

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id
        self.seen: list[frozenset[int]] = []

    def phase(self, name: str) -> None:
        super().phase(name)
        if name == "measure":
            self.seen.append(frozenset(leftovers.servers_of(self._run_id)))


def measured(records: tuple[Record, ...]) -> list[Record]:
    return [record for record in records if isinstance(record.outcome, Measured)]


def test_a_run_ends_by_itself_with_the_same_two_servers_all_along(place: Place) -> None:
    """Whether decided or out of time, which hangs on how noisy the machine is."""
    made = plan_for(place, "select-only", at_most="45s")
    run_dir = place.new_run(made)
    servers, watch = Servers(run_dir.name), place.watch(run_dir)
    session.run_plan(made, run_dir, passwords={}, listener=servers)
    assert watch.left() == []
    records = store.read_run(run_dir).records
    assert len(measured(records)) == len(records)
    rounds = {r.trial.repeat_index for r in records}
    assert rounds == set(range(len(rounds)))
    assert f" of 1 comparison is decided after {len(rounds)} rounds" in servers.notes[-1]
    # In the first block, of three trials with its twin, they start; then both run, never others.
    assert len(set(servers.seen[3:])) == 1
    assert len(servers.seen[-1]) == 2
    twins = [r for r in records if r.trial.twin]
    assert {r.trial.cell.environment for r in twins} == {"disk"}
    (info,) = store.list_runs(run_dir.parent)
    assert info.state == "complete"
    assert deciding.remaining(made, records) == ()


@contextmanager
def warm_targets(place: Place, made: Plan) -> Iterator[dict[str, EmbeddedTarget]]:
    """Servers of a run as the run has them: set up, warm, running."""
    run_dir = place.new_run(made)
    with LeaseFile(run_dir.name) as lease:
        machine = storage_places.machine_for(made, Host())
        known = surroundings(made, run_dir.name, lease, is_warm=True)
        outfit = Outfit(made, made.environments, known, {}, machine)
        targets = {n: t for n, t in outfit.targets.items() if isinstance(t, EmbeddedTarget)}
        try:
            for target in targets.values():
                target.provide()
                target.prepare(1)
                target.start()
            yield targets
        finally:
            for target in targets.values():
                target.remove()


def test_a_checkpoint_under_way_is_over_when_a_server_rests(place: Place) -> None:
    made = plan_for(place, "tpcb-like", max_wal_size="320MB", autovacuum="off")
    with warm_targets(place, made) as targets:
        target = targets["disk"]
        pid = postmaster_of(target)
        begin_checkpoint(target)
        assert sql.is_checkpointing(target._address)
        target.stop()
        assert not sql.is_checkpointing(target._address)
        assert target.is_alive()
        target.start()
        assert postmaster_of(target) == pid


def begin_checkpoint(target: EmbeddedTarget) -> None:
    """Let a checkpoint begin by volume of the log, as in a long load; it takes its time.

    It hurries while the log grows faster than it writes, so that grows no more once it has begun.
    """
    with sql.connect(target._address) as connection:
        connection.execute("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid < 50000")
        for _ in range(40):
            connection.execute("SELECT pg_logical_emit_message(false, 'test', 'x')")
            connection.execute("SELECT pg_switch_wal()")
            for _ in range(20):
                if sql.is_checkpointing(target._address):
                    return
    raise AssertionError("no checkpoint has begun")


def test_the_end_of_one_server_takes_nothing_from_another(place: Place) -> None:
    with warm_targets(place, plan_for(place, "tpcb-like")) as targets:
        ended, other = targets["disk"], targets["memory"]
        memory = leftovers.shared_memory_of(postmaster_of(other))
        assert memory
        ended._server.stop()
        assert not ended.is_alive()
        assert all(path.exists() for path in memory)
        assert other.is_alive()
        assert ask(other, "SELECT count(*) FROM pg_stat_user_tables") == 4


def test_a_server_that_died_is_started_again_and_the_other_goes_on(place: Place) -> None:
    with warm_targets(place, plan_for(place, "tpcb-like")) as targets:
        died, other = targets["disk"], targets["memory"]
        pids = [postmaster_of(died), postmaster_of(other)]
        children = leftovers.children_of(pids[0])
        os.kill(pids[0], signal.SIGKILL)
        for pid in (pids[0], *children):
            wait_until_gone(pid)
        assert not died.is_alive()
        died.stop()
        died.start()
        assert died.is_alive()
        assert postmaster_of(died) != pids[0]
        assert postmaster_of(other) == pids[1]
        assert ask(other, "SELECT count(*) FROM pgbench_branches") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_ends_with_warm_servers(
    place: Place, number: signal.Signals
) -> None:
    run_dir = place.new_run(plan_for(place, "tpcb-like"))
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        for _ in range(3):
            run.wait_for("phase measure")
        assert len(leftovers.servers_of(run_dir.name)) == 2
        watch.look()
        run.process.send_signal(number)
        run.process.wait()
    for pid, _ in leftovers.processes_of(run_dir.name):
        wait_until_gone(pid)
    assert session.sweep() == ()
    assert watch.left() == []
    kept = store.read_run(run_dir).records
    assert len(kept) >= 2
    assert {type(r.outcome) for r in kept} == {Measured}
