"""All objects of a kind, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.kube.api import KubeError
from groundspeed.kube.refusals import GONE, Asked
from groundspeed.kube.wire import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.kube.kinds import Kind
    from groundspeed.kube.wire import Wire

_PAGE = 500
_TRIES = 5

# What there is, and the version that this was so in.
Listing = tuple[list[dict[str, Any]], str]
Query = tuple[tuple[str, str], ...]


def list_all(wire: Wire, kind: Kind, namespace: str, query: Query) -> Listing:
    """List; a page that came too late to belong to the first starts it again. Raises KubeError."""
    for _ in range(_TRIES):
        try:
            return _pages(wire, kind, namespace, query)
        except KubeError as error:
            if error.status != GONE:
                raise
    raise KubeError(
        f"the list of {kind.plural} changes faster than it can be read",
        "the API server is overloaded, or its history is very short",
    )


def _pages(wire: Wire, kind: Kind, namespace: str, query: Query) -> Listing:
    items: list[dict[str, Any]] = []
    more = ""
    while True:
        further = (("limit", str(_PAGE)), *((("continue", more),) if more else ()))
        request = Request(
            method="GET",
            path=kind.path(namespace),
            query=(*query, *further),
            asked=Asked(verb="list", what=kind.plural, namespace=namespace),
            is_repeatable=True,
        )
        page = wire.ask_json(request)
        # Inside a list they do not say what they are.
        said = {"apiVersion": kind.api_version, "kind": kind.kind}
        items += [said | item for item in page.get("items") or ()]
        meta = page.get("metadata") or {}
        more = meta.get("continue") or ""
        if not more:
            return items, str(meta.get("resourceVersion") or "")


def narrowed(labels: Mapping[str, str] | None, fields: Mapping[str, str] | None) -> Query:
    """Write selectors as a query."""
    found = (("labelSelector", labels), ("fieldSelector", fields))
    return tuple(
        (name, ",".join(f"{key}={value}" for key, value in chosen.items()))
        for name, chosen in found
        if chosen
    )
