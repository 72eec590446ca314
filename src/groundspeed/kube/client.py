"""The API server itself, through the official client; see `kube.api.Api` for what is promised.

Objects are dictionaries as the server has them. Rejected: the typed models of the client, which
drop fields of servers that are newer than they, and its dynamic client, which caches the kinds of a
cluster in a file that all versions share.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from groundspeed.kube.api import KubeError
from groundspeed.kube.connecting import find_connection
from groundspeed.kube.kinds import Kinds
from groundspeed.kube.listing import list_all, narrowed
from groundspeed.kube.pod_calls import PodCalls
from groundspeed.kube.refusals import NOT_FOUND, Asked
from groundspeed.kube.watching import Watched, watch
from groundspeed.kube.wire import APPLY_PATCH, JSON, MERGE_PATCH, Request, Wire
from groundspeed.manifests.naming import MANAGER, Object, Ref, ref_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from groundspeed.kube.api import Change
    from groundspeed.kube.connecting import Connection
    from groundspeed.kube.kinds import Kind


def connect(
    *, context: str | None = None, namespace: str | None = None, kubeconfig: str | None = None
) -> Client:
    """Connect to the cluster of a context of the kubeconfig, or that of the pod we are in.

    Nothing is asked yet. `namespace` is that of the context when None; `kubeconfig` is a path, that
    of KUBECONFIG or ~/.kube/config when None. Raises TargetError when no cluster is configured.
    """
    return Client(find_connection(context=context, namespace=namespace, kubeconfig=kubeconfig))


class Client(PodCalls):
    """A Kubernetes API server, as one user in one namespace. A context manager.

    It may be used by several threads at once: a watch in one and calls in others. Requests share a
    pool of connections, each request has one of its own while it lasts. Programs are for one thread
    at a time each.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        wire = Wire(connection, now_s=now_s, sleep=sleep)
        super().__init__(wire, connection.namespace)
        self._kinds = Kinds(wire)

    def __enter__(self) -> Self:
        """Use it; its connections are closed with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its connections."""
        self.close()

    def close(self) -> None:
        """Close its connections; a later call opens them again."""
        self._wire.close()

    def server_version(self) -> str:
        """Ask the version of the API server, as in 1.34.4."""
        asked = Asked(verb="read", what="the version")
        found = self._wire.ask_json(
            Request(method="GET", path="/version", asked=asked, is_repeatable=True)
        )
        return str(found.get("gitVersion", "")).removeprefix("v")

    def read(self, path: str) -> bytes:
        """Read a path as the server has it, as in /api/v1/nodes/NAME/proxy/configz."""
        asked = Asked(verb="read", what=path)
        return self._wire.ask(Request(method="GET", path=path, asked=asked, is_repeatable=True))

    def get(self, ref: Ref) -> Object | None:
        """Read an object; None when there is none, or no such kind."""
        kind = self._kinds.find(ref.api_version, ref.kind)
        if kind is None:
            return None
        request = self._request("GET", ref, "read", is_repeatable=True)
        return self._unless_missing(lambda: self._wire.ask_json(request))

    def _unless_missing(self, ask: Callable[[], Object]) -> Object | None:
        try:
            return ask()
        except KubeError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def list(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[Object]:
        """List objects of a kind; [] where the kind is unknown."""
        known = self._kinds.find(api_version, kind)
        if known is None:
            return []
        return list_all(self._wire, known, namespace or self._namespace, narrowed(labels, fields))[
            0
        ]

    def watch(  # noqa: PLR0913 - each narrows what is told
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        limit_s: float,
    ) -> Iterator[Change]:
        """Tell the state first (as ADDED) and then every change, for `limit_s` seconds.

        When the state is told again, what vanished meanwhile is told as DELETED before. Raises
        KubeError also when the kind is unknown, or the server stays away for five minutes.
        """
        known = self._kinds.get(api_version, kind)
        where, query = namespace or self._namespace, narrowed(labels, fields)
        watched = Watched(
            path=known.path(where),
            query=query,
            asked=Asked(verb="watch", what=known.plural, namespace=where),
            limit_s=limit_s,
        )
        return watch(self._wire, watched, lambda: list_all(self._wire, known, where, query))

    def apply(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Create or change an object by server-side apply; conflicts are an error.

        What `patch` changed before belongs to another owner, also when that was us: to apply the
        same field with another value is a conflict (409) then.
        """
        query = [("fieldManager", MANAGER), ("force", "false")]
        if dry_run:
            query.append(("dryRun", "All"))
        meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        ref = ref_of(obj)
        if self._kinds.get(ref.api_version, ref.kind).is_namespaced:
            meta.setdefault("namespace", self._namespace)
        # Applied twice it comes to the same, so it is sent again when no answer came.
        request = self._request(
            "PATCH",
            ref,
            "apply",
            query=tuple(query),
            body={**obj, "metadata": meta},
            content=APPLY_PATCH,
            is_repeatable=True,
        )
        return self._wire.ask_json(request)

    def patch(self, ref: Ref, change: Mapping[str, Any], *, subresource: str = "") -> Object:
        """Merge a change into an object (RFC 7386), as in {"spec": {"replicas": 0}}.

        With metadata.resourceVersion in the change it is made to that version only: 409 otherwise.
        """
        is_conditional = "resourceVersion" in (change.get("metadata") or {})
        request = self._request(
            "PATCH",
            ref,
            "change",
            query=(("fieldManager", MANAGER),),
            body=dict(change),
            content=MERGE_PATCH,
            subresource=subresource,
            # A merge comes to the same twice; on condition, the second would refuse the first.
            is_repeatable=not is_conditional,
        )
        return self._wire.ask_json(request)

    def create(self, obj: Object) -> Object:
        """Create an object that must not be there yet; 409 otherwise."""
        ref = ref_of(obj)
        kind = self._kinds.get(ref.api_version, ref.kind)
        namespace = ref.namespace or self._namespace
        request = Request(
            method="POST",
            path=kind.path(namespace),
            query=(("fieldManager", MANAGER),),
            asked=_asked("create", kind, ref, namespace),
            body=obj,
        )
        return self._wire.ask_json(request)

    def delete(
        self,
        ref: Ref,
        *,
        uid: str | None = None,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> bool:
        """Ask for an object to be deleted; False when it was not there."""
        if self._kinds.find(ref.api_version, ref.kind) is None:
            return False
        body: dict[str, Any] = {"propagationPolicy": propagation}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        # Without a uid a second try might hit another object of that name.
        request = self._request("DELETE", ref, "delete", body=body, is_repeatable=uid is not None)
        return self._unless_missing(lambda: self._wire.ask_json(request)) is not None

    def may(
        self, verb: str, resource: str, *, group: str = "", namespace: str | None = None
    ) -> bool:
        """Ask whether this user may do that; resource as in pods or pods/exec.

        With namespace "" it is asked for the whole cluster, as cluster-scoped resources need it.
        """
        name, _, subresource = resource.partition("/")
        attributes = {
            "verb": verb,
            "resource": name,
            "subresource": subresource,
            "group": group,
            "namespace": self._namespace if namespace is None else namespace,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        request = Request(
            method="POST",
            path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            asked=Asked(verb="ask for", what="own rights"),
            body=review,
            is_repeatable=True,
        )
        return bool(self._wire.ask_json(request).get("status", {}).get("allowed"))

    def has_kind(self, api_version: str, kind: str) -> bool:
        """Tell whether the server knows a kind, as a CustomResourceDefinition brings it."""
        return self._kinds.find(api_version, kind) is not None

    def _request(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        ref: Ref,
        verb: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        body: dict[str, Any] | None = None,
        content: str = JSON,
        subresource: str = "",
        is_repeatable: bool = False,
    ) -> Request:
        kind = self._kinds.get(ref.api_version, ref.kind)
        namespace = ref.namespace or self._namespace
        return Request(
            method=method,
            path=kind.path(namespace, ref.name, subresource),
            query=query,
            asked=_asked(verb, kind, ref, namespace),
            body=body,
            content=content,
            is_repeatable=is_repeatable,
        )


def _asked(verb: str, kind: Kind, ref: Ref, namespace: str) -> Asked:
    return Asked(
        verb=verb,
        what=f"{ref.kind}/{ref.name}",
        namespace=namespace if kind.is_namespaced else None,
    )
