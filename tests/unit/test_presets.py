from __future__ import annotations

import pytest

from groundspeed import presets


def test_the_presets_are_those_promised() -> None:
    assert presets.names() == ("endurance", "matrix-39", "quick", "storage-sweep")


@pytest.mark.parametrize("name", ["", "nope", "../presets/quick", "quick.yaml", "__init__"])
def test_what_is_no_preset_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        presets.read(name)
