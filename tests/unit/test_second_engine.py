"""Suites and plans of another engine, and files that are older than it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest

from groundspeed import plan as plans
from groundspeed import record as records
from groundspeed import spec
from groundspeed.errors import SpecError
from groundspeed.plan import EngineNeeds, ResolvedEngine, ResolvedProfile
from tests.examples import make_record

OTHER = """\
suite: s
engine: other
settings: {limit: 1gb, eager: true}
environments:
  one:
    target: embedded
    storage: {directory: /a}
    settings: {limit: 2gb}
    options: {mode: plain}
    replica: {storage: {directory: /b}, options: {mode: copy}, settings: {limit: 3gb}}
  two: {target: embedded, storage: {directory: /c}}
workloads:
  - {name: put, load: {test: put}}
  - {name: slow, load: {test: put}, duration: 7s, writes: false}
clients: [4]
measure: {duration: 2s, warm_up: 1s, repeats: 2}
"""
NEEDS = EngineNeeds(disk_bytes=1000, memory_bytes=70, set_up_s=5.0)
RESOLVED = ResolvedEngine(
    name="other",
    loads={"put": (("test", "put"),), "slow": (("test", "put"), ("width", "9"))},
    options={
        "one": (("mode", "plain"),),
        "one/replica": (("mode", "copy"),),
        "two": (("mode", "none"),),
    },
    needs=NEEDS,
)


def make(text: str = OTHER, **more: Any) -> plans.Plan:  # noqa: ANN401 - what a plan is made of
    return plans.make_plan(
        spec.load_suite(text, source="s.yaml"),
        source="s.yaml",
        rng=Random(1),
        groundspeed_version="0",
        scripts={},
        engine=RESOLVED,
        **more,
    )


def complaint(text: str, *overrides: str) -> tuple[str, str]:
    with pytest.raises(SpecError) as caught:
        spec.load_suite(text, source="s.yaml", overrides=overrides)
    return caught.value.message, caught.value.hint


# -- suites


POSTGRES = "suite: s\nenvironments:\n  a: {target: embedded, storage: {directory: ./d}%s}\n%s"


@pytest.mark.parametrize(
    ("inside", "below", "words"),
    [
        ("", "workloads: [{name: w, load: {test: set}}]", "takes a workload with load only"),
        ("", "settings: {a: 1}", "takes settings only with another engine"),
        (", options: {a: 1}", "", "takes options and a replica only with another engine"),
        (
            ", replica: {storage: {directory: ./e}}",
            "",
            "takes options and a replica only with another engine",
        ),
        (", version: 7", "", "has PostgreSQL 7 in 'a'"),
    ],
)
def test_postgres_refuses_what_it_would_ignore(inside: str, below: str, words: str) -> None:
    message, hint = complaint(POSTGRES % (inside, below))
    assert words in message
    assert hint


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("workloads: [select-only]", "has the workload 'select-only' of pgbench"),
        ("workloads: [{name: w, script: w.sql}]", "has the workload 'w' of pgbench"),
        ("scale: 5", "takes scale only with engine postgres"),
        ("postgres: {version: 16}", "takes postgres only with engine postgres"),
        ("pgbench: {protocol: simple}", "takes pgbench only with engine postgres"),
    ],
)
def test_another_engine_refuses_what_it_would_ignore(changed: str, words: str) -> None:
    key = changed.partition(":")[0]
    text = OTHER if key != "workloads" else OTHER.partition("workloads:")[0] + "clients: [4]\n"
    message, hint = complaint(text + changed + "\n")
    assert words in message
    assert hint


def given(dsn: str) -> spec.ServerEnvironment:
    text = f'suite: s\nengine: other\nenvironments:\n  g: {{target: server, dsn: "{dsn}"}}\n'
    suite = spec.load_suite(text + "workloads: [{name: w, load: {t: 1}}]\n", source="s")
    asked = suite.environments["g"]
    assert isinstance(asked, spec.ServerEnvironment)
    assert "s3cr" not in repr(suite)
    return asked


@pytest.mark.parametrize(
    ("dsn", "kept", "password"),
    [
        ("redis://me:s3cr%40t@cache:7000", "redis://me@cache:7000", "s3cr@t"),
        ("redis://:s3cret@cache", "redis://cache", "s3cret"),
        ("rediss://me:s3cret@[::1]:1/0?a=b", "rediss://me@[::1]:1/0?a=b", "s3cret"),
        ("unix://me:s3cret@/run/s", "unix://me@/run/s", "s3cret"),
        ("redis://me@cache", "redis://me@cache", None),
    ],
)
def test_a_password_in_a_url_is_taken_out(dsn: str, kept: str, password: str | None) -> None:
    asked = given(dsn)
    assert asked.dsn == kept
    assert (asked.password.get_secret_value() if asked.password else None) == password


@pytest.mark.parametrize(
    "assignment",
    [
        "environments.two.dsn=redis://me:s3cret@cache",
        "environments.two={target: server, dsn: 'redis://:s3cret@cache'}",
        "environments={two: {target: server, dsn: 'rediss://me:s3cret@cache'}}",
    ],
)
def test_a_password_in_a_url_on_the_command_line_is_refused(assignment: str) -> None:
    message, hint = complaint(OTHER, assignment)
    assert "a password on the command line" in message
    assert "password_env" in hint
    assert "s3cret" not in message + hint


# -- plans


def test_what_the_engine_spelt_out_is_in_the_plan() -> None:
    plan = make()
    assert plan.engine == "other"
    assert plan.needs == NEEDS
    one, two = plan.environments
    assert (one.options, two.options) == ((("mode", "plain"),), (("mode", "none"),))
    assert dict(one.settings) == {"limit": "2gb", "eager": "on"}
    assert (one.version, two.version) == (None, None)
    assert [w.load for w in plan.workloads] == [RESOLVED.loads["put"], RESOLVED.loads["slow"]]
    assert plan.dataset_bytes(100) is None
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


def test_a_replica_is_a_server_on_its_own_storage() -> None:
    one, two = make().environments
    assert two.replica is None
    replica = one.replica
    assert replica is not None
    assert replica.name == plans.replica_name("one") == "one/replica"
    assert replica.slug == f"{one.slug}-replica"
    assert replica.storage is not None
    assert replica.storage.directory == "/b"
    assert replica.options == (("mode", "copy"),)
    # Its own alone: those of its primary are for another job.
    assert dict(replica.settings) == {"limit": "3gb"}
    assert replica.replica is None


def test_a_replica_has_a_profile_of_its_own() -> None:
    text = OTHER.replace("replica: {storage: {directory: /b}", "replica: {storage: {emulate: slow}")
    made = make(text, profiles={"one/replica": ResolvedProfile("slow (10 IOPS)", "{}")})
    replica = made.environments[0].replica
    assert replica is not None
    assert replica.storage is not None
    assert (replica.storage.emulate, replica.storage.profile) == ("slow (10 IOPS)", "{}")


def test_a_load_may_have_a_time_of_its_own() -> None:
    plan = make()
    by_workload = {t.cell.workload: t.duration_s for t in plan.trials}
    assert by_workload == {"put": 2, "slow": 7}
    assert plan.estimate.load_s == pytest.approx(2 * 2 * (2 + 7))


def test_the_estimate_is_of_what_the_engine_needs() -> None:
    plan = make()
    assert plan.estimate.disk_bytes_per_environment == NEEDS.disk_bytes
    assert plan.estimate.memory_bytes == NEEDS.memory_bytes
    slower = msgspec.structs.replace(RESOLVED, needs=msgspec.structs.replace(NEEDS, set_up_s=65.0))
    suite = spec.load_suite(OTHER, source="s.yaml")
    later = plans.make_plan(
        suite, source="s", rng=Random(1), groundspeed_version="0", scripts={}, engine=slower
    )
    assert later.estimate.wall_s - plan.estimate.wall_s == pytest.approx(2 * 60.0)


# -- files that are older


def test_an_older_plan_has_its_version_where_it_is_looked_for() -> None:
    text = POSTGRES % ("", "workloads: [select-only]\nscale: 1\n")
    suite = spec.load_suite(text, source="s")
    plan = plans.make_plan(suite, source="s", rng=Random(1), groundspeed_version="0", scripts={})
    old = json.loads(plans.encode(plan))
    for environment in old["environments"]:
        environment["postgres_version"] = environment.pop("version")
    for key in ("engine", "needs"):
        old.pop(key, None)
    assert plans.decode(json.dumps(old).encode(), source="plan.json") == plan
    assert plan.environments[0].version == 16


def test_an_older_record_has_its_tool_where_it_is_looked_for() -> None:
    made = make_record()
    old = json.loads(records.encode(made))
    old["provenance"]["pgbench_version"] = old["provenance"].pop("tool_version")
    for key in ("engine", "tool"):
        old["provenance"].pop(key, None)
    assert records.decode(json.dumps(old).encode()) == made
    assert made.provenance.tool == "pgbench"
