"""What environments promise, and whether what we tell people to write gives that promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.cli import suites
from groundspeed.plan import POSTGRES
from groundspeed.tools import engines, redis_engine

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import Plan

WORKLOADS = {
    POSTGRES: "[tpcb-like]",
    redis_engine.NAME: "[{name: set, load: {test: set}}]",
}
WAYS = [
    (name, seconds, way)
    for name in (POSTGRES, redis_engine.NAME)
    for seconds, way in engines.find(name).ways
]


def plan_of(tmp_path: Path, engine: str, way: str) -> Plan:
    path = tmp_path / "suite.yaml"
    path.write_text(
        f"suite: one\nengine: {engine}\nworkloads: {WORKLOADS[engine]}\nenvironments:\n"
        "  plain: {target: embedded, storage: {directory: /tmp}}\n"
        f"  asked: {{target: embedded, storage: {{directory: /tmp}}, {way}}}\n"
    )
    return suites.load(str(path), ())[1]


@pytest.mark.parametrize(("engine", "seconds", "way"), WAYS)
def test_what_a_suite_is_told_to_add_promises_as_much(
    tmp_path: Path, engine: str, seconds: float, way: str
) -> None:
    asked = dict(engines.keeping(plan_of(tmp_path, engine, way)).promises)["asked"]
    assert asked.killed_s is not None
    assert asked.killed_s <= seconds
    assert asked.power_cut_s is not None
    assert asked.power_cut_s <= seconds


def test_environments_that_promise_unlike_things_are_told_apart(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, POSTGRES, "settings: {synchronous_commit: 'off'}")
    promises = dict(engines.keeping(plan).promises)
    assert promises["plain"].power_cut_s == 0.0
    assert promises["asked"].power_cut_s == pytest.approx(0.6)
