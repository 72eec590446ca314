from __future__ import annotations

import pytest

from groundspeed import presets, published
from groundspeed.cli import suites
from groundspeed.plan import TargetKind


def test_the_presets_are_those_promised() -> None:
    assert presets.names() == (
        "capacity-quick",
        "durability-postgres",
        "durability-redis",
        "endurance",
        "kubernetes-gp3-weka",
        "kubernetes-longhorn",
        "matrix-39",
        "quick",
        "redis-persistence",
        "redis-quick",
        "redis-split",
        "storage-sweep",
        "what-if-gp3",
    )


@pytest.mark.parametrize("name", ["", "nope", "../presets/quick", "quick.yaml", "__init__"])
def test_what_is_no_preset_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        presets.read(name)


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_makes_a_plan_with_the_figures_of_its_devices(name: str) -> None:
    _, plan = suites.load(name, [])
    emulated = [e for e in plan.environments if e.storage and e.storage.emulate]
    assert all(e.storage.profile for e in emulated if e.storage)
    # Or a result would depend on the memory of the machine it came from.
    assert all(e.memory_bytes for e in emulated)


def test_the_demo_compares_this_disk_with_two_emulated_ones() -> None:
    _, plan = suites.load("quick", [])
    assert [(e.name, e.storage and e.storage.emulate) for e in plan.environments] == [
        ("this-disk", None),
        ("gp3", "aws-gp3"),
        ("longhorn-2r", "longhorn-2r"),
    ]


DURABLE = ("durability-postgres", "durability-redis", "redis-split")


@pytest.mark.parametrize("name", DURABLE)
def test_what_is_killed_is_ours_and_can_lose_its_power(name: str) -> None:
    """Or groundspeed durability would try less than it says."""
    _, plan = suites.load(name, [])
    assert {e.kind for e in plan.environments} == {TargetKind.EMBEDDED}
    assert all(e.storage and e.storage.emulate for e in plan.environments)


def test_durability_is_tried_for_every_promise_of_an_engine() -> None:
    def settings(name: str) -> set[str]:
        return {value for e in suites.load(name, [])[1].environments for _, value in e.settings}

    def persistence(name: str) -> set[str]:
        plan = suites.load(name, [])[1]
        return {dict(e.options)["persistence"] for e in plan.environments}

    assert {"local", "off"} <= settings("durability-postgres")
    assert persistence("durability-redis") == {
        *("none", "rdb", "aof-no", "aof-everysec", "aof-always")
    }


def test_the_published_grid_is_asked_as_it_was_published() -> None:
    _, plan = suites.load("redis-persistence", [])
    told = published.publication("redis-aof").environments
    assert [e.name for e in plan.environments] == [e.name for e in told]
    assert {dict(w.load)["test"]: dict(w.load)["payload_bytes"] for w in plan.workloads} | {
        "ping_mbulk": "180000"
    } == {"set": "180000", "get": "180000", "ping_mbulk": "180000"}
    assert {trial.cell.clients for trial in plan.trials} == {20}
