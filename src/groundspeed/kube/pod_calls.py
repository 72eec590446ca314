"""What is asked of a pod: its logs, and programs in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.kube.api import KubeError
from groundspeed.kube.programs import Called, PodProgram, run, start
from groundspeed.kube.refusals import Asked, one_line
from groundspeed.kube.watching import lines
from groundspeed.kube.wire import CutError, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.kube.api import Ran
    from groundspeed.kube.wire import Stream, Wire


class PodCalls:
    """The part of `kube.api.Api` that speaks of one pod in the own namespace."""

    def __init__(self, wire: Wire, namespace: str) -> None:
        self._wire = wire
        self._namespace = namespace

    @property
    def cluster(self) -> str:
        """The name of the cluster for people, as in: context lab."""
        return self._wire.cluster

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is named."""
        return self._namespace

    def logs(
        self,
        pod: str,
        container: str,
        *,
        follow: bool = False,
        since: str | None = None,
        timestamps: bool = False,
    ) -> Iterator[bytes]:
        """Read the lines of a container's log, without their ends; with follow until it ends.

        `since` is a time of RFC 3339; the API server cuts it to its second (1.34), so lines of that
        second come again. Raises KubeError (400) while the container has not started, and without a
        status when the connection is lost in the middle.
        """
        query = {"container": container}
        query |= {"follow": "true"} if follow else {}
        query |= {"timestamps": "true"} if timestamps else {}
        query |= {"sinceTime": since} if since else {}
        request = Request(
            method="GET",
            path=f"/api/v1/namespaces/{self._namespace}/pods/{pod}/log",
            query=tuple(query.items()),
            asked=Asked(verb="read the log of", what=f"pod {pod}", namespace=self._namespace),
            is_repeatable=True,
        )
        return _told(self._wire.open(request), pod)

    def execute(
        self, pod: str, container: str, argv: Sequence[str], *, stdin: bytes = b"", limit_s: float
    ) -> Ran:
        """Run a program in a container to its end. Raises KubeError after `limit_s`.

        With `stdin` it needs Kubernetes 1.30: older ones cannot tell a program that its input ends.
        """
        called = self._called(pod, container, argv, has_input=bool(stdin))
        return run(self._wire, called, stdin, limit_s)

    def open(self, pod: str, container: str, argv: Sequence[str]) -> PodProgram:
        """Start a program in a container and talk with it."""
        return start(self._wire, self._called(pod, container, argv, has_input=True))

    def _called(self, pod: str, container: str, argv: Sequence[str], *, has_input: bool) -> Called:
        query = [("container", container), ("stdout", "true"), ("stderr", "true")]
        query += [("stdin", "true")] if has_input else []
        request = Request(
            method="GET",
            path=f"/api/v1/namespaces/{self._namespace}/pods/{pod}/exec",
            query=(*query, *(("command", word) for word in argv)),
            asked=Asked(verb=f"run {argv[0]} in", what=f"pod {pod}", namespace=self._namespace),
        )
        return Called(request=request, program=argv[0], pod=pod)


def _told(stream: Stream, pod: str) -> Iterator[bytes]:
    try:
        yield from lines(stream.chunks(lambda: None))
    except CutError as cut:
        raise KubeError(
            one_line(f"the log of pod {pod} broke off: {cut}"),
            "it can be read again from where it stopped",
        ) from cut
    finally:
        stream.close()
