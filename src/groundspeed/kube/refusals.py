"""What an API server answers when it refuses, as one line of what and one line of what to do.

The texts that are looked for are those of Kubernetes 1.34; where one reads otherwise the server's
own words are shown. It asks nothing and retries nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from groundspeed.kube.api import KubeError

# Statuses by which a server says: not now.
TOO_MANY = 429
MOMENTARY = frozenset({TOO_MANY, 500, 502, 503, 504})
NOT_FOUND = 404
CONFLICT = 409
GONE = 410
NOT_ALLOWED = 403
NOT_LOGGED_IN = 401
_LONGEST_MESSAGE = 400


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for, in words: a verb of RBAC, and what of which namespace."""

    verb: str
    what: str
    namespace: str | None = None
    cluster: str = ""


def status_of(body: bytes) -> dict[str, Any]:
    """Read the Status that came as an answer; where it is another text, that is its message."""
    try:
        found = json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace")}
    return found if isinstance(found, dict) else {"message": str(found)}


def is_momentary(code: int, status: dict[str, Any]) -> bool:
    """Tell whether the same request may be answered otherwise a little later."""
    # A manifest with a field that nobody knows is answered with 500 by server-side apply.
    return code in MOMENTARY and "failed to create typed patch object" not in _message(status)


def refusal(code: int, status: dict[str, Any], asked: Asked) -> KubeError:
    """Say what a server meant by an answer that is no success."""
    message = _message(status)
    for look in (_webhook, _admission, _by_code):
        found = look(code, message, status, asked)
        if found is not None:
            return KubeError(one_line(found[0]), one_line(found[1]), status=code)
    return KubeError(
        one_line(f"the API server answered {code} to {asked.verb} {asked.what}: {message}"),
        "its log, or whoever runs the cluster, may know more",
        status=code,
    )


def one_line(text: str) -> str:
    """Make one line of a text, without a full stop, and of a bearable length."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 3]}..."


_Line = tuple[str, str] | None


def _search(pattern: str, message: str) -> re.Match[str] | None:
    # Some servers write of several things in several lines.
    return re.search(pattern, message, re.DOTALL)


def _message(status: dict[str, Any]) -> str:
    return str(status.get("message") or "")


def _webhook(_code: int, message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    if found := _search(r'admission webhook "([^"]+)" denied the request:? ?(.*)', message):
        return (
            f"admission webhook {found[1]} refuses {asked.what}: {found[2] or 'without a reason'}",
            "it is a rule of this cluster; whoever runs it knows what it asks for",
        )
    if found := _search(r'failed calling webhook "([^"]+)": (.*)', message):
        return (
            f"admission webhook {found[1]} of this cluster does not work: {found[2]}",
            "look at the operator it belongs to: its pods, its service, its certificate",
        )
    if found := _search(r"ValidatingAdmissionPolicy '([^']+)'.* denied request: (.*)", message):
        return (
            f"admission policy {found[1]} refuses {asked.what}: {found[2]}",
            "it is a rule of this cluster; whoever runs it knows what it asks for",
        )
    return None


def _admission(code: int, message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    if code != NOT_ALLOWED:
        return None
    if found := _search(r"exceeded quota: (.*)", message):
        return (
            f"the quota of namespace {asked.namespace} has no room for {asked.what}: {found[1]}",
            f"kubectl describe quota -n {asked.namespace} shows it; ask for less, or use another",
        )
    if found := _search(r'violates PodSecurity "([^"]+)": (.*)', message):
        where = f"Pod Security {found[1]} of namespace {asked.namespace}"
        return (
            f"{where} refuses {asked.what}: {found[2]}",
            f"kubectl get namespace {asked.namespace} --show-labels shows its level",
        )
    if "is being terminated" in message:
        return (
            f"namespace {asked.namespace} is being deleted, nothing can be made in it",
            "wait until it is gone, or name another one with --namespace",
        )
    return None


def _by_code(code: int, message: str, status: dict[str, Any], asked: Asked) -> _Line:
    by_code = {
        400: _wrong,
        NOT_LOGGED_IN: _not_logged_in,
        NOT_ALLOWED: _not_allowed,
        NOT_FOUND: _not_found,
        CONFLICT: _conflict,
        422: _invalid,
        500: _unknown_field,
    }
    look = by_code.get(code)
    return look(message, status, asked) if look else None


def _wrong(message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    if found := _search(r'container "([^"]+)" in pod .* is waiting to start: (.*)', message):
        return (
            f"container {found[1]} of {asked.what} has not started yet: {found[2]}",
            f"kubectl describe {asked.what} shows what it waits for",
        )
    if found := _search(r"container (\S+) is not valid for pod", message):
        return (f"{asked.what} has no container {found[1]}", "kubectl get pod -o yaml names them")
    return (f"the API server refuses to {asked.verb} {asked.what}: {message}", "see its message")


def _not_logged_in(_message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    return (
        f"the API server{_of(asked)} does not accept these credentials (401)",
        "they may have expired: log in to the cluster again; kubectl auth whoami shows who you are",
    )


def _of(asked: Asked) -> str:
    return f" of {asked.cluster}" if asked.cluster else ""


def _not_allowed(message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    found = re.search(
        r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<what>[^"]*)"'
        r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<where>[^"]*)")?',
        message,
    )
    if found is None:
        return (
            f"not allowed to {asked.verb} {asked.what}{_where(asked.namespace)}: {message}",
            "groundspeed k8s rights prints what is needed",
        )
    group = f".{found['group']}" if found["group"] else ""
    where = _where(found["where"]) or ", which belong to the whole cluster"
    return (
        f"{found['user']} may not {found['verb']} {found['what']}{group}{where}",
        "groundspeed k8s rights prints what is needed; who runs the cluster can apply it",
    )


def _where(namespace: str | None) -> str:
    return f" in namespace {namespace}" if namespace else ""


def _not_found(message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    if found := re.search(r'namespaces "([^"]+)" not found', message):
        return (
            f"there is no namespace {found[1]}",
            f"kubectl create namespace {found[1]} makes it; --namespace names another one",
        )
    return (
        f"there is no {asked.what}{_where(asked.namespace)}",
        "kubectl get shows what is there",
    )


def _conflict(message: str, status: dict[str, Any], asked: Asked) -> _Line:
    causes = [
        cause
        for cause in (status.get("details") or {}).get("causes") or ()
        if cause.get("reason") == "FieldManagerConflict"
    ]
    if causes:
        owner = re.search(r'conflict with "([^"]+)"', str(causes[0].get("message")))
        fields = ", ".join(str(cause.get("field")) for cause in causes[:3])
        who = owner[1] if owner else "another"
        return (
            f"{fields} of {asked.what} was set by {who}, and is not taken from it",
            f"kubectl get {asked.what} --show-managed-fields -o yaml shows who owns what",
        )
    if status.get("reason") == "AlreadyExists":
        return (
            f"there is a {asked.what}{_where(asked.namespace)} already",
            "it may belong to another run: look at its labels",
        )
    return (
        f"{asked.what} was changed by another at the same time: {message}",
        "try again; it is as it was",
    )


def _invalid(message: str, status: dict[str, Any], asked: Asked) -> _Line:
    causes = (status.get("details") or {}).get("causes") or ()
    if not causes:
        return (f"the API server refuses {asked.what}: {message}", "look at its manifest")
    first = causes[0]
    further = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    what = f"{first.get('field')}: {first.get('message')}{further}"
    return (
        f"the API server refuses {asked.what}: {what}",
        "kubectl explain tells what a field may be",
    )


def _unknown_field(message: str, _status: dict[str, Any], asked: Asked) -> _Line:
    found = _search(r"failed to create typed patch object \([^)]*\): (.*)", message)
    if found is None:
        return None
    return (
        f"the API server refuses {asked.what}: {found[1]}",
        "its version may be older than this field; kubectl explain tells what it knows",
    )
