"""A lease whose state is in use outlives its command, and not a moment longer than its users."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.targets import leases, places, remains
from groundspeed.targets.leases import LeaseFile

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLD = """
import mmap, sys
file = open(sys.argv[1], "r+b")
held = mmap.mmap(file.fileno(), 0)
file.close()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDSPEED_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A file of a lease that has ended, mapped by a process that lives."""
    with LeaseFile("kept") as lease:
        directory = places.make(tmp_path / "groundspeed-device", None, lease)
        file = directory / "device"
        file.write_bytes(bytes(mmap.PAGESIZE))
        lease.keep_while_mapped(file)
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
    try:
        yield file, holder
    finally:
        holder.kill()
        holder.communicate()


def test_what_a_process_uses_stays_until_it_ends(
    state: Path, kept: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    file, holder = kept
    assert remains.users_of(file) == (holder.pid,)
    assert leases.sweep(None) == ()
    assert file.exists()
    holder.communicate()
    assert leases.sweep(None) == ()
    assert not file.parent.exists()
    assert list(state.iterdir()) == []


def test_what_nobody_uses_goes_at_once(state: Path, tmp_path: Path) -> None:
    with LeaseFile("free") as lease:
        directory = places.make(tmp_path / "groundspeed-device", None, lease)
        (directory / "device").write_bytes(b"x")
        lease.keep_while_mapped(directory / "device")
    assert not directory.exists()
    assert list(state.iterdir()) == []


def test_a_process_that_is_gone_maps_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert remains.maps_file(ended.pid, Path("/x")) is None
