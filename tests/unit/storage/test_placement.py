from __future__ import annotations

from groundspeed.plan import StorageRequest
from groundspeed.storage.placement import Placement, Unavailable, placement


def test_a_directory_is_taken_as_it_is() -> None:
    place = placement(StorageRequest(directory="/srv/pg"))
    assert place == Placement(label="/srv/pg", emulated=False, directory="/srv/pg")


def test_a_log_directory_shows_in_the_label() -> None:
    place = placement(StorageRequest(directory="/srv/pg", wal_directory="/fast"))
    assert isinstance(place, Placement)
    assert place.wal_directory == "/fast"
    assert place.label == "/srv/pg, log on /fast"
    assert place.server_environment == ()


def test_an_emulated_device_is_unavailable_and_says_which() -> None:
    assert placement(StorageRequest(emulate="aws-gp3")) == Unavailable(
        reason="storage emulation (aws-gp3) is not in this version of groundspeed;"
        " this environment was not measured"
    )
