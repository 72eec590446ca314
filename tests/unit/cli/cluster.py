"""A cluster in this process that a run is submitted to, and a runner played by the test.

The API server is that of `tests.kube_server`; the results are a directory, and programs that are
started in pods run here, with that directory in the place of /results.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from groundspeed import store
from groundspeed.cli import suites
from groundspeed.manifests import naming, runner, servers
from tests.examples import make_measured, make_record
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.record import Outcome
    from tests.kube_store import Object

SUITE = """\
suite: small
environments:
  one: {target: kubernetes, cluster: postgres, storage: {class: fast, size: 1GiB}}
  two: {target: kubernetes, cluster: postgres, storage: {class: slow, size: 1GiB}}
workloads: [select-only]
clients: [1]
scale: 1
measure: {duration: 1s, warm_up: 0s, repeats: 6}
"""
SPEEDS = {"one": 1000.0, "two": 2000.0}


class Cluster:
    """The cluster of a test. `at_job` is called with the name of a run's Job when it is made."""

    def __init__(self, server: KubeServer, results: Path) -> None:
        self.server = server
        self.results = results
        self.at_job: Callable[[], object] = lambda: None
        self._pods = 0
        self._threads: list[threading.Thread] = []
        self._asked: dict[str, threading.Event] = defaultdict(threading.Event)
        for name in ("fast", "slow", "standard"):
            server.put(storage_class(name, is_default=name == "standard"))
        server.on_apply("Job", self._job_made)
        server.on_apply("Pod", self._pod_made)
        server.on_apply("PersistentVolumeClaim", self._claim_made)
        server.on_exec(self._program)

    # What the runner does.

    @property
    def anchor(self) -> Object:
        [found] = [
            each
            for each in self.server.objects("ConfigMap")
            if each["metadata"]["labels"][naming.ROLE_LABEL] == "runner"
        ]
        return found

    @property
    def run_id(self) -> str:
        return str(self.anchor["metadata"]["labels"][naming.RUN_LABEL])

    @property
    def run_dir(self) -> Path:
        return self.results / self.run_id

    def begin(self, *, node: str = "node-1") -> str:
        """Start a pod of the runner."""
        self._pods += 1
        name = f"{naming.run_name(self.run_id)}-{self._pods}"
        pod = ready_pod(
            name,
            labels=naming.labels(self.run_id, "runner"),
            owner=self.server.object("Job", naming.run_name(self.run_id)),
            container=runner.CONTAINER,
            node=node,
        )
        pod["metadata"]["creationTimestamp"] = f"2026-01-31T12:00:{self._pods:02}Z"
        self.server.put(pod)
        return name

    def say(self, pod: str, *lines: str) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        self.server.write_log(pod, data, container=runner.CONTAINER)

    def measure(self, pod: str, count: int, outcomes: Sequence[Outcome] = ()) -> None:
        """Keep records of the next trials, as the runner does, and say so."""
        plan = self.plan()
        if not self.run_dir.exists():
            store.create_run(self.results, plan, self.run_id)
        kept = store.RunStore(self.run_dir)
        done = len(kept.records())
        for number, trial in enumerate(plan.trials[done : done + count], start=done):
            found = (
                outcomes[number - done]
                if outcomes
                else make_measured(SPEEDS.get(trial.cell.environment, 500.0) + number)
            )
            kept.write_raw(f"{trial.trial_id}.1.stdout", f"tps = {number}\n")
            kept.append(make_record(trial, found, number=number))
            self.say(pod, f"[{number + 1:>2}/{len(plan.trials)}] {trial.trial_id}")
        kept.close()

    def end(self, pod: str, code: int = 0, *, condition: str | None = None) -> None:
        """End a pod, and its Job where that has a condition then."""
        ended = {"terminated": {"exitCode": code, "reason": "Completed" if not code else "Error"}}
        status = {"name": runner.CONTAINER, "state": ended, "ready": False, "restartCount": 0}
        phase = "Failed" if code else "Succeeded"
        self.server.end_log(pod, container=runner.CONTAINER)
        self.server.change("Pod", pod, {"status": {"phase": phase, "containerStatuses": [status]}})
        if condition is not None:
            self.end_job(condition)

    def end_job(self, condition: str, **more: str) -> None:
        found = {"type": condition, "status": "True", **more}
        name = naming.run_name(self.run_id)
        self.server.change("Job", name, {"status": {"conditions": [found]}})

    def measure_all(self) -> None:
        """Be a runner from its begin to its end."""
        pod = self.begin()
        self.measure(pod, len(self.plan().trials))
        self.end(pod, condition="Complete")

    def wait_until_pulled(self, pod: str) -> None:
        """Wait until somebody began to pull results out of a pod."""
        assert self._asked[pod].wait(60)

    def pods(self) -> list[Object]:
        return self.server.objects("Pod")

    def play_server(self, environment: EnvironmentPlan, ran: list[tuple[str, ...]]) -> None:
        """Have a pod of a server in which programs seem to run."""
        name = f"{naming.server_name(self.run_id, environment.slug)}-0"
        labels = servers.pod_labels(environment, run_id=self.run_id)
        self.server.put(ready_pod(name, labels=labels, container=servers.CONTAINER))
        pods = self._program

        def program(pod: str, container: str, argv: tuple[str, ...]) -> Sequence[str] | None:
            if pod != name:
                return pods(pod, container, argv)
            ran.append(argv)
            return ("true",)

        self.server.on_exec(program)

    def plan(self) -> Plan:
        data = self.anchor["data"]
        return suites.load_text(
            data["suite.yaml"],
            runner_arguments(data),
            name="suite.yaml",
            source="/suite/suite.yaml",
            scripts=data,
        )[1]

    # What controllers do.

    def _job_made(self, server: KubeServer, job: Object) -> None:
        del server
        if job["metadata"]["labels"][naming.ROLE_LABEL] != "runner" or "status" in job:
            return
        thread = threading.Thread(target=self.at_job, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _pod_made(self, server: KubeServer, pod: Object) -> None:
        if "status" not in pod:
            meta = pod["metadata"]
            container = pod["spec"]["containers"][0]["name"]
            made = ready_pod(meta["name"], container=container)
            server.change("Pod", meta["name"], {"status": made["status"]})

    def _claim_made(self, server: KubeServer, claim: Object) -> None:
        if "status" not in claim:
            name = claim["metadata"]["name"]
            server.change("PersistentVolumeClaim", name, {"status": {"phase": "Bound"}})

    def _program(self, pod: str, container: str, argv: tuple[str, ...]) -> Sequence[str] | None:
        del container
        if argv[:2] != ("groundspeed", "send-results"):
            return None
        self._asked[pod].set()
        there = argv[2].replace(runner.RESULTS, str(self.results), 1)
        return (sys.executable, "-m", "groundspeed.cli.main", "send-results", there)

    def close(self) -> None:
        for thread in self._threads:
            thread.join()


def runner_arguments(data: dict[str, str]) -> list[str]:
    return list(json.loads(data[runner.ARGUMENTS_KEY]))


def storage_class(name: str, *, is_default: bool = False) -> Object:
    meta: dict[str, Any] = {"name": name}
    if is_default:
        meta["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": meta,
        "provisioner": "example.com/disk",
    }
