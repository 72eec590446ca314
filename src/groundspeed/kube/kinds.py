"""Which kinds of objects an API server knows, and under which paths they are found."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from groundspeed.kube.api import KubeError
from groundspeed.kube.refusals import NOT_FOUND, Asked
from groundspeed.kube.wire import Request

if TYPE_CHECKING:
    from groundspeed.kube.wire import Wire


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind, as the server says of it."""

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """Tell where an object of this kind is, or all of them; `namespace` None: in every one."""
        inside = f"/namespaces/{quote(namespace)}" if namespace and self.is_namespaced else ""
        parts = [f"{_root(self.api_version)}{inside}", self.plural, quote(name), subresource]
        return "/".join(part for part in parts if part)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


class Kinds:
    """The kinds a server knows. Asked once for each group; again when one is missing.

    A kind may come while we look: with the operator that somebody installs because of our message.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Kind]] = {}

    def find(self, api_version: str, kind: str) -> Kind | None:
        """Find a kind; None when the server does not know it. Raises KubeError."""
        with self._lock:
            known = self._known.get(api_version, {})
        if kind not in known:
            known = self._ask(api_version)
            with self._lock:
                self._known[api_version] = known
        return known.get(kind)

    def get(self, api_version: str, kind: str) -> Kind:
        """Find a kind that has to be there. Raises KubeError when it is not."""
        found = self.find(api_version, kind)
        if found is None:
            raise KubeError(
                f"the API server of {self._wire.cluster} knows no {kind} of {api_version}",
                "the operator that brings it is not installed; kubectl api-resources lists all",
                status=NOT_FOUND,
            )
        return found

    def _ask(self, api_version: str) -> dict[str, Kind]:
        asked = Asked(verb="read", what=f"the kinds of {api_version}")
        request = Request(method="GET", path=_root(api_version), asked=asked, is_repeatable=True)
        try:
            found = self._wire.ask_json(request)
        except KubeError as error:
            if error.status == NOT_FOUND:
                return {}
            raise
        return {
            each["kind"]: Kind(
                api_version=api_version,
                kind=each["kind"],
                plural=each["name"],
                is_namespaced=bool(each.get("namespaced")),
            )
            for each in found.get("resources") or ()
            # Subresources (pods/log, deployments/scale) are listed with kinds of their own.
            if "/" not in each["name"]
        }
