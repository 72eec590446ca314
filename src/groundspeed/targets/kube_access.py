"""What targets in a cluster know of the run they are part of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from groundspeed.kube.api import Api
from groundspeed.manifests.naming import Object, Ref
from groundspeed.plan import EnvironmentPlan

# Of a server that is to be ready: nodes may have to be added, volumes made and images pulled.
READY_LIMIT_S = 900.0


class ServerLogin(msgspec.Struct, frozen=True, kw_only=True):
    """Who is known to a server. The password never shows in a repr."""

    user: str
    password: str | None

    def __repr__(self) -> str:
        """Show the user alone."""
        return f"ServerLogin({self.user!r})"


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is reached from here."""

    host: str
    port: int


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, and whose part is what in it.

    `owner` is an owner reference to what all of the run goes with, `credentials` the Secret with
    the login of servers that the run makes, which is also `login`; `logins` are those of given
    servers, by the slug of the environment. `token` is alike in all processes of the run and in no
    other run. `own` notes objects before they are made, `disown` forgets them. `keep` tells, when a
    target is to be removed, whether the run goes on in another process, which takes over what
    stands.
    `generator_job` is the Job of several load generators; without it the load is made here.
    """

    api: Api
    run_id: str
    token: str
    owner: Mapping[str, Any] | None
    credentials: str
    login: ServerLogin | None
    logins: Mapping[str, ServerLogin]
    reach: Callable[[EnvironmentPlan], Reached]
    own: Callable[[Sequence[Ref]], None]
    disown: Callable[[Sequence[Ref]], None]
    keep: Callable[[], bool]
    generator_job: Object | None = None
    generator_count: int = 1
    ready_limit_s: float = READY_LIMIT_S
