from __future__ import annotations

from pathlib import Path

import pytest

from groundspeed.cli import suite_packing, suites
from groundspeed.errors import SpecError
from groundspeed.plan.digest import digest
from tests.unit.cli.cluster import SUITE

SCRIPTS = """\
workloads:
  - {name: a, script: %s}
  - tpcb-like
  - {name: b, script: %s, writes: false}
"""


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "s.yaml") -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def with_scripts(first: str, second: str) -> str:
    return SUITE.replace("workloads: [select-only]\n", SCRIPTS % (first, second))


def unpacked(packed: suite_packing.Packed, directory: str) -> str:
    """Make of it what the pod has: files in one directory, and no other."""
    for name, text in packed.files.items():
        write(text, f"{directory}/{name}")
    _, made = suites.load(f"{directory}/suite.yaml", packed.arguments)
    return digest(made)


def complaints(*overrides: str) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        suite_packing.pack("s.yaml", overrides)
    error = caught.value
    return [(error.message, error.hint), *error.further]


def test_a_suite_without_scripts_is_its_text() -> None:
    write(SUITE)
    packed = suite_packing.pack("s.yaml", ["scale=2"])
    assert packed.files == {"suite.yaml": SUITE}
    assert packed.arguments == ("scale=2",)
    assert packed.plan.source == str(Path("s.yaml").absolute())
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_scripts_beside_the_suite_keep_their_names() -> None:
    write(with_scripts("a.sql", "b.sql"))
    write("SELECT 1;", "a.sql")
    write("SELECT 2;", "b.sql")
    packed = suite_packing.pack("s.yaml", ())
    assert packed.arguments == ()
    assert packed.files["b.sql"] == "SELECT 2;"
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_scripts_from_elsewhere_get_plain_names(tmp_path: Path) -> None:
    write(with_scripts("one/x.sql", f"{tmp_path}/two/x.sql"), "suites/s.yaml")
    write("SELECT 1; -- é 😀", "suites/one/x.sql")
    write("SELECT 2;", "two/x.sql")
    packed = suite_packing.pack("suites/s.yaml", ["measure.repeats=7"])
    assert set(packed.files) == {"suite.yaml", "x.sql", "2-x.sql"}
    assert packed.arguments[0] == "measure.repeats=7"
    assert [w.script for w in packed.plan.workloads if w.name != "tpcb-like"] == [
        "SELECT 1; -- é 😀",
        "SELECT 2;",
    ]
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_no_script_takes_a_key_of_ours() -> None:
    write(with_scripts("owned", "a b/.suite.yaml"))
    write("SELECT 1;", "owned")
    write("SELECT 2;", "a b/.suite.yaml")
    packed = suite_packing.pack("s.yaml", ())
    assert set(packed.files) == {"suite.yaml", "2-owned", "2-suite.yaml"}
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_scripts_of_an_override_travel_too() -> None:
    write(SUITE)
    write("SELECT '\"é😀';", "sub/x.sql")
    packed = suite_packing.pack("s.yaml", ["workloads=[{name: é, script: sub/x.sql}]"])
    assert set(packed.files) == {"suite.yaml", "x.sql"}
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_a_preset_is_packed() -> None:
    packed = suite_packing.pack("kubernetes-longhorn", ())
    assert packed.plan.source == "kubernetes-longhorn"
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_what_cannot_be_measured_from_a_pod_is_told_at_once() -> None:
    write(
        """\
suite: mixed
postgres: {bin_dir: pg/bin}
environments:
  disk: {target: embedded, storage: {directory: data}}
  inline: {target: server, dsn: "postgresql://u:hunter2@h:5432/db"}
  variable: {target: server, dsn: "host=h user=u", password_env: SECRET}
  open: {target: server, dsn: "host=h user=u"}
workloads: [select-only]
"""
    )
    found = complaints()
    assert [message for message, _ in found] == [
        "s.yaml: postgres.bin_dir names a folder of this machine",
        "s.yaml: environments.disk: target embedded would measure the pod of the runner",
        "s.yaml: environments.inline: a password of this machine does not reach the cluster",
        "s.yaml: environments.variable: a password of this machine does not reach the cluster",
    ]
    assert not any("hunter2" in part for each in found for part in each)


def test_a_given_server_without_a_password_can_be_measured() -> None:
    write(
        "suite: open\nworkloads: [select-only]\n"
        'environments:\n  open: {target: server, dsn: "host=db.prod.svc user=u"}\n'
    )
    packed = suite_packing.pack("s.yaml", ())
    assert unpacked(packed, "pod") == digest(packed.plan)


def test_a_suite_that_is_too_large_names_the_largest_file() -> None:
    write(with_scripts("a.sql", "b.sql"))
    write("-- " + "x" * 700_000, "a.sql")
    write("-- " + "é" * 200_000, "b.sql")
    [(message, hint)] = complaints()
    assert "a ConfigMap holds 983,040" in message
    assert hint == "make it smaller, a.sql has 700,003 of them"
