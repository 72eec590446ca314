from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings

from groundspeed.storage import catalogue, decode, encode
from groundspeed.storage.device_config import device_config
from tests.unit.storage.profiles import profiles

if TYPE_CHECKING:
    from groundspeed.storage.profile import Profile


@settings(deadline=None, max_examples=50)
@given(profiles)
def test_a_profile_survives_its_yaml(profile: Profile) -> None:
    assert catalogue.parse(encode.encode_yaml(profile), source="p.yaml") == profile


@settings(deadline=None, max_examples=50)
@given(profiles)
def test_a_profile_survives_its_json(profile: Profile) -> None:
    assert decode.decode_json(encode.encode_json(profile)) == profile


@settings(deadline=None, max_examples=50)
@given(profiles)
def test_any_profile_that_can_be_written_becomes_a_configuration(profile: Profile) -> None:
    text = device_config(profile, roots=["/srv"], cache_bytes=2**20, seed=1)
    for line in text.splitlines():
        key, *values = line.split(" ")
        if key == "table":
            numbers = [int(value) for value in values[1:]]
            assert len(numbers) == 1024
            assert min(numbers) >= 0
