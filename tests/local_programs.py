"""Pods of load generators that are processes of this machine, as far as they need `kube.api`."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming
from groundspeed.manifests.naming import ref_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from groundspeed.kube.api import Change, Program
    from groundspeed.manifests.naming import Object, Ref

GROUNDSPEED = (sys.executable, "-m", "groundspeed.cli.main")
_PIECE_BYTES = 65536


class LocalProgram:
    """Implements `kube.api.Program` with a process and its pipes."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self._errors = bytearray()
        # Nobody reads a pod's standard error either before it is asked for.
        self._reading = threading.Thread(target=self._read_errors, daemon=True)
        self._reading.start()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while piece := os.read(self.process.stderr.fileno(), _PIECE_BYTES):
            self._errors += piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise KubeError("the connection is lost", "it has ended") from None

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def receive(self, limit_s: float) -> bytes | None:
        assert self.process.stdout is not None
        if self.process.stdout.closed:
            return None
        if not select.select([self.process.stdout], [], [], limit_s)[0]:
            return b""
        piece = os.read(self.process.stdout.fileno(), _PIECE_BYTES)
        if piece:
            return piece
        self.process.wait()
        self._reading.join()
        return None

    @property
    def errors(self) -> bytes:
        return bytes(self._errors)

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    def close(self) -> None:
        """Hang up, as a runner does that dies; the program is waited for, not ended."""
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
        self.process.wait()
        self._reading.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


class LocalPods:
    """Implements what `targets.generators` asks of `kube.api.Api`: a Job whose pods are processes.

    `own` gives the command and the environment of a pod's program by its number, where a test wants
    another one than a generator of this groundspeed.
    """

    namespace = "here"

    def __init__(
        self,
        run_id: str,
        count: int,
        state: Path,
        *,
        own: Callable[[int], tuple[Sequence[str], Mapping[str, str]]] | None = None,
    ) -> None:
        self._own = own
        self._state = state
        self.applied: list[Object] = []
        self.opened: list[LocalProgram] = []
        self.pods = [_pod(run_id, number) for number in range(count)]

    def get(self, ref: Ref) -> Object | None:
        return next((obj for obj in (*self.applied, *self.pods) if ref_of(obj) == ref), None)

    def apply(self, obj: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        self.applied.append(obj)
        return obj

    def delete(self, ref: Ref, **_: object) -> bool:
        before = len(self.applied)
        self.applied = [obj for obj in self.applied if ref_of(obj) != ref]
        return len(self.applied) < before

    def list(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[Object]:
        del namespace, fields
        there = [p for p in self.pods if (p["apiVersion"], p["kind"]) == (api_version, kind)]
        wanted = (labels or {}).items()
        return [pod for pod in there if wanted <= pod["metadata"]["labels"].items()]

    def watch(self, *_: object, **__: object) -> Iterator[Change]:
        raise AssertionError("all pods are ready, there is nothing to wait for")

    def open(self, pod: str, container: str, argv: Sequence[str]) -> Program:
        assert container == "generator"
        assert argv[0] == "groundspeed"
        number = [p["metadata"]["name"] for p in self.pods].index(pod)
        command: Sequence[str] = (*GROUNDSPEED, *argv[1:])
        environment: Mapping[str, str] = {}
        if self._own is not None:
            command, environment = self._own(number)
        places = {
            "GROUNDSPEED_STATE_DIR": str(self._state),
            "POD_NAME": pod,
            "NODE_NAME": self.pods[number]["spec"]["nodeName"],
        }
        program = LocalProgram(command, {**places, **environment})
        self.opened.append(program)
        return program


def job_of(run_id: str) -> dict[str, Any]:
    """The Job of the generators, as far as anybody looks at it."""
    name = f"{naming.run_name(run_id)}-load"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "here", "labels": {}},
    }


def _pod(run_id: str, number: int) -> dict[str, Any]:
    labels = naming.labels(run_id, "generator")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"load-{number}",
            "namespace": "here",
            "uid": f"uid-{number}",
            "resourceVersion": "1",
            "labels": {**labels, "batch.kubernetes.io/job-completion-index": str(number)},
        },
        "spec": {"nodeName": f"node-{number}", "containers": [{"name": "generator"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"name": "generator", "ready": True, "state": {"running": {}}, "restartCount": 0}
            ],
        },
    }
