from __future__ import annotations

from pathlib import Path

import pytest

from groundspeed import plan as plans
from groundspeed.cli import suites
from groundspeed.errors import SpecError
from groundspeed.storage import catalogue, decode

GIVEN = """\
suite: given
environments:
  inline: {target: server, dsn: "postgresql://u:p%40ss@h:5432/db"}
  variable: {target: server, dsn: "host=h user=u", password_env: GROUNDSPEED_TEST_PASSWORD}
  none: {target: server, dsn: "host=h"}
  disk: {target: embedded, storage: {directory: data, wal_directory: ~/wal}}
workloads: [select-only]
"""


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def complaint(name: str, *overrides: str) -> tuple[str, str]:
    with pytest.raises(SpecError) as caught:
        suites.load(name, overrides)
    return caught.value.message, caught.value.hint


def test_a_preset_is_loaded_by_name() -> None:
    suite, plan = suites.load("quick", ["scale=3"])
    assert suite.scale == 3
    assert plan.source == "quick"
    assert {trial.cell.scale for trial in plan.trials} == {3}


def test_a_file_is_loaded_by_path_and_remembered_absolutely() -> None:
    Path("mine.yaml").write_text(GIVEN)
    _, plan = suites.load("mine.yaml", ())
    assert plan.source == str(Path("mine.yaml").absolute())


def test_relative_directories_are_those_of_the_current_directory() -> None:
    folder = Path("suites")
    folder.mkdir()
    (folder / "mine.yaml").write_text(GIVEN)
    _, plan = suites.load("suites/mine.yaml", ["postgres.bin_dir=pg/bin"])
    disk = plan.environment("disk")
    assert disk.storage == plans.StorageRequest(
        directory=str(Path.cwd() / "data"), wal_directory=str(Path.home() / "wal")
    )
    assert disk.bin_dir == str(Path.cwd() / "pg/bin")


def test_scripts_are_relative_to_the_suite() -> None:
    folder = Path("suites")
    folder.mkdir()
    (folder / "mine.sql").write_text("SELECT 42;")
    text = GIVEN.replace("select-only", "{script: ./mine.sql, name: mine}")
    (folder / "mine.yaml").write_text(text)
    _, plan = suites.load("suites/mine.yaml", ())
    assert plan.workload("mine").script == "SELECT 42;"


def test_a_script_that_is_missing_is_named_with_its_path() -> None:
    Path("mine.yaml").write_text(GIVEN.replace("select-only", "{script: no.sql, name: mine}"))
    message, hint = complaint("mine.yaml")
    assert message == (
        f"mine.yaml: workloads.0.script: {Path.cwd() / 'no.sql'}: No such file or directory"
    )
    assert hint == "paths of scripts are relative to the suite file"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("quik", "quik: no preset or file of that name", "did you mean quick?"),
        ("matrix39", "matrix39: no preset or file of that name", "did you mean matrix-39?"),
        ("nightly.yml", "nightly.yml: no such file", "did you mean nightly.yaml?"),
        ("no/where.yaml", "no/where.yaml: no such file", "presets are capacity-quick"),
        (".", ".: Is a directory", "name a suite file you may read, or a preset"),
        ("latin.yaml", "latin.yaml: not UTF-8", "a suite file is UTF-8 text in YAML"),
        ("a\0b", "a\0b: not a path", "name a suite file you may read, or a preset"),
    ],
)
def test_a_suite_that_is_not_there_suggests_the_nearest(name: str, message: str, hint: str) -> None:
    Path("nightly.yaml").write_text(GIVEN)
    Path("latin.yaml").write_bytes("suite: ä".encode("latin-1"))
    told, told_hint = complaint(name)
    assert told == message
    assert told_hint.startswith(hint)


def test_passwords_come_from_dsn_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSPEED_TEST_PASSWORD", "from-variable")
    Path("mine.yaml").write_text(GIVEN)
    suite, plan = suites.load("mine.yaml", ())
    expected = {"inline": "p@ss", "variable": "from-variable"}
    assert suites.passwords(suite) == expected
    assert suites.passwords_of_plan(plan) == expected
    assert b"p@ss" not in plans.encode(plan)
    assert b"p%40ss" not in plans.encode(plan)


def test_a_variable_that_is_not_set_is_a_mistake() -> None:
    Path("mine.yaml").write_text(GIVEN)
    suite, plan = suites.load("mine.yaml", ())
    with pytest.raises(SpecError) as at_run:
        suites.passwords(suite)
    with pytest.raises(SpecError) as at_resume:
        suites.passwords_of_plan(plan)
    for caught in (at_run, at_resume):
        assert caught.value.message == (
            "environments.variable.password_env: GROUNDSPEED_TEST_PASSWORD is not set"
        )
        assert "export GROUNDSPEED_TEST_PASSWORD" in caught.value.hint


@pytest.mark.parametrize("change", [("@h:5432", "@other:5432"), ("inline:", "renamed:"), ("", "")])
def test_a_password_goes_only_to_the_server_it_was_written_for(
    change: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSPEED_TEST_PASSWORD", "x")
    Path("mine.yaml").write_text(GIVEN)
    _, plan = suites.load("mine.yaml", ())
    Path("mine.yaml").write_text(GIVEN.replace(*change) if change[0] else "no suite")
    assert "inline" not in suites.passwords_of_plan(plan)


def test_the_seed_decides_the_order() -> None:
    orders = [
        [trial.trial_id for trial in suites.load("quick", [f"seed={seed}"])[1].trials]
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]


EMULATED = """\
suite: emulated
environments:
  named: {target: embedded, storage: {emulate: aws-gp3, provision: {iops: 16000}}}
  file: {target: embedded, storage: {emulate: ./disks/mine.yaml, directory: data}}
  inline:
    target: embedded
    storage:
      emulate: {profile: mine, device: {read: {quantiles: {0.5: 1ms, 0.99: 2ms}}, parallel: 4}}
    memory: 2GiB
workloads: [select-only]
"""
MINE = "profile: from-file\nbased_on: local-nvme-plp\n"


@pytest.fixture
def _emulated_suite() -> None:
    Path("suites/disks").mkdir(parents=True)
    Path("suites/disks/mine.yaml").write_text(MINE)
    Path("suites/s.yaml").write_text(EMULATED)


@pytest.mark.usefixtures("_emulated_suite")
def test_a_plan_holds_its_storage_profiles_whole() -> None:
    _, plan = suites.load("suites/s.yaml", ())
    requests = [environment.storage for environment in plan.environments]
    profiles = [decode.decode_json(request.profile or "") for request in requests if request]
    assert profiles[0] == catalogue.profile("aws-gp3", {"iops": "16000"})
    assert profiles[1].device == catalogue.profile("local-nvme-plp").device
    assert profiles[2].device.parallel_count == 4
    labels = [request.emulate for request in requests if request]
    assert labels == ["aws-gp3 (iops=16000)", "from-file", "mine"]
    assert requests[1] is not None
    assert requests[1].directory == str(Path.cwd() / "data")
    assert plan.environment("inline").memory_bytes == 2 * 1024**3
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


@pytest.mark.usefixtures("_emulated_suite")
@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("named.storage.emulate=aws-pg3", "named.storage.emulate: aws-pg3: no such", "aws-gp3?"),
        (
            "named.storage.provision.iops=9",
            "named.storage.emulate: aws-gp3: iops=9: not possible",
            "from 3000 to 80000",
        ),
        (
            "inline.storage.emulate.device.parallell=4",
            "inline.storage.emulate: device.parallell: no such key",
            "did you mean 'parallel'?",
        ),
        (
            "inline.storage.provision={iops: 4}",
            "inline.storage.emulate: mine: no parameter 'iops'",
            "write one of your own",
        ),
        ("file.storage.emulate=no.yaml", "no.yaml: No such file", "groundspeed profiles"),
        ("file.storage.emulate='a\0.yml'", "not YAML", ""),
    ],
)
def test_a_profile_that_cannot_be_had_is_told_with_its_path(
    override: str, message: str, hint: str
) -> None:
    told, told_hint = complaint("suites/s.yaml", f"environments.{override}")
    assert message in told
    assert hint in told_hint


@pytest.mark.usefixtures("_emulated_suite")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"profile: \xff", "not UTF-8"),
        (b"profile: x", "profile: needs either device or based_on"),
        (b"profile: [", "mine.yaml:1:11: expected"),
    ],
)
def test_a_profile_file_that_is_wrong_is_told_with_its_own_path(
    content: bytes, message: str
) -> None:
    Path("suites/disks/mine.yaml").write_bytes(content)
    told, _ = complaint("suites/s.yaml")
    where = (
        f"suites/s.yaml: environments.file.storage.emulate: {Path.cwd() / 'suites/disks/mine.yaml'}"
    )
    assert told.startswith(where)
    assert message in told
