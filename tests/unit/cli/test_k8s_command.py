from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from groundspeed.cli import kubectl_plugin
from groundspeed.cli.k8s_command import secret_line
from groundspeed.manifests import naming, runner

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object
    from tests.unit.cli.conftest import Groundspeed

BASE = Path(__file__).parents[3] / "deploy" / "kustomize" / "base"
SUITE = """\
suite: mine
environments:
  made: {target: kubernetes, cluster: postgres, storage: {class: fast, size: 1GiB}}
  given: {target: kubernetes, service: {name: db, secret: app}}
workloads: [{name: own, script: load.sql, writes: true}]
clients: [2]
scale: 1
measure: {duration: 1s, warm_up: 0s, repeats: 6}
"""


@pytest.fixture(autouse=True)
def _no_image_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDSPEED_IMAGE", raising=False)


@pytest.fixture
def suite(tmp_path: Path) -> str:
    (tmp_path / "load.sql").write_text("SELECT 1;\n")
    (tmp_path / "mine.yaml").write_text(SUITE)
    return "mine.yaml"


def objects_of(text: str) -> list[Object]:
    return list(yaml.safe_load_all(text))


def by_kind(text: str) -> dict[str, Object]:
    return {one["kind"]: one for one in objects_of(text)}


def test_the_example_is_what_render_prints(
    groundspeed: Groundspeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(BASE.parents[2])
    printed = groundspeed(
        "k8s", "render", "deploy/kustomize/base/suite.yaml", "--run-id", "nightly"
    )
    assert printed.out == (BASE / "run.yaml").read_text(), "make docs writes it anew"


def test_the_example_is_all_of_its_kustomization() -> None:
    listed = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    assert {*listed, "kustomization.yaml", "suite.yaml"} == {p.name for p in BASE.iterdir()}


def test_the_same_run_is_the_same_text_wherever_it_is_made(
    groundspeed: Groundspeed, suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = groundspeed("k8s", "render", suite, "--run-id", "one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert groundspeed("k8s", "render", f"../{suite}", "--run-id", "one").out == first.out
    assert groundspeed("k8s", "render", f"../{suite}", "--run-id", "two").out != first.out


def test_it_is_plain_enough_for_kustomize(groundspeed: Groundspeed, suite: str) -> None:
    for one in objects_of(groundspeed("k8s", "render", suite, "--run-id", "one").out):
        assert one["metadata"]["name"].startswith("gs-")
        assert {"namespace", "generateName", "ownerReferences"}.isdisjoint(one["metadata"])
    printed = groundspeed("k8s", "render", suite, "--run-id", "one", "--namespace", "bench").out
    assert {one["metadata"]["namespace"] for one in objects_of(printed)} == {"bench"}


def test_no_secret_is_in_it_and_the_line_for_it_is_told(
    groundspeed: Groundspeed, suite: str
) -> None:
    done = groundspeed("k8s", "render", suite, "--run-id", "one", "-n", "bench")
    assert "Secret" not in {one["kind"] for one in objects_of(done.out)}
    assert done.err.splitlines()[-1] == secret_line("one", "bench")
    words = shlex.split(secret_line("one", "bench"))
    name = runner.credentials_name("one")
    assert words[:5] == ["kubectl", "create", "secret", "generic", name]
    # It is of the run, so that it goes with the run.
    assert "groundspeed/run=one" in words
    assert words[5:7] == ["--namespace", "bench"]


def test_a_run_that_makes_no_server_needs_no_secret(
    groundspeed: Groundspeed, suite: str, tmp_path: Path
) -> None:
    text = "".join(line for line in SUITE.splitlines(keepends=True) if "made:" not in line)
    (tmp_path / suite).write_text(text)
    assert groundspeed("k8s", "render", suite, "--run-id", "one").err == ""


def test_the_suite_travels_with_its_scripts_and_changes(
    groundspeed: Groundspeed, suite: str
) -> None:
    printed = groundspeed("k8s", "render", suite, "--run-id", "one", "--set", "scale=2").out
    data = by_kind(printed)["ConfigMap"]["data"]
    assert data["suite.yaml"] == SUITE
    assert data["load.sql"] == "SELECT 1;\n"
    assert data["arguments"] == '["scale=2"]'


def test_options_of_the_runner_show(groundspeed: Groundspeed, suite: str) -> None:
    printed = groundspeed(
        *("k8s", "render", suite, "--image", "here/groundspeed:2", "--pull-policy", "Always"),
        *("--results-class", "slow", "--results-size", "2GiB", "--ttl", "1h"),
        *("--runner-cpu", "500m", "--runner-memory", "2GiB", "--service-account", "mine"),
    ).out
    found = by_kind(printed)
    assert set(found) == {"ConfigMap", "PersistentVolumeClaim", "Job"}
    claim = found["PersistentVolumeClaim"]["spec"]
    assert claim["storageClassName"] == "slow"
    assert claim["resources"]["requests"]["storage"] == str(2 * 1024**3)
    job = found["Job"]["spec"]
    assert job["ttlSecondsAfterFinished"] == 3600
    pod = job["template"]["spec"]
    assert pod["serviceAccountName"] == "mine"
    container = pod["containers"][0]
    assert (container["image"], container["imagePullPolicy"]) == ("here/groundspeed:2", "Always")
    assert container["resources"]["limits"] == {"cpu": "500m", "memory": str(2 * 1024**3)}
    options = runner.options_of(found["ConfigMap"])
    assert (options.image, options.cpu_count, options.ttl_s) == ("here/groundspeed:2", 0.5, 3600)


def test_the_image_may_come_from_a_variable(
    groundspeed: Groundspeed, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSPEED_IMAGE", "there/groundspeed:3")
    job = by_kind(groundspeed("k8s", "render", suite).out)["Job"]
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "there/groundspeed:3"


def test_a_run_without_a_name_gets_one_of_its_own(groundspeed: Groundspeed, suite: str) -> None:
    labels = by_kind(groundspeed("k8s", "render", suite).out)["Job"]["metadata"]["labels"]
    assert labels[naming.RUN_LABEL].endswith("-mine")


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a b", "x" * 64, "ä"])
def test_a_name_has_to_fit_labels_and_files(
    groundspeed: Groundspeed, suite: str, name: str
) -> None:
    done = groundspeed("k8s", "render", suite, "--run-id", name)
    assert done.code == 2
    assert done.out == ""
    assert done.errors[0] == f"error: {name!r} is no name for a run"


def test_rights_in_the_whole_cluster_need_a_namespace(groundspeed: Groundspeed, suite: str) -> None:
    done = groundspeed("k8s", "render", suite, "--cluster-evidence")
    assert (done.code, done.out) == (2, "")
    assert "--namespace" in done.errors[1]
    kinds = by_kind(groundspeed("k8s", "render", suite, "--cluster-evidence", "-n", "b").out)
    assert {"ClusterRole", "ClusterRoleBinding"} <= set(kinds)


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--ttl", "0s", "no time at all"),
        ("--ttl", "7", "is not a duration"),
        ("--results-size", "0GiB", "leaves no room"),
        ("--results-size", "1", "needs a unit"),
        ("--runner-cpu", "0", "no number of cores"),
        ("--runner-cpu", "nan", "no number of cores"),
        ("--runner-cpu", "two", "no number of cores"),
        ("--runner-memory", "much", "is not a size"),
    ],
)
def test_a_quantity_needs_its_unit(
    groundspeed: Groundspeed, suite: str, option: str, value: str, complaint: str
) -> None:
    done = groundspeed("k8s", "render", suite, option, value)
    assert done.code == 2
    assert complaint in done.errors[0]


def test_rights_are_of_one_namespace_or_of_none(groundspeed: Groundspeed) -> None:
    printed = groundspeed("k8s", "rights", "--namespace", "bench").out
    objects = objects_of(printed)
    kinds = [one["kind"] for one in objects]
    assert kinds == [
        *("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
        *("ServiceAccount", "Role", "RoleBinding"),
    ]
    places = {one["metadata"].get("namespace") for one in objects if "Cluster" not in one["kind"]}
    assert places == {"bench"}
    assert printed.startswith("# ")
    for one in objects_of(groundspeed("k8s", "rights").out):
        assert "namespace" not in one["metadata"]


def test_as_a_plugin_it_is_called_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubectl_plugin.main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: kubectl groundspeed ")
    assert kubectl_plugin.main(["run", "--no-such"]) == 2
    assert "no such option --no-such" in capsys.readouterr().err
    assert kubectl_plugin.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("groundspeed ")
