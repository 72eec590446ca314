"""What a run is about to make, written before it is made: after a crash it can still be removed.

Only for what does not go with the run's anchor by itself: objects of the whole cluster, and the
claim with the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.kube.api import KubeError
from groundspeed.kube.refusals import CONFLICT, NOT_FOUND
from groundspeed.manifests.naming import Ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

KEY = "owned"
# Each try that fails means that another one was written; so many writers there are not.
_TRIES = 20


class Intent:
    """The list in the anchor's data, one Ref each; several processes may write it.

    The anchor must not be applied again: what is written here belongs to another owner than what
    was applied, so that would be refused (409) rather than forget the list.
    """

    def __init__(self, api: Api, anchor: Ref) -> None:
        self._api = api
        self._anchor = anchor

    def refs(self) -> tuple[Ref, ...]:
        """Read what was written, in order. Raises KubeError; 404 when the anchor is gone."""
        return _read(self._read_anchor(), self._anchor)

    def add(self, *refs: Ref) -> None:
        """Write what is going to be made. Raises KubeError; then it must not be made."""
        self._change(lambda known: (*known, *(ref for ref in refs if ref not in known)))

    def remove(self, *refs: Ref) -> None:
        """Forget what is gone."""
        self._change(lambda known: tuple(ref for ref in known if ref not in refs))

    def _change(self, change: Callable[[tuple[Ref, ...]], tuple[Ref, ...]]) -> None:
        for _ in range(_TRIES):
            anchor = self._read_anchor()
            known = _read(anchor, self._anchor)
            wanted = change(known)
            if wanted == known:
                return
            try:
                self._write(wanted, anchor["metadata"]["resourceVersion"])
            except KubeError as error:
                # Another one wrote meanwhile, or our own answer was lost: read it again.
                if error.status not in (CONFLICT, None):
                    raise
            else:
                return
        raise KubeError(
            f"ConfigMap {self._anchor.name} cannot be written: others change it all the time",
            "is more than one command at work on this run?",
            status=CONFLICT,
        )

    def _write(self, refs: tuple[Ref, ...], version: str) -> None:
        text = msgspec.json.encode(refs).decode()
        self._api.patch(
            self._anchor, {"metadata": {"resourceVersion": version}, "data": {KEY: text}}
        )

    def _read_anchor(self) -> Object:
        found = self._api.get(self._anchor)
        if found is None:
            raise KubeError(
                f"ConfigMap {self._anchor.name}, which holds what the run made, is gone",
                "what is left of it carries the label groundspeed/run; groundspeed clean looks",
                status=NOT_FOUND,
            )
        return found


def _read(anchor: Object, ref: Ref) -> tuple[Ref, ...]:
    text = (anchor.get("data") or {}).get(KEY) or "[]"
    try:
        return msgspec.json.decode(text, type=tuple[Ref, ...])
    except msgspec.DecodeError as error:
        raise KubeError(
            f"what the run made cannot be read from ConfigMap {ref.name}: {error}",
            f"its key {KEY} is a JSON list; a newer groundspeed may have written it",
        ) from error
