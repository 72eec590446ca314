"""The engines that can be measured: of each its load tool, and how it reads its own options.

The only list of engines below `run`; how a server of one is run is in `targets.engines`, how it is
watched in `probes.engines`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from groundspeed.errors import SpecError
from groundspeed.plan import POSTGRES, EnvironmentPlan, Plan, ResolvedEngine, TargetKind
from groundspeed.record.losses import Keeping, Promise
from groundspeed.tools import postgres_promise, redis_engine, redis_promise
from groundspeed.tools.engine_ask import EngineAsk
from groundspeed.tools.load_tool import LoadTool
from groundspeed.tools.pgbench_load import PgbenchLoad
from groundspeed.tools.redis_load import RedisLoad


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """One engine. `resolve` raises SpecError for what it does not understand."""

    tool: LoadTool
    # Stands for that of a server of our own, which is known only when it runs.
    own_address: str
    # None where a suite asks for nothing that the house does not know itself.
    resolve: Callable[[EngineAsk], ResolvedEngine] | None
    # What it promises of acknowledged writes when it ends badly.
    promise: Callable[[EnvironmentPlan], Promise]
    # Pairs: seconds that may be lost, and how a suite asks for no more.
    ways: tuple[tuple[float, str], ...]


_ENGINES: Mapping[str, Engine] = {
    POSTGRES: Engine(
        tool=PgbenchLoad(),
        own_address="host=SOCKET dbname=groundspeed",
        resolve=None,
        promise=postgres_promise.promise,
        ways=postgres_promise.WAYS,
    ),
    redis_engine.NAME: Engine(
        tool=RedisLoad(),
        own_address="unix:///SOCKET",
        resolve=redis_engine.resolve,
        promise=redis_promise.promise,
        ways=redis_promise.WAYS,
    ),
}


def find(name: str) -> Engine:
    """Find an engine by name. Raises SpecError."""
    try:
        return _ENGINES[name]
    except KeyError:
        raise SpecError(
            f"engine: there is none named {name!r}", f"engines are {', '.join(_ENGINES)}"
        ) from None


def keeping(plan: Plan) -> Keeping:
    """Say what the environments of a plan promise; of servers of others that is not known."""
    engine = find(plan.engine)
    return Keeping(
        promises=tuple(
            (environment.name, engine.promise(environment))
            for environment in plan.environments
            if environment.kind is TargetKind.EMBEDDED
        ),
        ways=engine.ways,
    )


def load_tool(name: str) -> LoadTool:
    """Find the load tool of an engine. Raises SpecError."""
    return find(name).tool
