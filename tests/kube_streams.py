"""Answers that come bit by bit, of the API server of `kube_server`: watches, logs, programs.

And lists, which choose what they tell as watches do.
"""

from __future__ import annotations

import base64
import json
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests import kube_sockets
from tests.kube_fields import Object, RefusedError
from tests.kube_logs import moment_s
from tests.kube_store import Kind, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.kube_logs import Line
    from tests.kube_server import KubeServer


class Asked(NamedTuple):
    kind: Kind
    namespace: str
    name: str
    sub: str

    @property
    def place(self) -> Place:
        return Place(self.kind, self.namespace, self.name)

    @property
    def group(self) -> str:
        return self.kind.api_version.rpartition("/")[0]


class HangUpError(Exception):
    """The connection ends here, in the middle of whatever it is."""


class Streams(BaseHTTPRequestHandler):
    """The part of a connection that answers bit by bit."""

    kube: KubeServer

    def _send(
        self,
        body: Mapping[str, Any] | str,
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header(
            "Content-Type", "text/plain" if isinstance(body, str) else "application/json"
        )
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    # Lists and watches.

    def _list(self, asked: Asked, query: dict[str, str]) -> None:
        store = self.kube.store
        with store.changed:
            version, start = store.version, 0
            if "continue" in query:
                version, start = json.loads(base64.b64decode(query["continue"]))
                if version < store.oldest:
                    message = (
                        "The provided continue parameter is too old to display a consistent list"
                    )
                    raise RefusedError(410, "Expired", message)
            chosen = _chooser(query)
            found = [
                each for each in store.all(asked.kind, asked.namespace or None) if chosen(each)
            ]
        limit = int(query.get("limit") or 0) or len(found) or 1
        page, meta = found[start : start + limit], {"resourceVersion": str(version)}
        if start + limit < len(found):
            token = json.dumps([version, start + limit]).encode()
            meta["continue"] = base64.b64encode(token).decode()
        # Items do not say what they are, unless they come of a CustomResourceDefinition.
        if "." not in asked.group or asked.group.endswith(".k8s.io"):
            page = [{k: v for k, v in p.items() if k not in ("apiVersion", "kind")} for p in page]
        self._send(
            {
                "kind": f"{asked.kind.kind}List",
                "apiVersion": asked.kind.api_version,
                "metadata": meta,
                "items": page,
            }
        )

    def _watch(self, asked: Asked, query: dict[str, str]) -> None:
        store, limit_s = self.kube.store, float(query.get("timeoutSeconds") or 3600)
        until_s = time.monotonic() + limit_s
        inside = _chooser(query)
        version, round_ = int(query.get("resourceVersion") or store.version), self.kube.watch_round

        def chosen(obj: Object) -> bool:
            return asked.namespace in ("", obj["metadata"].get("namespace")) and inside(obj)

        self._begin_chunks("application/json")
        while True:
            with store.changed:
                try:
                    events = store.since(version, asked.kind, chosen)
                except RefusedError as refused:
                    self._chunk(_line({"type": "ERROR", "object": refused.status}))
                    break
                left_s = until_s - time.monotonic()
                if not events and left_s > 0 and self._goes_on(round_):
                    store.changed.wait(min(left_s, self.kube.bookmark_every_s))
                    events = store.since(version, asked.kind, chosen)
                newest = store.version
            if not self._goes_on(round_):
                raise HangUpError
            for event in events:
                self._chunk(_line(event))
            if not events and query.get("allowWatchBookmarks") and newest > version:
                meta = {"resourceVersion": str(newest)}
                said = {"kind": asked.kind.kind, "apiVersion": asked.kind.api_version}
                self._chunk(_line({"type": "BOOKMARK", "object": {**said, "metadata": meta}}))
            version = newest
            if left_s <= 0:
                break
        self._end_chunks()

    def _goes_on(self, round_: int) -> bool:
        return round_ == self.kube.watch_round and not self.kube.is_closing

    def _begin_chunks(self, content: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _end_chunks(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    # Logs and programs.

    def _log(self, asked: Asked, query: dict[str, str]) -> None:
        pod = self.kube.store.must(asked.place)
        container = query.get("container", "")
        self._check_container(pod, container)
        key = (asked.namespace, asked.name, container)
        has_started = pod.get("status", {}).get("phase") in ("Running", "Succeeded", "Failed")
        if self.kube.logs.lines(key) is None and not has_started:
            what = f'container "{container}" in pod "{asked.name}"'
            raise RefusedError(400, "BadRequest", f"{what} is waiting to start: ContainerCreating")
        since_s = int(moment_s(query["sinceTime"])) if "sinceTime" in query else 0.0
        stamped = query.get("timestamps") == "true"
        self._begin_chunks("text/plain")
        told = 0
        while True:
            with self.kube.store.changed:
                # Copied: what comes while these are told is told the next time.
                lines = list(self.kube.logs.lines(key) or ())
                is_over = self._is_log_over(asked, key, query)
                if told == len(lines) and not is_over:
                    self.kube.store.changed.wait(1.0)
                    lines = list(self.kube.logs.lines(key) or ())
            self._tell([line for line in lines[told:] if line.at_s >= since_s], stamped=stamped)
            told = len(lines)
            if self.kube.is_closing:
                raise HangUpError
            if is_over:
                break
        self._end_chunks()

    def _tell(self, lines: list[Line], *, stamped: bool) -> None:
        data = b"".join(line.stamped() if stamped else line.text for line in lines)
        if data:
            self._chunk(data)

    def _is_log_over(self, asked: Asked, key: tuple[str, str, str], query: dict[str, str]) -> bool:
        pod = self.kube.store.get(asked.place)
        phase = (pod or {}).get("status", {}).get("phase")
        is_followed = query.get("follow") == "true"
        is_done = pod is None or phase in ("Succeeded", "Failed") or self.kube.logs.is_ended(key)
        return not is_followed or is_done

    def _check_container(self, pod: Object, container: str) -> None:
        known = [each["name"] for each in pod.get("spec", {}).get("containers", ())]
        if container not in known:
            raise RefusedError(
                400,
                "BadRequest",
                f"container {container} is not valid for pod {pod['metadata']['name']}",
            )

    def _exec(self, asked: Asked) -> None:
        pod = self.kube.store.must(asked.place)
        query = parse_qsl(urlsplit(self.path).query, keep_blank_values=True)
        container = dict(query).get("container", "")
        self._check_container(pod, container)
        offered = [p.strip() for p in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        protocol = next((p for p in self.kube.exec_protocols if p in offered), None)
        if protocol is None:
            raise RefusedError(400, "BadRequest", "unable to upgrade: no protocol in common")
        self.send_response(101, "Switching Protocols")
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        key = self.headers["Sec-WebSocket-Key"]
        self.send_header("Sec-WebSocket-Accept", kube_sockets.accepting(key))
        self.send_header("Sec-WebSocket-Protocol", protocol)
        self.end_headers()
        self.close_connection = True
        self._run_program(asked.name, container, query)

    def _run_program(self, pod: str, container: str, query: list[tuple[str, str]]) -> None:
        argv = tuple(value for name, value in query if name == "command")
        sock = kube_sockets.Socket(self.rfile, self.connection)
        local = self.kube.programs(pod, container, argv) if self.kube.programs else None
        if local is None:
            sock.send(kube_sockets.cannot_start(argv[0]))
            sock.goodbye()
            return
        running = kube_sockets.Running(local, sock, has_input=("stdin", "true") in query)
        self.kube.running.add((pod, running))
        try:
            running.relay()
        finally:
            self.kube.running.discard((pod, running))


def _line(event: Object) -> bytes:
    return json.dumps(event).encode() + b"\n"


def _chooser(query: dict[str, str]) -> Callable[[Object], bool]:
    labels = [each.split("=", 1) for each in query.get("labelSelector", "").split(",") if each]
    fields = [each.split("=", 1) for each in query.get("fieldSelector", "").split(",") if each]
    for path, _ in fields:
        if not path.startswith(("metadata.", "involvedObject.", "status.phase", "spec.nodeName")):
            raise RefusedError(400, "BadRequest", f"field label not supported: {path}")

    def chosen(obj: Object) -> bool:
        has = obj["metadata"].get("labels") or {}
        return all(has.get(key) == value for key, value in labels) and all(
            _field(obj, path) == value for path, value in fields
        )

    return chosen


def _field(obj: Object, path: str) -> str:
    found: Any = obj
    for key in path.split("."):
        found = (found or {}).get(key)
    return str(found or "")
