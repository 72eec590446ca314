"""Whether this machine can play a device: its real directory against the model's own times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed import native
from groundspeed.errors import TargetError
from groundspeed.storage import catalogue
from groundspeed.storage.placement import Emulation
from groundspeed.targets import emulation_checks, real_disk

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.storage.profile import Profile

MIB = 1024**2


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        native.executable_path("storage_state")
    except TargetError as error:
        pytest.skip(error.message)


def asked(profile: Profile) -> Emulation:
    return Emulation(
        profile=profile, cache_bytes=64 * MIB, memory_bytes=64 * MIB, memory_assumed=False
    )


def fixed(read: str, sync: str) -> Emulation:
    """A device whose requests always take the same."""
    return asked(
        catalogue.parse(
            "profile: fixed\nabout: for a test\n"
            f"device: {{read: {read}, write: 0s, sync: {sync}, parallel: 1}}\n"
            "request_size: 128KiB\n"
            "figures: [{what: all, standing: assumed, source: a test, date: 2026-01}]\n",
            source="fixed",
        )
    )


def test_the_model_itself_says_what_a_device_takes() -> None:
    sync_s, read_s = emulation_checks._emulated_medians_s(fixed("3ms", "7ms"))
    assert sync_s == pytest.approx(0.007, rel=0.01)
    assert read_s == pytest.approx(0.003, rel=0.01)


def test_replicas_are_part_of_what_a_device_takes() -> None:
    one, _ = emulation_checks._emulated_medians_s(asked(catalogue.profile("longhorn-1r")))
    two, _ = emulation_checks._emulated_medians_s(asked(catalogue.profile("longhorn-2r")))
    assert two > one


def test_a_directory_that_is_slower_than_the_device_is_refused_with_both_figures(
    tmp_path: Path,
) -> None:
    with pytest.raises(TargetError) as caught:
        emulation_checks.doubts_about(tmp_path, fixed("10s", "0.01us"))
    assert f"{tmp_path} is slower than fixed: a synced write of 8 KiB takes" in caught.value.message
    assert "on the device it would be 1e-05 ms" in caught.value.message
    assert "/dev/shm" in caught.value.hint


def test_reads_count_as_writes_do(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="a read of 8 KiB takes"):
        emulation_checks.doubts_about(tmp_path, fixed("0.01us", "10s"))


def test_a_slow_device_can_be_played_anywhere(tmp_path: Path) -> None:
    assert emulation_checks.doubts_about(tmp_path, fixed("10s", "10s")) == ()


def test_a_device_that_takes_no_time_shows_the_real_one_by_design(tmp_path: Path) -> None:
    assert emulation_checks.doubts_about(tmp_path, asked(catalogue.profile("null"))) == ()


def test_an_uneven_disk_is_a_caution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uneven = real_disk.RealDisk(
        sync_median_s=0.001, sync_p99_s=0.02, read_median_s=0.001, read_p99_s=0.002
    )
    monkeypatch.setattr(real_disk, "measure", lambda _: uneven)
    [doubt] = emulation_checks.doubts_about(tmp_path, fixed("10ms", "10ms"))
    assert doubt.code == "real-disk-uneven"
    assert "a synced write" in doubt.message


def test_a_directory_is_measured_without_leaving_anything(tmp_path: Path) -> None:
    found = real_disk.measure(tmp_path)
    assert 0 < found.sync_median_s <= found.sync_p99_s
    assert 0 < found.read_median_s <= found.read_p99_s
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_does_not_exist_yet_is_measured_above(tmp_path: Path) -> None:
    emulation_checks.doubts_about(tmp_path / "not" / "yet", fixed("10s", "10s"))
    assert list(tmp_path.iterdir()) == []


def test_emulation_works_where_tests_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDSPEED_STATE_DIR", str(tmp_path))
    emulation_checks.prove_that_it_works()
    assert list(tmp_path.iterdir()) == []
