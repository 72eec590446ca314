"""One namespace of a real cluster: what tests do in it as a user would, and look at as an admin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import groundspeed
from groundspeed import store
from groundspeed.record import Failed, Measured

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from groundspeed.record import Record

# So long a condition may take before the test is given up; no figure of a result.
PATIENCE_S = 300
CLIENTS = 3
# Connections of groundspeed's own in the database under test.
OWN_CONNECTIONS = 1
# What every namespace has without anybody's doing.
GIVEN = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


class Lab:
    """A namespace with the restricted profile enforced, and volumes for what runs in it."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        *,
        directory: Path,
        namespace: str,
        image: str,
        node: str | None,
        volumes: Path,
        classes: tuple[str, ...],
    ) -> None:
        self.directory = directory
        self.namespace = namespace
        self.image = image
        self._node = node
        self._volumes = volumes / namespace
        self._classes = classes
        self._results_class = f"{namespace}-results"

    def __enter__(self) -> Self:
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self._apply(_object("v1", "Namespace", self.namespace, labels=labels))
        if self._node is not None:
            self._make_room("results")
            self._apply(
                {
                    **_object("storage.k8s.io/v1", "StorageClass", self._results_class),
                    "provisioner": "kubernetes.io/no-provisioner",
                    "volumeBindingMode": "WaitForFirstConsumer",
                }
            )
            self._apply(
                {
                    **_object("v1", "PersistentVolume", self._results_class),
                    "spec": {
                        "capacity": {"storage": "1Gi"},
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": self._results_class,
                        "persistentVolumeReclaimPolicy": "Retain",
                        "local": {"path": str(self._volumes / "results")},
                        "nodeAffinity": _on_node(self._node),
                    },
                }
            )
        return self

    def __exit__(self, *_: object) -> None:
        # What a test that failed left; one that passed has looked that nothing is.
        for run in (self.directory / "runs").glob("*"):
            if self.list("configmaps", run=run.name):
                self.groundspeed("clean", "--run", run.name, "--discard")
        self.kubectl("delete", "namespace", self.namespace, "--wait=true", check=False)
        if self._node is not None:
            for kind in ("pv", "sc"):
                self.kubectl("delete", kind, self._results_class, "--wait=false", check=False)
            shutil.rmtree(self._volumes, ignore_errors=True)

    # -- as a user

    def groundspeed(self, *arguments: str) -> Done:
        """Run a command to its end."""
        with self.start(*arguments) as process:
            stdout, stderr = process.communicate()
        return Done(process.returncode, stdout, stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command as a user would type it."""
        return subprocess.Popen(
            [sys.executable, "-m", "groundspeed.cli.main", *arguments],
            cwd=self.directory,
            env={
                **os.environ,
                "PYTHONPATH": os.path.dirname(os.path.dirname(groundspeed.__file__)),  # noqa: PTH120
                "GROUNDSPEED_STATE_DIR": str(self.directory / "state"),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_options(self) -> tuple[str, ...]:
        """What to type after `groundspeed run SUITE`."""
        results = () if self._node is None else ("--results-class", self._results_class)
        return (
            *("--on", "kubernetes", "--namespace", self.namespace, "--yes"),
            *("--image", self.image, "--pull-policy", self._pull_policy),
            # One node of two cores has to hold all of it.
            *("--runner-cpu", "250m", "--runner-memory", "512MiB", "--results-size", "256MiB"),
            *results,
        )

    @property
    def _pull_policy(self) -> str:
        return os.environ.get("GROUNDSPEED_K8S_PULL", "IfNotPresent")

    def suite(self, name: str, **changes: object) -> str:
        """Write a suite of two servers on two storage classes; gives the path of its file."""
        cluster = str(changes.pop("cluster", "postgres"))
        duration, repeats = changes.pop("duration", "3s"), changes.pop("repeats", 8)
        document = {
            "suite": name,
            "postgres": {"version": 18, "settings": {"shared_buffers": "64MB"}},
            "environments": {
                environment: self.environment(cluster, environment, number)
                for number, environment in enumerate(("one", "two"))
            },
            "vary": ["storage"],
            "workloads": ["simple-update"],
            "clients": [CLIENTS],
            "scale": 1,
            "measure": {"duration": duration, "warm_up": "1s", "repeats": repeats},
            **changes,
        }
        path = self.directory / f"{name}.yaml"
        # YAML 1.1 reads JSON.
        path.write_text(json.dumps(document))
        return str(path)

    def environment(self, cluster: str, name: str, number: int) -> dict[str, Any]:
        """An environment on a class of its own."""
        found: dict[str, Any] = {
            "target": "kubernetes",
            "cluster": cluster,
            "pull_policy": self._pull_policy,
            "storage": self._storage(name, number),
            "resources": {"cpu": "200m", "memory": "384MiB"},
        }
        image = os.environ.get(
            "GROUNDSPEED_K8S_CNPG_IMAGE" if cluster == "cnpg" else "GROUNDSPEED_K8S_SERVER_IMAGE"
        )
        if image is not None:
            found["image"] = image
            found["version"] = int(image.rpartition(":")[2])
        if cluster == "postgres" and "GROUNDSPEED_K8S_SERVER_USER" in os.environ:
            found["user"] = int(os.environ["GROUNDSPEED_K8S_SERVER_USER"])
        return found

    def _storage(self, name: str, number: int) -> dict[str, Any]:
        if self._node is None:
            return {"class": self._classes[number], "size": "1GiB"}
        self._make_room(name)
        path = str(self._volumes / name)
        return {"local": {"node": self._node, "path": path}, "size": "1GiB"}

    def _make_room(self, name: str) -> None:
        room = self._volumes / name
        room.mkdir(parents=True, exist_ok=True)
        # A kubelet that finds the device of a directory mounted elsewhere gives it to no group.
        room.chmod(0o777)

    def run_id(self) -> str:
        """The one run under runs/."""
        (run,) = [p.name for p in (self.directory / "runs").iterdir() if p.is_dir()]
        return run

    def records(self) -> tuple[Record, ...]:
        """What was collected so far."""
        return store.read_run(self.directory / "runs" / self.run_id()).records

    def measured(self) -> list[Record]:
        """Records with a measurement, in the order they were made."""
        return [r for r in self.records() if isinstance(r.outcome, Measured)]

    def failed(self) -> list[Record]:
        """Records of failures, in the order they were made."""
        return [r for r in self.records() if isinstance(r.outcome, Failed)]

    # -- as an admin

    def kubectl(self, *arguments: str, check: bool = True, stdin: str | None = None) -> str:
        """Run kubectl in the namespace."""
        done = subprocess.run(
            ["kubectl", "--namespace", self.namespace, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, f"{arguments}: {done.stderr}"
        return done.stdout

    def _apply(self, obj: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps(obj))

    def list(self, kind: str, **labels: str) -> list[dict[str, Any]]:
        """List objects of a kind by labels; `role` and `environment` are groundspeed's."""
        selector = ",".join(f"groundspeed/{key}={value}" for key, value in labels.items())
        text = self.kubectl("get", kind, "-l", selector, "-o", "json")
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items

    def pod(self, role: str, **labels: str) -> dict[str, Any]:
        """The one pod of a role that runs and is not about to go."""
        (pod,) = [
            pod
            for pod in self.list("pods", role=role, **labels)
            if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Running"
        ]
        return pod

    def left(self) -> set[tuple[str, str]]:
        """All objects in the namespace, and those of the whole cluster that carry our label."""
        kinds = self.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
        passing = {"events", "events.events.k8s.io"}
        found = set()
        for kind in sorted(set(kinds) - passing):
            names = self.kubectl("get", kind, "-o", "name", check=False).split()
            found |= {(kind, name.rpartition("/")[2]) for name in names}
        for kind in ("persistentvolumes", "storageclasses", "clusterroles", "clusterrolebindings"):
            text = self.kubectl("get", kind, "-l", "groundspeed/run", "-o", "json")
            ours = [
                item
                for item in json.loads(text)["items"]
                if self.namespace in json.dumps(item["metadata"]) or self._is_ours(item)
            ]
            found |= {(kind, item["metadata"]["name"]) for item in ours}
        return found - GIVEN

    def _is_ours(self, item: dict[str, Any]) -> bool:
        run = item["metadata"]["labels"]["groundspeed/run"]
        return (self.directory / "runs" / run).exists()

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        """Look until a condition holds."""
        given_up_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < given_up_s, f"waited too long: {what}"
            time.sleep(0.25)

    def wait_for_load(self) -> str:
        """Wait until the clients of a trial, three of them, work in a server; gives its name."""
        found: list[str] = []

        def is_busy() -> bool:
            found[:] = [
                name
                for name in ("one", "two")
                if self._backend_count(name) >= CLIENTS + OWN_CONNECTIONS
            ]
            return bool(found)

        self.wait("load", is_busy)
        return found[0]

    def _backend_count(self, environment: str) -> int:
        """Count backends in the database under test; each says in its title whose it is."""
        pods = self.list("pods", role="server", environment=environment)
        if not pods:
            return 0
        # Brackets, lest the shell that looks finds itself.
        titles = (
            "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"
            " | grep -c '[p]ostgres: .* groundspeed'"
        )
        name = pods[0]["metadata"]["name"]
        text = self.kubectl("exec", name, "--", "sh", "-c", titles, check=False).strip()
        return int(text) if text.isdigit() else 0


def _object(
    api_version: str, kind: str, name: str, labels: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": labels or {}},
    }


def _on_node(node: str) -> dict[str, Any]:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
