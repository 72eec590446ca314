"""Fields of objects and who set them, for the API server of `kube_server`; and how it refuses."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Object = dict[str, Any]
# What JSON can hold.
Json = Any
FieldPath = tuple[str, ...]


class RefusedError(Exception):
    """An answer that is no success."""

    def __init__(self, code: int, reason: str, message: str, **details: Json) -> None:
        super().__init__(message)
        self.code = code
        self.status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": code,
        }


def merged(obj: Json, change: Json) -> Json:
    """RFC 7386."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    found = dict(obj) if isinstance(obj, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def check_conflicts(
    owners: dict[tuple[str, str], set[FieldPath]],
    wanted: dict[FieldPath, Any],
    before: Object | None,
    manager: str,
) -> None:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{who[0]}"' + (" using v1" if who[1] == "Update" else ""),
            "field": f".{'.'.join(path)}",
        }
        for who, paths in owners.items()
        if who != (manager, "Apply")
        for path in sorted(paths & set(wanted))
        if is_taken(before, path, wanted)
    ]
    if causes:
        plural = "s" if len(causes) > 1 else ""
        told = "; ".join(f"{cause['message']}: {cause['field']}" for cause in causes)
        message = f"Apply failed with {len(causes)} conflict{plural}: {told}"
        raise RefusedError(409, "Conflict", message, causes=causes)


def is_taken(before: Object | None, path: FieldPath, wanted: dict[FieldPath, Any]) -> bool:
    return value_at(before, path) != wanted[path]


def owned_part(obj: Mapping[str, Any]) -> Object:
    meta = obj.get("metadata", {})
    kept = {key: meta[key] for key in ("labels", "annotations", "finalizers") if meta.get(key)}
    if meta.get("ownerReferences"):
        kept["ownerReferences"] = meta["ownerReferences"]
    rest = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata", "status")}
    return {**rest, **({"metadata": kept} if kept else {})}


def leaves(value: Json, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    """Lists count as one value: which are merged by a key is told by schemas, and none is here."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif path:
        yield path, value


def value_at(obj: Json, path: FieldPath) -> Json:
    for key in path:
        if not isinstance(obj, dict) or key not in obj:
            return None
        obj = obj[key]
    return obj


def set_at(obj: Object, path: FieldPath, value: Json) -> None:
    for key in path[:-1]:
        if not isinstance(obj.get(key), dict):
            obj[key] = {}
        obj = obj[key]
    obj[path[-1]] = copy.deepcopy(value)


def remove_at(obj: Object, path: FieldPath) -> None:
    around = value_at(obj, path[:-1])
    if isinstance(around, dict):
        around.pop(path[-1], None)
        if not around and len(path) > 1:
            remove_at(obj, path[:-1])


def nested(paths: set[FieldPath]) -> Object:
    found: Object = {}
    for path in sorted(paths):
        inner = found
        for key in path:
            inner = inner.setdefault(f"f:{key}", {})
    return found
