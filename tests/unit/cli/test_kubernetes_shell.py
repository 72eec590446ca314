from __future__ import annotations

import io
import json
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from groundspeed.cli.main import main
from groundspeed.manifests.collector import shell_pod
from groundspeed.manifests.runner import RunnerOptions
from tests.kube_server import KubeServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.manifests.naming import Object

STATES = {
    "ready": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "shell", "ready": True, "state": {"running": {}}}],
    },
    "no image": {
        "phase": "Pending",
        "containerStatuses": [
            {
                "name": "shell",
                "ready": False,
                "image": "groundspeed:1",
                "state": {"waiting": {"reason": "ErrImageNeverPull", "message": "not present"}},
            }
        ],
    },
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[KubeServer]:
    with KubeServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
        monkeypatch.chdir(tmp_path)
        # Nothing of this machine is found unless a test puts it there.
        (tmp_path / "bin").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        yield server


def starts_as(cluster: KubeServer, state: str) -> None:
    def play(server: KubeServer, pod: Object) -> None:
        meta = pod["metadata"]
        change = {"status": STATES[state]}
        server.change("Pod", meta["name"], change, namespace=meta["namespace"])

    cluster.on_apply("Pod", play)


def put_kubectl(tmp_path: Path) -> Path:
    """A kubectl that notes how it was called, and ends as a shell whose last command failed."""
    called = tmp_path / "called.json"
    program = tmp_path / "bin" / "kubectl"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"open({str(called)!r}, 'w').write(json.dumps(sys.argv[1:]))\nsys.exit(3)\n"
    )
    program.chmod(0o755)
    return called


def test_the_terminal_goes_to_kubectl_and_the_pod_goes(cluster: KubeServer, tmp_path: Path) -> None:
    starts_as(cluster, "ready")
    called = put_kubectl(tmp_path)
    assert main(["k8s", "shell", "--context", "lab", "--image", "groundspeed:1"]) == 0
    [made, removed] = cluster.writes
    assert made.startswith("create Pod/groundspeed-shell-")
    assert removed == made.replace("create", "delete")
    name = made.partition("/")[2]
    arguments = json.loads(called.read_text())
    assert arguments[:4] == ["--context", "lab", "--namespace", "bench"]
    assert arguments[-6:] == ["-i", name, "--container", "shell", "--", "bash"]
    assert cluster.objects("Pod") == []


def test_without_kubectl_the_line_is_told(
    cluster: KubeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    starts_as(cluster, "ready")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert main(["k8s", "shell", "--namespace", "other"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert shlex.split(line)[:3] == ["kubectl", "--namespace", "other"]
    assert cluster.objects("Pod") == []


def test_a_pod_that_does_not_start_is_told_and_removed(
    cluster: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts_as(cluster, "no image")
    called = put_kubectl(tmp_path)
    assert main(["k8s", "shell", "--image", "groundspeed:1", "--pull-policy", "Never"]) == 4
    assert "groundspeed:1" in capsys.readouterr().err
    assert not called.exists()
    assert cluster.objects("Pod") == []


def test_without_the_right_nothing_is_made(
    cluster: KubeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.deny("create", "pods")
    assert main(["k8s", "shell"]) == 4
    assert "error: " in capsys.readouterr().err
    assert cluster.writes == []


def test_it_has_rights_only_by_an_account() -> None:
    plain = shell_pod("s", options=RunnerOptions(image="i"))["spec"]
    assert plain["automountServiceAccountToken"] is False
    assert plain["activeDeadlineSeconds"] == 4 * 3600
    given = shell_pod("s", options=RunnerOptions(image="i", service_account="mine"))["spec"]
    assert given["automountServiceAccountToken"] is True
    assert given["serviceAccountName"] == "mine"
