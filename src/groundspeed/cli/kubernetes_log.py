"""The log of a runner as lines, one after the other, whatever happens to connections and pods.

A thread reads: a line has to be waited for, and so have other things at the same time.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from typing import TYPE_CHECKING, Self

from groundspeed.cli.kubernetes_pods import has_ended, has_started, pods_of
from groundspeed.kube.api import KubeError
from groundspeed.manifests import runner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

_PAUSE_S = 1.0
# Between the last line of one pod and the first of the next.
REPLACED = "the runner pod was replaced, the run goes on"


class RunnerLog:
    """Reads the logs of the runner's pods, oldest first, each line once; a context manager."""

    def __init__(self, api: Api, run: ClusterRun, *, pause_s: float = _PAUSE_S) -> None:
        self._api = api
        self._run = run
        self._pause_s = pause_s
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stop = threading.Event()
        # Of pods whose log was read to its end.
        self._read: set[str] = set()
        # Of the pod at hand: the second of its last line, and the lines of that second.
        self._pod = ""
        self._second = ""
        self._seen: set[bytes] = set()
        self._is_idle = threading.Event()
        # A daemon: it may hang in a connection when everything else is done.
        self._thread = threading.Thread(target=self._go, daemon=True)

    def __enter__(self) -> Self:
        """Begin to read."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Read no more."""
        self._stop.set()

    def lines(self, limit_s: float) -> Iterator[str]:
        """Give what has come, waiting up to `limit_s` seconds for the first line."""
        try:
            yield self._lines.get(timeout=limit_s)
            while True:
                yield self._lines.get_nowait()
        except queue.Empty:
            return

    def rest(self, limit_s: float) -> Iterator[str]:
        """Give what is left of pods that have ended; at most for `limit_s` seconds."""
        deadline_s = time.monotonic() + limit_s
        self._is_idle.clear()
        while time.monotonic() < deadline_s:
            was_idle = self._is_idle.is_set()
            yield from self.lines(self._pause_s)
            if was_idle:
                return

    def _go(self) -> None:
        while not self._stop.is_set():
            try:
                pod = self._next_pod()
                if pod is None:
                    self._is_idle.set()
                else:
                    self._read_pod(pod)
            except KubeError:
                # Whoever waits for lines asks the same server, and tells.
                self._is_idle.set()
            self._stop.wait(self._pause_s)

    def _next_pod(self) -> Object | None:
        for pod in pods_of(self._api, self._run, "runner"):
            if pod["metadata"]["uid"] not in self._read and has_started(pod):
                return pod
        return None

    def _read_pod(self, pod: Object) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if uid != self._pod:
            if self._pod:
                self._lines.put(REPLACED)
            self._pod, self._second, self._seen = uid, "", set()
        ended = has_ended(pod)
        for raw in self._api.logs(
            name, runner.CONTAINER, follow=True, since=self._second or None, timestamps=True
        ):
            if self._stop.is_set():
                return
            self._keep(raw)
        if ended:
            # It had ended before it was read, so that was all of it.
            self._read.add(uid)

    def _keep(self, raw: bytes) -> None:
        at, _, text = raw.decode(errors="replace").partition(" ")
        # The server takes whole seconds, so lines of the last one come again.
        second = re.sub(r"[.][0-9]+", "", at)
        if second != self._second:
            self._second, self._seen = second, set()
        if raw not in self._seen:
            self._seen.add(raw)
            self._lines.put(text)
