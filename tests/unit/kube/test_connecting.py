"""Which cluster is meant: kubeconfig, context, namespace, or the pod we are in."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from groundspeed.errors import TargetError
from groundspeed.kube.connecting import find_connection

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, **changes: Any) -> Path:  # noqa: ANN401 - what YAML holds
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [
            {"name": "prod", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "staging", "context": {"cluster": "c", "user": "u"}},
        ],
    }
    path.write_text(yaml.safe_dump(config | changes))
    return path


def test_the_context_in_use_and_its_namespace(tmp_path: Path) -> None:
    found = find_connection(environ={"KUBECONFIG": str(write(tmp_path / "config"))})
    assert (found.context, found.namespace) == ("prod", "team")
    config = found.log_in()
    assert config.host == "https://127.0.0.1:1"
    assert config.get_api_key_with_prefix("BearerToken", alias="authorization") == "Bearer secret"


def test_a_context_and_a_namespace_may_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "config")
    found = find_connection(context="staging", kubeconfig=str(path), environ={})
    assert (found.context, found.namespace, found.is_in_cluster) == ("staging", "default", False)
    found = find_connection(namespace="mine", kubeconfig=str(path), environ={})
    assert found.namespace == "mine"


def test_an_unknown_context_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as caught:
        find_connection(context="stagin", kubeconfig=str(write(tmp_path / "c")), environ={})
    assert caught.value.message == "the kubeconfig has no context stagin"
    assert caught.value.hint == "there is staging"


def test_no_context_in_use_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "c", **{"current-context": ""})
    with pytest.raises(TargetError, match="no context of the kubeconfig is in use"):
        find_connection(kubeconfig=str(path), environ={})


def test_without_a_cluster_it_says_what_to_set(tmp_path: Path) -> None:
    environ = {"KUBECONFIG": str(tmp_path / "missing")}
    with pytest.raises(TargetError) as caught:
        find_connection(environ=environ)
    assert caught.value.message.startswith("no Kubernetes cluster is configured: there is no /")
    assert caught.value.hint == (
        "set KUBECONFIG or --context; kubectl config get-contexts lists them"
    )


@pytest.mark.parametrize("text", ["", "just words", "{", "contexts: [1]"])
def test_a_file_that_is_no_kubeconfig_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(TargetError, match="cannot be read"):
        find_connection(kubeconfig=str(path), environ={})


def test_a_context_without_a_cluster_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "c", clusters=[])
    with pytest.raises(TargetError, match="context prod of the kubeconfig cannot be used"):
        find_connection(kubeconfig=str(path), environ={}).log_in()


def test_a_credentials_plugin_that_fails_is_told(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", "import sys; sys.exit('your session has expired')"],
        "interactiveMode": "Never",
    }
    path = write(tmp_path / "c", users=[{"name": "u", "user": {"exec": plugin}}])
    with pytest.raises(TargetError) as caught:
        find_connection(kubeconfig=str(path), environ={}).log_in()
    assert "the credentials of context prod cannot be had" in caught.value.message


def test_in_a_pod_its_service_account_is_used(tmp_path: Path) -> None:
    for name, text in (("token", "abc"), ("ca.crt", "x"), ("namespace", "jobs\n")):
        (tmp_path / name).write_text(text)
    environ = {
        "KUBECONFIG": "/nowhere/at/all",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    found = find_connection(environ=environ, account=tmp_path)
    assert found.is_in_cluster
    assert found.namespace == "jobs"
    assert found.log_in().host == "https://10.0.0.1:443"
    assert found.cluster == "this pod's cluster"


def test_a_pod_without_an_account_is_told(tmp_path: Path) -> None:
    environ = {
        "KUBECONFIG": "/nowhere/at/all",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    with pytest.raises(TargetError, match="no service account"):
        find_connection(environ=environ, account=tmp_path).log_in()


def in_a_process(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_client_is_not_imported_before_it_is_needed() -> None:
    program = (
        "import sys, groundspeed.kube.api, groundspeed.kube.client, groundspeed.kube.lease;"
        "import groundspeed.kube.waiting, groundspeed.kube.intent;"
        "print([m for m in ('kubernetes', 'urllib3', 'websocket', 'yaml') if m in sys.modules])"
    )
    assert in_a_process(program) == "[]"


def test_without_the_client_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['kubernetes'] = None\n"
        "from groundspeed.kube.client import connect\n"
        "try: connect()\n"
        "except Exception as error: print(error.message, '|', error.hint)"
    )
    assert in_a_process(program) == (
        "the Kubernetes client is not installed | pip install 'groundspeed[kubernetes]'"
    )
