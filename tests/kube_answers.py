"""What the API server of `kube_server` answers over HTTP."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.kube_fields import Object, RefusedError
from tests.kube_store import Kind, missing
from tests.kube_streams import Asked, HangUpError, Streams

_PATH = re.compile(
    r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+/[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"(?:/(?P<plural>[^/]+))?(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)
_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    body: Any


class Handler(Streams):
    """One connection."""

    protocol_version = "HTTP/1.1"
    # Without it a small answer waits for the other side to acknowledge the one before.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.kube = self.server.kube  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:  # noqa: N802 - so it has to be called
        self._handle()

    do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815 - so they have to be called

    def _handle(self) -> None:
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        request = Request(self.command, url.path, query, json.loads(raw) if raw else None)
        self.kube.requests.append(request)
        try:
            self._answer_or_fail(request)
        except RefusedError as refused:
            self._send(refused.status, refused.code)
        except HangUpError:
            self.close_connection = True
            self.connection.shutdown(2)

    def _answer_or_fail(self, request: Request) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.kube.token}":
            raise RefusedError(401, "Unauthorized", "Unauthorized")
        failure = self.kube.failures.take(self.command, self.path)
        if failure is None:
            self._answer(request)
            return
        if failure.drop:
            raise HangUpError
        asked_for = RefusedError(failure.status, "Failed", "a failure that was asked for").status
        self._send(failure.body or asked_for, failure.status, failure.headers)

    def _answer(self, request: Request) -> None:
        if request.path in self.kube.served:
            self._send(self.kube.served[request.path])
            return
        if request.path == "/version":
            self._send({"major": "1", "minor": "34", "gitVersion": self.kube.version})
            return
        if request.path.endswith("/selfsubjectaccessreviews"):
            self._send(self._review(request.body), 201)
            return
        found = _PATH.match(request.path)
        if found is None:
            self._send("404 page not found\n", 404)
            return
        api_version = found["core"] or found["group"]
        if found["plural"] is None:
            self._discover(api_version)
            return
        asked = self._asked(api_version, found)
        verb = self._verb(request, asked)
        resource = f"{asked.kind.plural}/{asked.sub}" if asked.sub else asked.kind.plural
        if asked.sub != "status":
            self.kube.denials.check(verb, resource, asked.group, asked.namespace, asked.name)
        self._carry_out(verb, asked, request)

    def _asked(self, api_version: str, found: re.Match[str]) -> Asked:
        kind = next(
            (
                each
                for each in self.kube.kinds
                if each.api_version == api_version and each.plural == found["plural"]
            ),
            None,
        )
        if kind is None:
            raise RefusedError(404, "NotFound", "the server could not find the requested resource")
        namespace = unquote(found["namespace"] or "")
        return Asked(kind, namespace, unquote(found["name"] or ""), found["sub"] or "")

    def _verb(self, request: Request, asked: Asked) -> str:
        if request.method == "GET":
            if asked.name:
                return "get"
            return "watch" if request.query.get("watch") in ("1", "true") else "list"
        return {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}[
            request.method
        ]

    def _discover(self, api_version: str) -> None:
        known = [kind for kind in self.kube.kinds if kind.api_version == api_version]
        if not known:
            self._send("404 page not found\n", 404)
            return
        resources = [
            {"name": kind.plural, "namespaced": kind.is_namespaced, "kind": kind.kind}
            for kind in known
        ]
        resources += [
            {"name": f"{kind.plural}/status", "namespaced": kind.is_namespaced, "kind": kind.kind}
            for kind in known
        ]
        self._send({"kind": "APIResourceList", "groupVersion": api_version, "resources": resources})

    def _review(self, body: Object) -> Object:
        of = body["spec"]["resourceAttributes"]
        resource = of["resource"] + (f"/{of['subresource']}" if of.get("subresource") else "")
        denied = self.kube.denials.is_denied(
            of["verb"], resource, of.get("group", ""), of.get("namespace", "")
        )
        return {**body, "status": {"allowed": not denied}}

    def _carry_out(self, verb: str, asked: Asked, request: Request) -> None:
        if asked.sub == "log":
            self._log(asked, request.query)
        elif asked.sub == "exec":
            self._exec(asked)
        elif verb == "get":
            self._send(self.kube.store.must(asked.place))
        elif verb == "list":
            self._list(asked, request.query)
        elif verb == "watch":
            self._watch(asked, request.query)
        elif verb == "delete":
            self._delete(asked, request)
        else:
            self._write(verb, asked, request)

    def _write(self, verb: str, asked: Asked, request: Request) -> None:
        body, query, store = request.body, request.query, self.kube.store
        manager, dry_run = query.get("fieldManager", "unknown"), query.get("dryRun") == "All"
        name = asked.name or body.get("metadata", {}).get("name", "")
        self._check_place(asked, body, name)
        place = asked.place._replace(name=name)
        is_apply = self.headers.get("Content-Type") == "application/apply-patch+yaml"
        status, word = 200, verb
        if verb == "create":
            found, status = store.create(place, body, manager, dry_run=dry_run), 201
        elif is_apply:
            word = "apply"
            status = 200 if store.get(place) else 201
            if status == 201:
                self.kube.denials.check(
                    "create", asked.kind.plural, asked.group, asked.namespace, name
                )
            force = query.get("force") == "true"
            found = store.apply(place, body, manager, force=force, dry_run=dry_run)
        else:
            found = store.patch(place, body, manager, asked.sub)
        if not dry_run:
            self.kube.writes.append(f"{word} {asked.kind.kind}/{name}")
            self.kube.written(found)
        self._send(found, status)

    def _check_place(self, asked: Asked, body: Object, name: str) -> None:
        kind = asked.kind
        if not _NAME.match(name):
            said = f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of ...'
            said = said if name else "Required value: name or generateName is required"
            cause = {"reason": "FieldValueInvalid", "message": said, "field": "metadata.name"}
            message = f'{kind.kind} "{name}" is invalid: metadata.name: {said}'
            raise RefusedError(422, "Invalid", message, kind=kind.kind, causes=[cause])
        inside = body.get("metadata", {}).get("namespace")
        if kind.is_namespaced and inside not in (None, asked.namespace):
            message = (
                "the namespace of the provided object does not match the namespace sent on the"
            )
            raise RefusedError(400, "BadRequest", f"{message} request")
        namespaces = {each["metadata"]["name"] for each in self.kube.objects("Namespace")}
        if kind.is_namespaced and asked.namespace not in namespaces:
            raise missing(Kind("v1", "Namespace", "namespaces"), asked.namespace)

    def _delete(self, asked: Asked, request: Request) -> None:
        body = request.body or {}
        uid = (body.get("preconditions") or {}).get("uid")
        found = self.kube.store.delete(
            asked.place, uid=uid, orphan=body.get("propagationPolicy") == "Orphan"
        )
        self.kube.writes.append(f"delete {asked.kind.kind}/{asked.name}")
        self.kube.gone(found)
        self._send({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
