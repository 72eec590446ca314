"""The state of a device from outside: buckets filled and drained while somebody uses it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import native
from groundspeed.storage.profile import Counted, Limit, ReadsFrom, Replication
from tests.unit.native.replay import fixed, profile
from tests.unit.native.shimmed import shimmed

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.storage.profile import Profile
    from tests.unit.native.shimmed import Shimmed

WRITE = """
import os, time
file = os.open("file", os.O_RDWR | os.O_CREAT | os.O_DSYNC)
began = time.monotonic()
for i in range(20):
    os.pwrite(file, bytes(4096), i * 4096)
print(time.monotonic() - began)
"""
BURST = Limit(of=Counted.REQUESTS, rate_per_s=20, credits_count=1000)


def state(verb: str, path: Path) -> None:
    subprocess.run([native.executable_path("storage_state"), verb, path], check=True)


def left(device: Shimmed) -> list[float]:
    return [bucket["left"] for bucket in device.counters()["credits"]]


def replicated() -> Profile:
    return msgspec.structs.replace(
        profile(limits=(BURST,)),
        replication=Replication(
            replicas_count=2, acknowledge_count=2, round_trip=fixed(0.0), reads=ReadsFrom.SPREAD
        ),
    )


@pytest.mark.parametrize("device", [profile(limits=(BURST,)), replicated()], ids=["one", "two"])
def test_a_drained_device_goes_at_its_baseline_until_it_is_refilled(device: Profile) -> None:
    with shimmed(device) as shim:
        assert float(shim.run(WRITE)) < 0.3
        state("drain", shim.state)
        # A second for 20 requests at 20/s, less what came back while the program started.
        assert float(shim.run(WRITE)) > 0.3
        assert left(shim)[0] < 100
        state("refill", shim.state)
        assert left(shim) == [1000]
        assert float(shim.run(WRITE)) < 0.3


def test_a_drained_bucket_is_empty_and_fills_at_the_rate() -> None:
    slow = Limit(of=Counted.REQUESTS, rate_per_s=0.001, credits_count=1000)
    plain = Limit(of=Counted.BYTES, rate_per_s=1e12)
    with shimmed(profile(limits=(slow, plain))) as shim:
        assert left(shim) == [1000]
        state("drain", shim.state)
        assert left(shim) == [0]
        state("drain", shim.state)
        assert left(shim) == [0]


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("no state")
    done = subprocess.run(
        [native.executable_path("storage_state"), "drain", other],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"storage_state: {other}: ")
