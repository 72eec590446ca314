from __future__ import annotations

from pathlib import Path

import pytest

from groundspeed.storage import catalogue
from groundspeed.storage.device_config import device_config
from groundspeed.storage.profile import (
    Counted,
    Device,
    Direction,
    Latency,
    Limit,
    Profile,
    ReadsFrom,
    Replication,
    Trouble,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "device-config-aws-gp3.txt"


def always(value_s: float) -> Latency:
    return Latency(median_s=value_s, p99_s=value_s)


FULL = Profile(
    name="full",
    about="",
    device=Device(
        read=always(100e-6),
        sync=always(2e-3),
        parallel_count=7,
        limits=(
            Limit(
                of=Counted.REQUESTS,
                on=Direction.READ,
                rate_per_s=300.0,
                credits_count=5_400_000.0,
                start_ratio=0.5,
            ),
            Limit(of=Counted.BYTES, rate_per_s=0.25),
        ),
    ),
    front=Device(
        write=always(1e-6),
        parallel_count=2,
        limits=(Limit(of=Counted.BYTES, on=Direction.WRITE, rate_per_s=1e9),),
    ),
    replication=Replication(
        replicas_count=3,
        acknowledge_count=2,
        round_trip=always(3e-4),
        reads=ReadsFrom.SPREAD,
        one_is_local=True,
        link_bytes_per_s=125e6,
    ),
    request_bytes=65536,
    readahead_bytes=0,
    writeback_depth_count=8,
    trouble=Trouble(
        stall_after_s=1.5,
        stall_s=2.0,
        read_error_ratio=1e-6,
        write_error_ratio=0.5,
        size_bytes=10**9,
    ),
)
FULL_TEXT = f"""\
groundspeed-storage 1
root /srv
cache_bytes 1048576
dirty_limit_bytes 209715
dirty_background_bytes 104858
dirty_expire_ns 30000000000
writeback_depth 8
readahead_bytes 0
request_bytes 65536
replicas 3
acknowledge 2
reads spread
local_replicas 1
link_bytes_per_s 125000000
front_parallel 2
device_parallel 7
limit front write bytes 1000000000 0 0
limit device read requests 300 5400000 2700000
limit device both bytes 0.25 0 0
table device_read {" ".join(["100000"] * 1024)}
table device_sync {" ".join(["2000000"] * 1024)}
table front_write {" ".join(["1000"] * 1024)}
table round_trip {" ".join(["300000"] * 1024)}
seed 9
stall_after_ns 1500000000
stall_ns 2000000000
read_error_ratio 1e-06
write_error_ratio 0.5
device_bytes 1000000000
"""


def test_every_word_of_a_configuration() -> None:
    assert device_config(FULL, roots=["/srv"], cache_bytes=1024**2, seed=9) == FULL_TEXT


def test_aws_gp3_is_what_it_was() -> None:
    profile = catalogue.profile("aws-gp3", {"iops": "16000"})
    made = device_config(
        profile, roots=["/srv/pg data", "/srv/wal"], cache_bytes=8 * 1024**3, seed=42
    )
    assert made == GOLDEN.read_text()


def test_a_plain_device_is_one_local_replica_behind_no_front() -> None:
    lines = device_config(
        catalogue.profile("null"), roots=["/srv"], cache_bytes=4096, seed=0
    ).splitlines()
    assert {"replicas 1", "acknowledge 1", "local_replicas 1", "front_parallel 0"} <= {*lines}
    assert not [line for line in lines if line.startswith(("table", "limit", "link", "stall"))]


@pytest.mark.parametrize(
    "roots", [[], ["relative"], ["/a\nseed 3"], ["/1", "/2", "/3", "/4", "/5"], [""]]
)
def test_roots_that_the_shim_cannot_have_are_refused(roots: list[str]) -> None:
    with pytest.raises(ValueError, match="absolute paths"):
        device_config(FULL, roots=roots, cache_bytes=1024**2, seed=1)


def test_a_cache_below_a_page_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no page"):
        device_config(FULL, roots=["/srv"], cache_bytes=4095, seed=1)
