"""What the API server of `kube_server` refuses because a test told it to."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.kube_fields import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Failure:
    method: str
    path: str
    status: int
    body: Mapping[str, Any] | str | None
    times: int
    headers: dict[str, str]
    drop: bool


class Failures:
    """Answers that are given in the place of right ones, a few times each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[Failure] = []

    def add(self, failure: Failure) -> None:
        with self._lock:
            self._left.append(failure)

    def take(self, method: str, path: str) -> Failure | None:
        with self._lock:
            for failure in self._left:
                is_meant = failure.method == method and re.search(failure.path, path)
                if is_meant and failure.times > 0:
                    failure.times -= 1
                    return failure
        return None


class Denials:
    """What the user of the tests may not."""

    def __init__(self) -> None:
        self._denied: list[tuple[str, str, str, str | None]] = []

    def add(self, verb: str, resource: str, group: str, namespace: str | None) -> None:
        self._denied.append((verb, resource, group, namespace))

    def is_denied(self, verb: str, resource: str, group: str, namespace: str) -> bool:
        return any(
            one in (verb, "*")
            and what in (resource, "*")
            and which == group
            and where in (None, namespace)
            for one, what, which, where in self._denied
        )

    def check(self, verb: str, resource: str, group: str, namespace: str, name: str) -> None:
        if not self.is_denied(verb, resource, group, namespace):
            return
        named = f' "{name}"' if name else ""
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        plural = resource.partition("/")[0] + (f".{group}" if group else "")
        raise RefusedError(
            403,
            "Forbidden",
            f'{plural}{named} is forbidden: User "tester" cannot {verb} resource "{resource}" in '
            f'API group "{group}" {where}',
            name=name,
            kind=resource,
        )
