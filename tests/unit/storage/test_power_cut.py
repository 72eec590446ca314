"""What a power cut is asked with, and what it answers, without a device."""

from __future__ import annotations

import json

import pytest

from groundspeed.errors import TargetError
from groundspeed.storage import power_cut
from groundspeed.storage.power_cut import DroppedWork

NOTHING = {
    "cut_ns": 5,
    "files_count": 0,
    "pages_count": 0,
    "bytes": 0,
    "shortened_count": 0,
    "removed_count": 0,
    "restored_count": 0,
    "renamed_count": 0,
}


def test_a_device_that_loses_power_has_a_directory_and_perhaps_a_size() -> None:
    assert power_cut.config_lines("/a b") == "power_cut /a b\n"
    assert power_cut.config_lines("/a", pages_count=64) == "power_cut /a\npower_cut_pages 64\n"


@pytest.mark.parametrize(("directory", "pages"), [("a", None), ("/a\nb", None), ("/a", 63)])
def test_what_is_no_directory_or_too_small_is_a_mistake_of_ours(
    directory: str, pages: int | None
) -> None:
    with pytest.raises(ValueError, match="journal"):
        power_cut.config_lines(directory, pages_count=pages)


def test_the_moment_and_the_seed_come_in_that_order() -> None:
    assert power_cut.arguments() == ()
    assert power_cut.arguments(at_ns=7) == ("7",)
    assert power_cut.arguments(at_ns=7, seed=0) == ("7", "0")
    assert power_cut.arguments(seed=3) == ("0", "3")


def test_what_was_taken_is_read() -> None:
    text = json.dumps({"format": 1, **NOTHING})
    assert power_cut.decode(text) == DroppedWork(**NOTHING)
    assert power_cut.decode(text).is_nothing


@pytest.mark.parametrize(
    "name", ["files_count", "removed_count", "restored_count", "renamed_count"]
)
def test_a_file_or_a_name_is_something(name: str) -> None:
    assert not DroppedWork(**{**NOTHING, name: 1}).is_nothing


@pytest.mark.parametrize(
    "text", ["", "{}", json.dumps({"format": 2, **NOTHING}), json.dumps(NOTHING)]
)
def test_another_version_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        power_cut.decode(text)
    assert "\n" not in caught.value.message
    assert "reinstall" in caught.value.hint
