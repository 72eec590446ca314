"""A Kubernetes API server in this process, for tests through the real `kube.client.Client`.

    with KubeServer() as server:                  # KubeServer(cnpg=True) also knows Cluster
        with server.client() as api:              # the real client, on a kubeconfig it writes
            api.apply(config_map)

It keeps objects, answers as the real one does, and plays no controller: a StatefulSet makes no pod,
a Job never finishes, a claim stays as it was put. Tests play them:

    server.on_apply("StatefulSet", make_its_pod)  # callback(server, object), after each write over
                                                  # HTTP (create, apply, patch) of that kind
    server.on_delete("Pod", callback)             # callback(server, object), once it is gone
    server.put(pod)                               # create or replace, with status; watches see it
    server.change("Pod", "name", {"status": {"phase": "Running"}})     # merged into what is there
    server.remove("Pod", "name")                  # as DELETE: finalizers, garbage collection
    ready_pod(name, labels=..., owner=...)        # a Pod as it is when it is ready

What is there, by kind and name (`namespace=` where it is not the server's own):

    server.object("Pod", "name") -> dict | None
    server.objects("Pod") -> list[dict]           # of all namespaces; objects() is everything
    server.requests -> list[Request]              # method, path, query, body of every one so far
    server.writes -> list[str]                    # "apply ConfigMap/name", in order: create, apply,
                                                  # patch, delete; dry runs are not among them

    server.serve("/api/v1/nodes/node-1/proxy/configz", {...})     # what Api.read is answered with

What goes wrong:

    server.fail_next("GET", r"/pods", 503, times=2, headers={"Retry-After": "1"})
    server.fail_next("PATCH", r"/statefulsets/", 422, body=status_object)   # or drop=True: hang up
    server.deny("create", "pods/exec")            # 403, and SelfSubjectAccessReview says no;
                                                  # group="", namespace=None: in any; verb "*"
    server.disconnect_watches()                   # their connections end, as a proxy does it
    server.expire_versions()                      # versions known so far answer 410 Gone
    server.close()                                # nothing listens any more (again: no harm)

Logs and programs:

    server.write_log("pod", b"line\n", container="runner")    # follow sees it; made when missing
    server.end_log("pod", container="runner")     # followers end; so they do when the pod is gone
    server.on_exec(callback)                      # callback(pod, container, argv) -> argv of a
                                                  # local program that runs in its place
    server.cut_programs()                         # the connections to them are lost

What it knows: v1 (Pod, PersistentVolumeClaim, PersistentVolume, Secret, ConfigMap, Service,
ServiceAccount, Event, Node, Namespace), apps/v1 StatefulSet, batch/v1 Job, RBAC, storage.k8s.io/v1
StorageClass, coordination.k8s.io/v1 Lease, SelfSubjectAccessReview; with cnpg=True
postgresql.cnpg.io/v1 Cluster. Namespaces there from the start: `bench` (the client's own), `other`.
Nothing is validated against a schema, except that a name and a namespace must be there: what the
real server says of manifests is for its own dry run to tell.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml

from groundspeed.kube.client import Client
from groundspeed.kube.connecting import find_connection
from tests.kube_answers import Handler
from tests.kube_failing import Denials, Failure, Failures
from tests.kube_fields import Object, merged
from tests.kube_logs import Logs
from tests.kube_store import CNPG, KINDS, Kind, Place, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from socket import socket

    from tests.kube_answers import Request
    from tests.kube_sockets import Running

    Played = Callable[["KubeServer", Object], object]
    Programs = Callable[[str, str, tuple[str, ...]], Sequence[str] | None]


class KubeServer:
    """See the module's first lines."""

    def __init__(self, *, cnpg: bool = False, namespace: str = "bench") -> None:
        self.namespace = namespace
        self.token = "first-token"
        self.version = "v1.34.4"
        self.exec_protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"]
        self.bookmark_every_s = 1.0
        self.store = Store()
        self.logs = Logs(self.store.changed)
        self.failures = Failures()
        self.denials = Denials()
        self.kinds: list[Kind] = [*KINDS, *([CNPG] if cnpg else [])]
        self.requests: list[Request] = []
        self.writes: list[str] = []
        self.watch_round = 0
        self.is_closing = False
        self.programs: Programs | None = None
        self.running: set[tuple[str, Running]] = set()
        self.served: dict[str, Any] = {}
        self._on_apply: list[tuple[str, Played]] = []
        self._on_delete: list[tuple[str, Played]] = []
        self._broken: list[BaseException] = []
        self._directory = tempfile.TemporaryDirectory()
        self._clients: list[Client] = []
        self._http = _Http(("127.0.0.1", 0), Handler)
        self._http.kube = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        for name in (namespace, "other", "kube-system", "default"):
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self._broken:
            raise self._broken[0]

    def close(self) -> None:
        """Stop listening, and end what is connected."""
        if self.is_closing:
            return
        self.is_closing = True
        for client in self._clients:
            client.close()
        for _, running in list(self.running):
            running.kill()
        with self.store.changed:
            self.store.changed.notify_all()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.hang_up()
        self._http.server_close()
        self._directory.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def kubeconfig(self, path: Path | None = None, *, context: str = "lab") -> Path:
        """Write a kubeconfig with the token that is valid now."""
        found = path or Path(self._directory.name) / "kubeconfig"
        named = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context,
            "clusters": [{"name": "here", "cluster": {"server": self.url}}],
            "users": [{"name": "tester", "user": {"token": self.token}}],
            "contexts": [
                {
                    "name": context,
                    "context": {"cluster": "here", "user": "tester", "namespace": self.namespace},
                }
            ],
        }
        # Others may read it at the same time.
        written = Path(self._directory.name) / f"new-{threading.get_ident()}"
        written.write_text(yaml.safe_dump(named))
        shutil.move(written, found)
        return found

    def client(self, *, namespace: str | None = None, **options: Callable[..., Any]) -> Client:
        """Connect the real client; `options` are its clock. It is closed with the server."""
        connection = find_connection(kubeconfig=str(self.kubeconfig()), namespace=namespace)
        self._clients.append(Client(connection, **options))
        return self._clients[-1]

    # What is there.

    def place(self, kind: str, name: str, namespace: str | None = None) -> Place:
        found = next(each for each in self.kinds if each.kind == kind)
        return Place(found, (namespace or self.namespace) if found.is_namespaced else "", name)

    def object(self, kind: str, name: str, *, namespace: str | None = None) -> Object | None:
        return self.store.get(self.place(kind, name, namespace))

    def objects(self, kind: str | None = None) -> list[Object]:
        """Of all namespaces; without a kind everything but the namespaces themselves."""
        if kind is None:
            return [each for each in self.store.all() if each["kind"] != "Namespace"]
        return self.store.all(self.place(kind, "").kind)

    # What controllers and people do.

    def put(self, obj: Object) -> Object:
        meta = obj["metadata"]
        return self.store.put(self.place(obj["kind"], meta["name"], meta.get("namespace")), obj)

    def change(
        self, kind: str, name: str, change: Mapping[str, Any], *, namespace: str | None = None
    ) -> Object:
        place = self.place(kind, name, namespace)
        with self.store.changed:
            return self.store.put(place, merged(self.store.must(place), change))

    def remove(self, kind: str, name: str, *, namespace: str | None = None) -> None:
        place = self.place(kind, name, namespace)
        self.gone(self.store.delete(place))

    def on_apply(self, kind: str, callback: Played) -> None:
        self._on_apply.append((kind, callback))

    def on_delete(self, kind: str, callback: Played) -> None:
        self._on_delete.append((kind, callback))

    def on_exec(self, callback: Programs) -> None:
        self.programs = callback

    def serve(self, path: str, body: Mapping[str, Any] | str) -> None:
        self.served[path] = body

    def written(self, obj: Object) -> None:
        """Play the controllers of a kind that was written; called by what answers requests."""
        self._play(self._on_apply, obj)

    def gone(self, obj: Object) -> None:
        """End what a pod that is gone had open, and play the controllers of its kind."""
        meta = obj["metadata"]
        if self.object(obj["kind"], meta["name"], namespace=meta.get("namespace")) is not None:
            return
        if obj["kind"] == "Pod":
            for pod, running in list(self.running):
                if pod == meta["name"]:
                    running.kill()
        self._play(self._on_delete, obj)

    def _play(self, callbacks: list[tuple[str, Played]], obj: Object) -> None:
        for kind, callback in callbacks:
            if kind != obj["kind"]:
                continue
            try:
                callback(self, obj)
            except Exception as error:  # noqa: BLE001 - told where the test can see it
                self._broken.append(error)

    # What goes wrong.

    def fail_next(  # noqa: PLR0913 - an answer has many parts
        self,
        method: str,
        path: str,
        status: int = 500,
        *,
        body: Mapping[str, Any] | str | None = None,
        times: int = 1,
        headers: Mapping[str, str] | None = None,
        drop: bool = False,
    ) -> None:
        self.failures.add(Failure(method, path, status, body, times, dict(headers or {}), drop))

    def deny(
        self, verb: str, resource: str, *, group: str = "", namespace: str | None = None
    ) -> None:
        self.denials.add(verb, resource, group, namespace)

    def disconnect_watches(self) -> None:
        with self.store.changed:
            self.watch_round += 1
            self.store.changed.notify_all()

    def expire_versions(self) -> None:
        """Forget the history; watches that go on have to be told of it by a disconnect."""
        with self.store.changed:
            self.store.version += 1
            self.store.oldest = self.store.version

    def cut_programs(self) -> None:
        for _, running in list(self.running):
            running.cut()

    # Logs.

    def write_log(
        self,
        pod: str,
        data: bytes,
        *,
        container: str,
        namespace: str | None = None,
        time_s: float | None = None,
    ) -> None:
        """Write whole lines, as of now or a time since 1970."""
        at_s = time.time() if time_s is None else time_s
        self.logs.write((namespace or self.namespace, pod, container), data, at_s)

    def end_log(self, pod: str, *, container: str, namespace: str | None = None) -> None:
        self.logs.end((namespace or self.namespace, pod, container))


class _Http(ThreadingHTTPServer):
    """Knows its connections, to end them all."""

    daemon_threads = False
    block_on_close = True
    kube: KubeServer

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket] = set()

    def process_request(self, request: socket, client_address: object) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: socket, client_address: object) -> None:  # noqa: ARG002 - theirs
        """Clients that hang up in the middle are part of the tests; a mistake of ours is told."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.kube._broken.append(error)

    def hang_up(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(2)


def ready_pod(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    owner: Object | None = None,
    container: str = "main",
    node: str = "node-1",
) -> Object:
    """A pod as it is when its one container is ready; `owner` is the object it belongs to."""
    meta: Object = {"name": name, "labels": dict(labels or {})}
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"nodeName": node, "containers": [{"name": container, "image": "example"}]},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [
                {"type": kind, "status": "True"}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": container,
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "state": {"running": {}},
                }
            ],
        },
    }
