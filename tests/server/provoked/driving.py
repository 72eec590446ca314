"""Drives a provocation: a real run with real probes, and the diagnosis of its one trial."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from psycopg.conninfo import make_conninfo

from groundspeed import plan, spec, store
from groundspeed.analyse import analyse
from groundspeed.record import Measured
from groundspeed.storage import catalogue
from groundspeed.targets.local import EmbeddedTarget
from tests import small_runs
from tests.server.given import serve
from tests.server.provoked.quota import quota
from tests.server.provoked.relay import relay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.analyse.diagnosis import Diagnosis
    from groundspeed.plan import Command, Plan, Trial
    from groundspeed.ports import LoadResult, Target
    from groundspeed.record import Record
    from tests.server.provoked.cases import Provocation
    from tests.small_runs import Place

QUOTA_CORES = 0.2
RELAY_S = 0.005


class Provoked(NamedTuple):
    """What came of a case."""

    record: Record
    diagnosis: Diagnosis


def provoke(
    place: Place, case: Provocation, *, relieved: bool = False, version: int = 16
) -> Provoked:
    """Run a case and let the analysis name what held its trial back."""
    how = "" if relieved else case.arranged
    made = plan_of(case.text(relieved=relieved, version=version), case.scripts)
    if how == "relay":
        _run_through_relay(place, case, version)
    elif how == "quota":
        with quota(QUOTA_CORES) as group:

            def hold(targets: dict[str, Target]) -> dict[str, Callable[[], None]]:
                # Before the watch opens: it looks for the server's group once.
                return {"check": lambda: group.hold(_postmaster(targets))}

            small_runs.run_with_targets(place, made, hold)
    elif how == "pinned":
        small_runs.run_with_targets(place, made, _pin)
    elif how == "connect":
        small_runs.run_with_targets(place, made, _reconnect)
    else:
        place.measure(made)
    return _result(place)


def plan_of(text: str, scripts: Mapping[str, str]) -> Plan:
    """Make a plan with its scripts and profiles, as the command line does."""
    suite = spec.load_suite(text, source="provoked")
    profiles = {}
    for name, environment in suite.environments.items():
        if environment.target == "embedded" and environment.storage.emulate is not None:
            made = catalogue.load(environment.storage.emulate)
            profiles[name] = plan.ResolvedProfile(made.label, msgspec.json.encode(made).decode())
    return plan.make_plan(
        suite,
        source="provoked",
        rng=Random(3),
        groundspeed_version="0",
        scripts=scripts,
        profiles=profiles,
    )


def _result(place: Place) -> Provoked:
    (run_dir,) = [path for path in place.results.iterdir() if path.is_dir()]
    run = store.read_run(run_dir)
    (record,) = run.records
    assert isinstance(record.outcome, Measured), record.outcome
    (trial,) = analyse([run]).trials
    return Provoked(record, trial.diagnosis)


def _postmaster(targets: dict[str, Target]) -> int:
    (target,) = targets.values()
    pid = target.watch_points().server_pid
    assert pid is not None
    return pid


def _pin(targets: dict[str, Target]) -> dict[str, Callable[[], None]]:
    """Let the server run on one core, as taskset does; backends come after and inherit it."""

    def pin() -> None:
        one = {min(os.sched_getaffinity(0))}
        os.sched_setaffinity(_postmaster(targets), one)

    return {"check": pin}


class _Reconnecting:
    """A target whose clients connect for each transaction (pgbench -C)."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the target has
        return getattr(self._target, name)

    def load(self, command: Command, trial: Trial | None, **more: Any) -> LoadResult:  # noqa: ANN401
        if trial is not None:
            arguments = ("--connect", *command.arguments)
            command = msgspec.structs.replace(command, arguments=arguments)
        return self._target.load(command, trial, **more)


def _reconnect(targets: dict[str, Target]) -> dict[str, Callable[[], None]]:
    for name, target in targets.items():
        assert isinstance(target, EmbeddedTarget)
        targets[name] = _Reconnecting(target)  # type: ignore[assignment]
    return {}


def _run_through_relay(place: Place, case: Provocation, version: int) -> None:
    with serve(version) as given, relay(given.port, RELAY_S) as port:
        dsn = make_conninfo(given.dsn(host="127.0.0.1", dbname="postgres"), port=port)
        environments = {"e": {"target": "server", "dsn": dsn}}
        suite = {**case.suite, "environments": environments}
        text = small_runs.suite_of(**suite, duration="2s")
        place.measure(plan_of(text, {}), passwords={"e": given.password})
