from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter, defaultdict

import msgspec
import pytest

from groundspeed import plan as plans
from groundspeed import presets, spec
from groundspeed.cli import suites
from groundspeed.errors import SpecError, StoreError


def make(
    text: str, *overrides: str, seed: int | None = None, scripts: dict[str, str] | None = None
) -> plans.Plan:
    suite = spec.load_suite(text, source="s.yaml", overrides=overrides)
    return plans.make_plan(
        suite,
        source="s.yaml",
        rng=random.Random(suite.seed if seed is None else seed),
        groundspeed_version="0.1.0",
        scripts=scripts or {},
    )


SUITE = """\
suite: s
environments:
  one: {target: embedded, storage: {directory: /a}}
  two: {target: embedded, storage: {directory: /b}, settings: {fsync: false}}
  three: {target: server, dsn: "postgresql://u:s3cret@h:5432/db", password_env: SECRET_ENV}
clients: [1, 4]
threads: [1, 2, 4]
measure: {duration: 2s, repeats: 3}
"""


def test_a_block_holds_every_environment_once_and_differs_in_nothing_else() -> None:
    plan = make(SUITE)
    blocks = defaultdict(list)
    for trial in plan.trials:
        blocks[trial.block_index].append(trial)
    assert sorted(blocks) == list(range(len(blocks)))
    for trials in blocks.values():
        assert Counter(t.cell.environment for t in trials) == {"one": 1, "two": 1, "three": 1}
        rest = {
            (t.cell.workload, t.cell.clients, t.cell.threads, t.repeat_index, t.random_seed)
            for t in trials
        }
        assert len(rest) == 1


def test_blocks_are_neighbours_and_repeats_follow_each_other() -> None:
    plan = make(SUITE)
    assert [t.block_index for t in plan.trials] == sorted(t.block_index for t in plan.trials)
    assert [t.repeat_index for t in plan.trials] == sorted(t.repeat_index for t in plan.trials)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another_order() -> None:
    assert plans.encode(make(SUITE)) == plans.encode(make(SUITE))
    first, second = make(SUITE, seed=1), make(SUITE, seed=2)
    ids = [[t.trial_id for t in plan.trials] for plan in (first, second)]
    assert ids[0] != ids[1]
    assert sorted(ids[0]) == sorted(ids[1])


def test_environments_change_their_place_in_the_blocks() -> None:
    plan = make(SUITE)
    firsts = Counter(plan.trials[index].cell.environment for index in range(0, 36, 3))
    assert len(firsts) == 3


def test_more_threads_than_clients_are_left_out() -> None:
    pairs = {(t.cell.clients, t.cell.threads) for t in make(SUITE).trials}
    assert pairs == {(1, 1), (4, 1), (4, 2), (4, 4)}


def test_threads_can_follow_clients() -> None:
    pairs = {(t.cell.clients, t.cell.threads) for t in make(SUITE, "threads=clients").trials}
    assert pairs == {(1, 1), (4, 4)}


def test_matrix_39_on_two_environments_has_78_trials() -> None:
    plan = make(presets.read("matrix-39"), "measure.repeats=1")
    assert len(plan.trials) == 78
    assert len({t.trial_id for t in plan.trials}) == 78
    assert plan.estimate.trial_count == 78


def test_ids_are_unique_however_alike_the_names() -> None:
    plan = make(
        "suite: s\nenvironments:\n"
        "  'A b': {target: embedded, storage: {directory: /a}}\n"
        "  'a-B': {target: embedded, storage: {directory: /a}}\n"
        "  'Ä/../b': {target: embedded, storage: {directory: /a}}\n"
        "  '<b>\"': {target: embedded, storage: {directory: /a}}\n"
        "workloads: [{script: x, name: select only}, select-only]\n",
        scripts={"x": "SELECT 1;"},
    )
    ids = [t.trial_id for t in plan.trials]
    assert len(set(ids)) == len(ids)
    assert all(set(i) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") for i in ids)
    assert plan.workload("select only").script == "SELECT 1;"


def test_a_script_that_was_not_read_is_a_bug_of_the_caller() -> None:
    with pytest.raises(KeyError):
        make(SUITE + "workloads: [{script: x, name: n}]\n")


def test_a_plan_survives_its_file() -> None:
    plan = make(SUITE)
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


@pytest.mark.parametrize("name", presets.names())
def test_plans_of_presets_survive_their_files(name: str) -> None:
    _, plan = suites.load(name, [])
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"format": 1, "trials": []}'])
def test_what_is_no_plan_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"plan\.json: not a plan"):
        plans.decode(data, source="plan.json")


def test_a_plan_of_a_later_format_names_the_version_that_reads_it() -> None:
    later = msgspec.structs.replace(make(SUITE), format=2, groundspeed_version="9.9")
    with pytest.raises(StoreError) as caught:
        plans.decode(plans.encode(later), source="plan.json")
    assert caught.value.hint == "use groundspeed 9.9"


def test_no_password_is_ever_in_a_plan() -> None:
    plan = make(SUITE)
    assert plan.environment("three").dsn is not None
    assert plan.environment("three").password_env == "SECRET_ENV"
    assert b"s3cret" not in plans.encode(plan)
    assert "s3cret" not in repr(plan)


def test_settings_of_an_environment_are_on_top_of_those_of_the_suite() -> None:
    plan = make(SUITE, "postgres.settings={fsync: true, work_mem: 4MB}")
    assert dict(plan.environment("one").settings) == {"fsync": "on", "work_mem": "4MB"}
    assert dict(plan.environment("two").settings) == {"fsync": "off", "work_mem": "4MB"}


def test_the_estimate_grows_with_what_it_estimates() -> None:
    small, large = make(SUITE).estimate, make(SUITE, "scale=1000", "clients=[64]").estimate
    assert small.load_s == 2 * small.trial_count
    assert small.wall_s > small.load_s
    assert large.disk_bytes_per_environment > small.disk_bytes_per_environment
    assert large.memory_bytes > small.memory_bytes


EMULATED = """\
suite: s
environments:
  disk: {target: embedded, storage: {directory: /a}}
  emulated: {target: embedded, storage: {emulate: aws-gp3, directory: /b}, memory: 8GiB}
"""


def test_a_plan_carries_the_profiles_it_was_given() -> None:
    suite = spec.load_suite(EMULATED, source="s.yaml")
    found = plans.ResolvedProfile(label="aws-gp3 (iops=4000)", json="{}")
    plan = plans.make_plan(
        suite,
        source="s.yaml",
        rng=random.Random(1),
        groundspeed_version="0.1.0",
        scripts={},
        profiles={"emulated": found},
    )
    emulated = plan.environment("emulated")
    assert emulated.storage == plans.StorageRequest(
        directory="/b", emulate="aws-gp3 (iops=4000)", profile="{}"
    )
    assert emulated.memory_bytes == 8 * 1024**3
    assert plan.environment("disk").storage == plans.StorageRequest(directory="/a")
    assert plan.environment("disk").memory_bytes is None
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


def test_plans_from_before_emulation_are_read() -> None:
    plan = make(EMULATED)
    old = msgspec.json.decode(plans.encode(plan))
    for environment in old["environments"]:
        del environment["memory_bytes"]
        del environment["storage"]["profile"]
    again = plans.decode(msgspec.json.encode(old), source="plan.json")
    assert again.environment("emulated").storage == plans.StorageRequest(
        directory="/b", emulate="aws-gp3"
    )


@pytest.mark.parametrize(
    "override",
    [
        "postgres.settings={io_method: io_uring}",
        "environments.emulated.settings={IO_METHOD: IO_uring}",
    ],
)
def test_io_uring_is_refused_where_storage_is_emulated(override: str) -> None:
    with pytest.raises(SpecError) as caught:
        make(EMULATED, override, "postgres.version=18")
    assert caught.value.message.startswith("environments.emulated: io_method io_uring goes past")
    assert caught.value.hint.startswith("set io_method to worker or sync")


def test_io_uring_is_the_users_choice_elsewhere() -> None:
    make(SUITE, "postgres.settings={io_method: io_uring}")
    make(
        EMULATED,
        "postgres.settings={io_method: io_uring}",
        "environments.emulated.settings={io_method: sync}",
    )


def test_a_plan_knows_what_is_watched_and_what_may_differ() -> None:
    made = make(SUITE, "measure.probes=light", "vary=[storage, settings]")
    assert (made.probes, made.vary) == ("light", ("storage", "settings"))
    assert plans.decode(plans.encode(made), source="plan.json") == made
    assert (make(SUITE).probes, make(SUITE).vary) == ("full", None)


def test_plans_from_before_probes_watch_nothing() -> None:
    old = json.loads(plans.encode(make(SUITE)))
    del old["probes"], old["vary"]
    again = plans.decode(msgspec.json.encode(old), source="plan.json")
    assert (again.probes, again.vary) == ("off", None)


def test_what_a_plan_is_made_of_loads_nothing_that_decodes_suites() -> None:
    """The probe process reads the types of plans and records while a server is being measured."""
    code = "import sys, groundspeed.ports; print({'pydantic', 'yaml', 'psycopg'} & {*sys.modules})"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
