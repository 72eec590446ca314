from __future__ import annotations

import msgspec
import pytest

from groundspeed.errors import TargetError
from groundspeed.plan import EnvironmentPlan, StorageRequest, TargetKind
from groundspeed.storage import catalogue
from groundspeed.storage.placement import (
    LEAST_CACHE_BYTES,
    Machine,
    Placement,
    Unavailable,
    placement,
    shared_buffers_bytes,
)

MIB, GIB = 1024**2, 1024**3
MACHINE = Machine(memory_bytes=16 * GIB, fast_directory="/memory")


def environment(
    request: StorageRequest, *, memory_bytes: int | None = None, **settings: str
) -> EnvironmentPlan:
    return EnvironmentPlan(
        name="e",
        slug="e",
        kind=TargetKind.EMBEDDED,
        storage=request,
        memory_bytes=memory_bytes,
        settings=tuple(settings.items()),
    )


def emulated(
    name: str = "aws-gp3", directory: str | None = None, **parameters: str
) -> StorageRequest:
    profile = catalogue.profile(name, parameters)
    return StorageRequest(
        directory=directory,
        emulate=profile.label,
        profile=msgspec.json.encode(profile).decode(),
    )


def placed(asked: EnvironmentPlan) -> Placement:
    place = placement(asked, MACHINE)
    assert isinstance(place, Placement)
    return place


def test_a_directory_is_taken_as_it_is() -> None:
    place = placed(environment(StorageRequest(directory="/srv/pg")))
    assert place == Placement(label="/srv/pg", emulated=False, directory="/srv/pg")


def test_a_log_directory_shows_in_the_label() -> None:
    place = placed(environment(StorageRequest(directory="/srv/pg", wal_directory="/fast")))
    assert place.wal_directory == "/fast"
    assert place.label == "/srv/pg, log on /fast"
    assert place.emulation is None


def test_an_emulated_device_has_its_profile_its_label_and_a_fast_place() -> None:
    place = placed(environment(emulated(iops="16000"), memory_bytes=8 * GIB))
    assert place.label == "aws-gp3 (iops=16000)"
    assert place.emulated
    assert place.directory == "/memory"
    assert place.emulation is not None
    assert place.emulation.profile == catalogue.profile("aws-gp3", {"iops": "16000"})
    assert place.emulation.memory_bytes == 8 * GIB
    assert not place.emulation.memory_assumed


def test_a_directory_is_where_the_real_files_of_an_emulated_device_lie() -> None:
    assert placed(environment(emulated(directory="/srv"))).directory == "/srv"


def test_the_page_cache_is_what_shared_buffers_leave() -> None:
    place = placed(environment(emulated(), memory_bytes=GIB, shared_buffers="256MB"))
    assert place.emulation is not None
    assert place.emulation.cache_bytes == GIB - 256 * MIB


def test_without_a_memory_that_of_the_machine_is_assumed_and_said_so() -> None:
    place = placed(environment(emulated()))
    assert place.emulation is not None
    assert place.emulation.memory_assumed
    assert place.emulation.cache_bytes == 16 * GIB - 128 * MIB


def test_some_page_cache_there_always_is() -> None:
    place = placed(environment(emulated(), memory_bytes=129 * MIB))
    assert place.emulation is not None
    assert place.emulation.cache_bytes == LEAST_CACHE_BYTES


def test_a_memory_without_room_for_shared_buffers_is_refused() -> None:
    with pytest.raises(TargetError) as caught:
        placement(environment(emulated(), memory_bytes=GIB, shared_buffers="1GB"), MACHINE)
    assert caught.value.message == "e: shared_buffers take 1024 MiB of 1024 MiB of memory"
    assert "shared_buffers" in caught.value.hint


def test_a_plan_without_figures_of_the_device_is_unavailable() -> None:
    place = placement(environment(StorageRequest(emulate="aws-gp3")), MACHINE)
    assert isinstance(place, Unavailable)
    assert "no figures of aws-gp3" in place.reason


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("256MB", 256 * MIB),
        ("0.5GB", 512 * MIB),
        (" 1 GB ", GIB),
        ("1024kB", MIB),
        ("1048576B", MIB),
        ("128", MIB),
        ("0x80", MIB),
        ("0200", MIB),
        ("1e3kB", 1000 * 1024),
        # The server itself will say what is wrong with these.
        ("1gb", 128 * MIB),
        ("plenty", 128 * MIB),
        ("-1", 128 * MIB),
    ],
)
def test_shared_buffers_are_read_as_postgresql_reads_them(text: str, size_bytes: int) -> None:
    assert shared_buffers_bytes(environment(emulated(), shared_buffers=text)) == size_bytes
    # Names of settings in any case.
    assert shared_buffers_bytes(environment(emulated(), Shared_Buffers=text)) == size_bytes


def test_the_last_of_two_settings_counts() -> None:
    asked = environment(emulated(), shared_buffers="1GB", SHARED_BUFFERS="2GB")
    assert shared_buffers_bytes(asked) == 2 * GIB
