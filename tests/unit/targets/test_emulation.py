"""A device of ours from making to removing, without a server on it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.errors import TargetError
from groundspeed.storage import catalogue
from groundspeed.storage.placement import Emulation
from groundspeed.storage.profile import Counted, Limit
from groundspeed.targets import emulation, process
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.leases import LeaseFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1024**2
NULL = Emulation(
    profile=catalogue.profile("null"),
    cache_bytes=64 * MIB,
    memory_bytes=64 * MIB,
    memory_assumed=False,
)


@pytest.fixture
def lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LeaseFile]:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)
    monkeypatch.setenv("GROUNDSPEED_STATE_DIR", str(tmp_path / "state"))
    with LeaseFile("test") as held:
        yield held
    assert list((tmp_path / "state").iterdir()) == []


def make(lease: LeaseFile, root: Path) -> EmulatedDevice:
    device = EmulatedDevice(NULL, f"groundspeed-{root.name}", account=None, lease=lease)
    device.make([root])
    return device


def copy_under(device: EmulatedDevice, root: Path) -> None:
    """Run a program on the device that reads and writes a file."""
    (root / "file").write_text("text")
    subprocess.run(
        ["cp", root / "file", root / "copy"],
        check=True,
        env={**process.kept_variables(), **device.variables()},
    )


def test_a_program_is_counted_from_the_beginning_of_a_trial(
    lease: LeaseFile, tmp_path: Path
) -> None:
    device = make(lease, tmp_path)
    assert device.work() is None
    copy_under(device, tmp_path)
    device.begin()
    work = device.work()
    assert work is not None
    assert work.write_call_count == 0
    copy_under(device, tmp_path)
    work = device.work()
    assert work is not None
    assert (work.write_call_count, work.write_bytes) == (1, 4)
    device.remove()


BURST = msgspec.structs.replace(
    NULL,
    profile=msgspec.structs.replace(
        NULL.profile,
        device=msgspec.structs.replace(
            NULL.profile.device,
            limits=(
                # A credit comes back in 1,000 s: none of them while the test looks.
                Limit(of=Counted.REQUESTS, rate_per_s=0.001, credits_count=500),
                Limit(of=Counted.BYTES, rate_per_s=1e12),
            ),
        ),
    ),
)


@pytest.mark.parametrize("left", [500, 0])
def test_a_trial_begins_with_all_credits_or_drained(
    lease: LeaseFile, tmp_path: Path, left: int
) -> None:
    drain = left == 0
    device = EmulatedDevice(
        BURST, f"groundspeed-{tmp_path.name}", account=None, lease=lease, drain=drain
    )
    device.make([tmp_path])
    assert [c.left for c in device.counters().credits] == [500]
    for _ in range(2):
        device.begin()
        work = device.work()
        assert work is not None
        assert [(c.left, c.capacity) for c in work.credits] == [(left, 500)]
    assert [doubt.code for doubt in device.doubts] == (["drained"] if drain else [])
    device.remove()


def test_a_device_without_credits_has_none_to_drain(lease: LeaseFile, tmp_path: Path) -> None:
    device = EmulatedDevice(
        NULL, f"groundspeed-{tmp_path.name}", account=None, lease=lease, drain=True
    )
    assert device.doubts == ()
    device.make([tmp_path])
    device.begin()
    assert device.counters().credits == ()
    device.remove()


def test_nothing_is_left_of_a_device(lease: LeaseFile, tmp_path: Path) -> None:
    device = make(lease, tmp_path)
    state = device.state_file
    assert state.stat().st_mode & 0o777 == 0o600
    assert emulation.label_of(state) == "null"
    device.remove()
    assert not state.parent.exists()
    assert emulation.label_of(state) is None
    # Twice is once.
    device.remove()


def test_files_behind_a_symbolic_link_are_on_the_device(lease: LeaseFile, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    device = make(lease, link)
    copy_under(device, link)
    assert device.counters().writes.calls_count == 1
    device.remove()


def test_a_shim_whose_path_cannot_be_named_is_copied(
    lease: LeaseFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD_PRELOAD is a list that blanks and colons separate."""
    awkward = tmp_path / "my files: new"
    awkward.mkdir()
    shutil.copy(emulation.shim_path(), awkward)
    monkeypatch.setattr(emulation, "shim_path", lambda: awkward / "storage_shim.so")
    device = make(lease, tmp_path)
    preload = device.variables()["LD_PRELOAD"]
    assert " " not in preload
    copy_under(device, tmp_path)
    assert device.counters().writes.calls_count == 1
    device.remove()
    assert not (tmp_path / preload).exists()


def test_an_earlier_preload_comes_first(lease: LeaseFile, tmp_path: Path) -> None:
    device = make(lease, tmp_path)
    assert device.variables({"LD_PRELOAD": "a.so"})["LD_PRELOAD"].startswith("a.so:")
    assert ":" not in device.variables({})["LD_PRELOAD"]
    device.remove()


def test_an_unknown_state_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "device").write_bytes(b"no state")
    with pytest.raises(TargetError) as caught:
        emulation.read_counters(tmp_path / "device")
    assert caught.value.message.startswith("emulated storage: ")
    assert "\n" not in caught.value.message


def write_under(device: EmulatedDevice, root: Path, *, flags: str) -> None:
    """Overwrite the beginning of a file, from a program that ends without a sync of its own."""
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={root / 'file'}", "bs=4", "count=1", f"conv=notrunc{flags}"],
        check=True,
        capture_output=True,
        env={**process.kept_variables(), **device.variables()},
    )


def test_a_device_that_loses_power_takes_back_what_was_not_synced(
    lease: LeaseFile, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_text("text and more")
    device = EmulatedDevice(
        NULL, f"groundspeed-{tmp_path.name}", account=None, lease=lease, loses_power=True
    )
    device.make([root])
    write_under(device, root, flags="")
    assert (root / "file").read_bytes() == b"\0\0\0\0 and more"
    dropped = device.cut_power()
    assert (dropped.files_count, dropped.pages_count) == (1, 1)
    assert (root / "file").read_text() == "text and more"
    write_under(device, root, flags=",fdatasync")
    assert device.cut_power(seed=1).is_nothing
    assert (root / "file").read_bytes() == b"\0\0\0\0 and more"
    device.remove()
    assert {path.name for path in tmp_path.iterdir()} == {"root", "state"}


def test_other_devices_do_not_lose_power(lease: LeaseFile, tmp_path: Path) -> None:
    device = make(lease, tmp_path)
    with pytest.raises(TargetError) as caught:
        device.cut_power()
    assert caught.value.message.endswith("this device was not made for power cuts")
    assert "docs/emulation.md" in caught.value.hint
    device.remove()
