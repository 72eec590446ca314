"""The engines by name, and what each promises of acknowledged writes."""

from __future__ import annotations

import pytest

from groundspeed.errors import SpecError
from groundspeed.plan import EnvironmentPlan, TargetKind
from groundspeed.tools import engines


def test_an_unknown_engine_is_refused_with_those_that_are() -> None:
    with pytest.raises(SpecError) as caught:
        engines.find("mongo")
    assert caught.value.message == "engine: there is none named 'mongo'"
    assert caught.value.hint == "engines are postgres, redis"


def test_each_has_a_load_tool() -> None:
    programs = {name: engines.load_tool(name).program for name in ("postgres", "redis")}
    assert programs == {"postgres": "pgbench", "redis": "redis-benchmark"}


def environment(**changes: object) -> EnvironmentPlan:
    return EnvironmentPlan(name="e", slug="e", kind=TargetKind.EMBEDDED, **changes)


def bounds(engine: str, **changes: object) -> tuple[float | None, float | None]:
    """How many seconds may be lost by a kill, and by a power cut."""
    promise = engines.find(engine).promise(environment(**changes))
    assert promise.words
    return promise.killed_s, promise.power_cut_s


DELAY_S = 0.6


@pytest.mark.parametrize(
    ("settings", "killed_s", "power_cut_s"),
    [
        ({}, 0, 0),
        ({"synchronous_commit": "on"}, 0, 0),
        ({"synchronous_commit": "local"}, 0, 0),
        ({"Synchronous_Commit": "REMOTE_APPLY"}, 0, 0),
        ({"synchronous_commit": "off"}, DELAY_S, DELAY_S),
        ({"synchronous_commit": "off", "wal_writer_delay": "1000"}, 3, 3),
        ({"synchronous_commit": "off", "wal_writer_delay": "50ms"}, 0.15, 0.15),
        # What cannot be read bounds nothing.
        ({"synchronous_commit": "off", "wal_writer_delay": "soon"}, None, None),
        ({"fsync": "off"}, 0, None),
        ({"fsync": "false", "synchronous_commit": "off"}, DELAY_S, None),
    ],
)
def test_what_postgresql_promises(
    settings: dict[str, str], killed_s: float | None, power_cut_s: float | None
) -> None:
    found = bounds("postgres", settings=tuple(settings.items()))
    assert found == (
        killed_s if killed_s is None else pytest.approx(killed_s),
        power_cut_s if power_cut_s is None else pytest.approx(power_cut_s),
    )


@pytest.mark.parametrize(
    ("persistence", "expected"),
    [
        ("none", (None, None)),
        ("rdb", (None, None)),
        ("aof-no", (0, None)),
        ("aof-everysec", (0, 1)),
        ("aof-always", (0, 0)),
    ],
)
def test_what_redis_promises(persistence: str, expected: tuple[float | None, float | None]) -> None:
    assert bounds("redis", options=(("persistence", persistence),)) == expected


def test_with_a_replica_nothing_bounds_what_it_had_not_received() -> None:
    found = bounds("redis", options=(("persistence", "aof-always"),), replica=environment())
    assert found == (None, None)
