from __future__ import annotations

import pytest

from groundspeed import presets
from groundspeed.cli import suites


def test_the_presets_are_those_promised() -> None:
    assert presets.names() == ("endurance", "matrix-39", "quick", "storage-sweep", "what-if-gp3")


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
