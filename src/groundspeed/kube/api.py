"""What the rest of the house asks of a Kubernetes API server, as a protocol, and what goes wrong.

The real one is `kube.client.Client`; tests have an API server of their own in their process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from groundspeed.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from groundspeed.manifests.naming import Object, Ref


class KubeError(TargetError):
    """The API server was not reached, or refused; `status` is its HTTP status, None without one."""

    def __init__(self, message: str, hint: str, *, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something a watch saw. `kind` is ADDED, MODIFIED or DELETED."""

    kind: str
    object: dict[str, Any]


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a program in a pod left behind."""

    returncode: int
    stdout: bytes
    stderr: bytes


class Program(Protocol):
    """A program that runs in a pod: its input and its output, as they come. A context manager.

    One thread at a time: what it sends and what it receives share a connection.
    """

    def __enter__(self) -> Self:
        """Talk with it; the connection ends with the block."""
        ...

    def __exit__(self, *_: object) -> None:
        """Give up the connection."""
        ...

    def send(self, data: bytes) -> None:
        """Write to its standard input. Raises KubeError when the connection is gone."""
        ...

    def close_input(self) -> None:
        """End its standard input."""
        ...

    def receive(self, limit_s: float) -> bytes | None:
        """Wait for output: some of it, b"" when nothing came in time, None when it has ended."""
        ...

    @property
    def errors(self) -> bytes:
        """What came on its standard error so far."""
        ...

    @property
    def returncode(self) -> int | None:
        """Its exit code, once it ended."""
        ...

    def close(self) -> None:
        """Give up the connection; a program that still runs is not ended by that."""
        ...


class Api(Protocol):
    """A Kubernetes API server, as one user in one namespace.

    Every call may raise KubeError: not reached, not allowed (403), refused (409, 422). A read that
    fails for the moment (connection lost, 429, 5xx) is tried again for some time before it does.
    """

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is named."""
        ...

    def server_version(self) -> str:
        """Ask the version of the API server, as in 1.34.4."""
        ...

    def get(self, ref: Ref) -> Object | None:
        """Read an object; None when there is none, or no such kind."""
        ...

    def list(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[Object]:
        """List objects of a kind in a namespace, ours when None; [] where the kind is unknown.

        Kinds of the whole cluster are listed whatever the namespace.
        """
        ...

    def apply(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Create or change an object by server-side apply; conflicts are an error."""
        ...

    def patch(self, ref: Ref, change: Mapping[str, Any], *, subresource: str = "") -> Object:
        """Merge a change into an object (RFC 7386), as in {"spec": {"replicas": 0}}."""
        ...

    def create(self, obj: Object) -> Object:
        """Create an object that must not be there yet; 409 otherwise."""
        ...

    def delete(
        self,
        ref: Ref,
        *,
        uid: str | None = None,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> bool:
        """Ask for an object to be deleted; False when it was not there.

        With a uid only that very one: 409 when another one has its name.
        """
        ...

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

        It survives disconnects and versions that are gone: then the state is told again.
        """
        ...

    def may(
        self, verb: str, resource: str, *, group: str = "", namespace: str | None = None
    ) -> bool:
        """Ask whether this user may do that; resource as in pods or pods/exec."""
        ...

    def read(self, path: str) -> bytes:
        """Read a path as the server has it, as in /api/v1/nodes/NAME/proxy/configz.

        Raises KubeError where it is not there (404) or not allowed.
        """
        ...

    def has_kind(self, api_version: str, kind: str) -> bool:
        """Tell whether the server knows a kind, as a CustomResourceDefinition brings it."""
        ...

    def logs(
        self,
        pod: str,
        container: str,
        *,
        follow: bool = False,
        since: str | None = None,
        timestamps: bool = False,
    ) -> Iterator[bytes]:
        """Read the lines of a container's log, without their ends; with follow until it ends."""
        ...

    def execute(
        self, pod: str, container: str, argv: Sequence[str], *, stdin: bytes = b"", limit_s: float
    ) -> Ran:
        """Run a program in a container to its end. Raises KubeError after `limit_s`."""
        ...

    def open(self, pod: str, container: str, argv: Sequence[str]) -> Program:
        """Start a program in a container and talk with it."""
        ...
