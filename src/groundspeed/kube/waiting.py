"""Waiting for objects, by watches: until one is as it should be, or until some are gone."""

from __future__ import annotations

import time
from itertools import chain, repeat
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object, Ref
    from groundspeed.manifests.trouble import Trouble

# What is in the way is often told by other objects than the one that is waited for: a pod's events,
# a claim. So it is asked for again after some time also when nothing changed. At first sooner: a
# watch does not tell of what went just before it began.
_ASK_AGAIN_S = (0.25, 0.5, 1.0, 2.0)
_THEN_EVERY_S = 3.0
_NAMED = 5


def wait_for(  # noqa: PLR0913 - what, until when, and what is in the way
    api: Api,
    ref: Ref,
    is_done: Callable[[Object | None], bool],
    *,
    limit_s: float,
    trouble: Callable[[Object | None], Trouble | None] = lambda _: None,
    now_s: Callable[[], float] = time.monotonic,
) -> Object | None:
    """Wait until an object is as `is_done` says (None: it is not there), and give it then.

    `trouble` tells what is in the way; it is asked at each change and every few seconds. A final
    one raises TargetError at once, another one when `limit_s` is over. Raises KubeError as Api.
    """
    deadline_s = now_s() + limit_s
    last: Trouble | None = None
    for ask_again_s in chain(_ASK_AGAIN_S, repeat(_THEN_EVERY_S)):
        for found in _states(api, ref, min(ask_again_s, max(deadline_s - now_s(), 0.0))):
            if is_done(found):
                return found
            last = trouble(found)
            if last is not None and last.is_final:
                raise TargetError(last.message, last.hint)
        if now_s() >= deadline_s:
            break
    raise _too_late(ref, limit_s, last)


def _states(api: Api, ref: Ref, limit_s: float) -> Iterator[Object | None]:
    """Yield the object as it is now, and each time it changes."""
    found = api.get(ref)
    yield found
    version = found["metadata"]["resourceVersion"] if found else None
    changes = api.watch(
        ref.api_version,
        ref.kind,
        namespace=ref.namespace,
        fields={"metadata.name": ref.name},
        limit_s=limit_s,
    )
    for change in changes:
        if change.kind == "DELETED":
            version = None
            yield None
        elif change.object["metadata"]["resourceVersion"] != version:
            version = change.object["metadata"]["resourceVersion"]
            yield change.object


def _too_late(ref: Ref, limit_s: float, last: Trouble | None) -> TargetError:
    if last is not None:
        return TargetError(f"{last.message} (after {limit_s:.0f} s)", last.hint)
    return TargetError(
        f"{ref.kind} {ref.name} is not ready after {limit_s:.0f} s",
        f"{_describe(ref)} shows its events",
    )


def _describe(ref: Ref) -> str:
    inside = f" -n {ref.namespace}" if ref.namespace else ""
    return f"kubectl describe {ref.kind.lower()} {ref.name}{inside}"


def wait_gone(
    api: Api,
    refs: Sequence[Ref],
    limit_s: float,
    *,
    now_s: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until none of them is there. Raises TargetError that names what is left, and why."""
    deadline_s = now_s() + limit_s
    for ref in refs:
        for ask_again_s in chain(_ASK_AGAIN_S, repeat(_THEN_EVERY_S)):
            left_s = deadline_s - now_s()
            if any(
                found is None for found in _states(api, ref, min(ask_again_s, max(left_s, 0.0)))
            ):
                break
            if left_s <= 0:
                raise _left(api, refs, limit_s)


def _left(api: Api, refs: Sequence[Ref], limit_s: float) -> TargetError:
    left = [(ref, found) for ref in refs if (found := api.get(ref)) is not None]
    names = ", ".join(_named(ref, found) for ref, found in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    first = left[0][0] if left else refs[0]
    held = any(found["metadata"].get("finalizers") for _, found in left)
    why = "a finalizer waits for its controller; is that running? " if held else ""
    return TargetError(
        f"still there after {limit_s:.0f} s: {names}{more}", f"{why}{_describe(first)} tells more"
    )


def _named(ref: Ref, found: Object) -> str:
    finalizers = found["metadata"].get("finalizers") or ()
    held = f" (finalizers: {', '.join(finalizers)})" if finalizers else ""
    asked = "" if found["metadata"].get("deletionTimestamp") else " (not asked to go)"
    return f"{ref.kind}/{ref.name}{held}{asked}"
