"""Targets of Redis for tests: made as a run makes them, removed, and nothing of them left."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from groundspeed.cli import session
from groundspeed.plan import EnvironmentPlan, StorageRequest, TargetKind
from groundspeed.storage import catalogue
from groundspeed.storage.placement import Machine, Placement, placement
from groundspeed.targets import engines, redis_client
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.engines import Second
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import Surroundings
from groundspeed.targets.redis_embedded import EmbeddedRedis
from groundspeed.tools import redis_benchmark, redis_load
from tests.leftovers import Watch
from tests.small_runs import account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from groundspeed.plan import Command
    from groundspeed.ports import LoadResult, Progress, Target
    from tests.small_runs import Place

MACHINE = Machine(memory_bytes=2 * 1024**3, fast_directory="/dev/shm")


def environment(  # noqa: PLR0913 - each is one key of an environment
    directory: Path | str,
    *,
    name: str = "e",
    emulate: object = None,
    persistence: str = "none",
    settings: tuple[tuple[str, str], ...] = (),
    replica: EnvironmentPlan | None = None,
    listen: str = "socket",
    bin_dir: str | None = None,
    **options: object,
) -> EnvironmentPlan:
    """An environment of our own, spelt out as its engine does."""
    storage = StorageRequest(directory=str(directory))
    if emulate is not None:
        profile = catalogue.load(emulate)
        storage = StorageRequest(
            directory=str(directory),
            emulate=profile.label,
            profile=msgspec.json.encode(profile).decode(),
        )
    spelt = [("persistence", persistence), *((n, str(value)) for n, value in options.items())]
    return EnvironmentPlan(
        name=name,
        slug=name,
        kind=TargetKind.EMBEDDED,
        storage=storage,
        memory_bytes=1024**3 if emulate is not None else None,
        settings=settings,
        options=tuple(spelt),
        replica=replica,
        listen=listen,
        bin_dir=bin_dir,
    )


def given(url: str, *, password_env: str | None = None, **options: object) -> EnvironmentPlan:
    """An environment of a server that somebody else owns."""
    return EnvironmentPlan(
        name="g",
        slug="g",
        kind=TargetKind.SERVER,
        dsn=url,
        password_env=password_env,
        options=tuple((name, str(value)) for name, value in options.items()),
    )


def surroundings(
    run_id: str, lease: LeaseFile, *, is_warm: bool = False, told: list[str] | None = None
) -> Surroundings:
    said: list[str] = [] if told is None else told
    return Surroundings(
        run_id=run_id,
        lease=lease,
        account=account(),
        describe_storage=session.describe_storage,
        clone=False,
        is_warm=is_warm,
        tell=said.append,
    )


def _device(
    one: EnvironmentPlan, place: Placement, around: Surroundings, kind: type[EmulatedDevice]
) -> EmulatedDevice | None:
    if place.emulation is None:
        return None
    name = f"groundspeed-{around.run_id}-{one.slug}"
    return kind(place.emulation, name, account=around.account, lease=around.lease)


def _placement(one: EnvironmentPlan) -> Placement:
    place = placement(one, MACHINE)
    assert isinstance(place, Placement)
    return place


def make(
    one: EnvironmentPlan, around: Surroundings, kind: type[EmulatedDevice] = EmulatedDevice
) -> EmbeddedRedis:
    """Make the target of an environment as a run does."""
    place = _placement(one)
    second = None
    if one.replica is not None:
        other = _placement(one.replica)
        second = Second(placement=other, device=_device(one.replica, other, around, kind))
    target = engines.maker("redis", around).embedded(
        one, place, _device(one, place, around, kind), second
    )
    assert isinstance(target, EmbeddedRedis)
    return target


@contextmanager
def embedded(
    place: Place,
    one: EnvironmentPlan,
    *,
    is_warm: bool = False,
    told: list[str] | None = None,
    kind: type[EmulatedDevice] = EmulatedDevice,
) -> Iterator[EmbeddedRedis]:
    """A target that is removed; then nothing of it is left on the machine."""
    run_id = f"t{uuid.uuid4().hex[:10]}"
    watch = Watch(place.state, run_id, place.storage)
    with LeaseFile(run_id) as lease:
        target = make(one, surroundings(run_id, lease, is_warm=is_warm, told=told), kind)
        try:
            yield target
            watch.look()
        finally:
            watch.look()
            target.remove()
    assert watch.left() == []


def ask(target: Target, *parts: bytes | str | int) -> object:
    """Ask the server under test, as its probes would."""
    points = target.watch_points()
    address = redis_client.Address(url=points.conninfo, password=points.password)
    with redis_client.connect(address) as client:
        return client.ask(*parts)


def setting(target: Target, name: str) -> str:
    reply = ask(target, "CONFIG", "GET", name)
    assert isinstance(reply, tuple)
    return reply[1].decode()


def command(target: Target, test: str, **options: int) -> Command:
    made = redis_benchmark.Options(
        tests=(test,),
        request_count=options.get("requests", 1000),
        client_count=options.get("clients", 4),
        payload_bytes=options.get("payload", 100),
        keyspace_count=options.get("keyspace"),
    )
    return redis_benchmark.command(made, redis_load.address_of(target.conninfo))


def nothing(_: Progress) -> None:
    """Pass over how it goes."""


def load(
    target: Target,
    test: str,
    *,
    limit_s: float = 60.0,
    on_progress: Callable[[Progress], None] = nothing,
    **options: int,
) -> LoadResult:
    """Make a load with a real redis-benchmark."""
    asked = command(target, test, **options)
    return target.load(asked, None, limit_s=limit_s, on_progress=on_progress)


def ready(target: Target) -> None:
    """Bring a target to where its first trial begins."""
    target.provide()
    target.prepare(1)
    target.start()
    target.check()
    target.checkpoint()
    target.reset_statistics()
