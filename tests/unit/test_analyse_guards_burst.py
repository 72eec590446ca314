"""Trials that ran on burst credits, and comparisons of them with what can be kept up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.guards.buckets import buckets_of
from groundspeed.record import CreditsLeft
from groundspeed.storage import catalogue
from groundspeed.storage.encode import encode_json
from groundspeed.storage.profile import Counted, Direction, Limit, Profile
from tests.examples import make_provenance, make_storage, make_storage_work
from tests.unit.guarded import codes, guarded, side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.diagnosis import GuardFinding
    from groundspeed.record import Provenance, StorageWork

GP2, GP3 = catalogue.profile("aws-gp2"), catalogue.profile("aws-gp3")
CREDITS = 5_400_000.0


def on(profile: Profile) -> Provenance:
    storage = msgspec.structs.replace(
        make_storage(label=profile.label, emulated=True), profile=encode_json(profile)
    )
    return make_provenance(storage=storage)


def work(requests_per_s: float, left_ratio: float | None) -> StorageWork:
    """Five seconds of a device, all of it writes."""
    left = (
        ()
        if left_ratio is None
        else (
            CreditsLeft(
                tier="device",
                of="requests",
                on="both",
                left=left_ratio * CREDITS,
                capacity=CREDITS,
            ),
        )
    )
    return msgspec.structs.replace(
        make_storage_work(),
        read_request_count=0,
        write_request_count=round(5 * requests_per_s),
        credits=left,
    )


def of_burst(
    profiles: dict[str, Profile], works: dict[str, StorageWork], clients: Sequence[int] = (1,)
) -> list[GuardFinding]:
    records = side_by_side(
        {name: on(profile) for name, profile in profiles.items()},
        workloads=("tpcb-like",),
        clients=clients,
        work=works,
    )
    return [f for f in guarded(records) if f.kind.value == "burst"]


def test_trials_above_the_baseline_measured_the_burst() -> None:
    [found] = of_burst({"a": GP2}, {"a": work(2900, 0.99)}, clients=(1, 4))
    assert found.code == "measured-the-burst"
    assert found.message == (
        "aws-gp2: trials of 5 s ran at up to 2,900 IOPS on burst credits, of which 99% were left at"
        " their end; without credits it gives 300 IOPS: this measured the burst"
    )
    assert [(c.environment, c.clients) for c in found.cells] == [("a", 1), ("a", 4)]


@pytest.mark.parametrize(
    ("requests_per_s", "left_ratio"), [(200, 1.0), (300, 0.0), (310, 0.0)], ids=str
)
def test_trials_at_or_below_the_baseline_did_not(requests_per_s: float, left_ratio: float) -> None:
    assert of_burst({"a": GP2}, {"a": work(requests_per_s, left_ratio)}) == []


def test_credits_that_ran_out_inside_a_trial_mix_two_rates() -> None:
    [found] = of_burst({"a": GP2}, {"a": work(1500, 0.0)})
    assert found.code == "measured-the-burst"
    assert found.message == (
        "aws-gp2: the burst credits (5,400,000 requests) ran out inside trials of 5 s: their means"
        " mix the burst with the baseline of 300 IOPS"
    )


@pytest.mark.parametrize(("baseline", "environment"), [(GP3, GP2), (GP2, GP3)])
def test_a_burst_against_a_baseline_is_said_to_be_one(
    baseline: Profile, environment: Profile
) -> None:
    profiles = {"a": baseline, "b": environment}
    works = {n: work(2900, 0.9 if p is GP2 else None) for n, p in profiles.items()}
    found = of_burst(profiles, works)
    assert codes(found) == ["measured-the-burst", "burst-against-baseline"]
    fast, other = ("b", "a") if environment is GP2 else ("a", "b")
    assert found[1].message == (
        f"{fast} ran on burst credits and {other} at what it can keep up: this compares a burst"
        " with a baseline"
    )
    assert found[1].environments == ("a", "b")
    assert [c.environment for c in found[1].cells] == ["b"]


def test_two_bursts_or_none_are_alike() -> None:
    both = of_burst({"a": GP2, "b": GP2}, {"a": work(2900, 0.9), "b": work(2800, 0.9)})
    assert codes(both) == ["measured-the-burst"]
    assert both[0].environments == ("a", "b")
    drained = {"a": work(300, 0.0), "b": work(300, 0.0)}
    assert of_burst({"a": GP2, "b": GP2}, drained) == []


def with_limits(*limits: Limit) -> Profile:
    device = msgspec.structs.replace(GP3.device, limits=limits)
    return msgspec.structs.replace(GP3, device=device)


def test_a_bucket_of_bytes_counts_its_own_direction() -> None:
    mib = 1024.0**2
    profile = with_limits(
        Limit(of=Counted.BYTES, on=Direction.READ, rate_per_s=10 * mib, credits_count=1000 * mib),
        Limit(of=Counted.BYTES, rate_per_s=110 * mib),
    )
    [bucket] = buckets_of(encode_json(profile))
    assert bucket.lasts_s == 10
    busy = msgspec.structs.replace(
        make_storage_work(), read_request_bytes=int(5 * 50 * mib), write_request_bytes=10**12
    )
    assert bucket.asked_per_s(busy) == pytest.approx(50 * mib)
    assert bucket.rate_text(50 * mib) == "50 MiB/s"
    assert bucket.was_used_by(busy)
    idle = msgspec.structs.replace(busy, read_request_bytes=0)
    assert not bucket.was_used_by(idle)


def test_a_burst_that_nothing_caps_has_the_device_s_own_speed() -> None:
    burst = Limit(of=Counted.REQUESTS, rate_per_s=100, credits_count=1000)
    [bucket] = buckets_of(encode_json(with_limits(burst)))
    fastest_s = min(GP3.device.read.median_s, GP3.device.write.median_s)
    assert bucket.peak_per_s == pytest.approx(GP3.device.parallel_count / fastest_s)
    free = msgspec.structs.replace(with_limits(burst).device, parallel_count=0)
    [bucket] = buckets_of(encode_json(msgspec.structs.replace(GP3, device=free)))
    assert (bucket.peak_per_s, bucket.lasts_s) == (None, None)


def test_devices_without_credits_have_no_buckets() -> None:
    assert buckets_of(encode_json(GP3)) == ()
    assert buckets_of(None) == ()
    assert buckets_of("not a profile") == ()


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        ("virtual machine (Amazon EC2 t3.medium)", "t3.medium"),
        ("virtual machine (Amazon EC2 t4g.2xlarge), in a container", "t4g.2xlarge"),
        ("virtual machine (Amazon EC2 c6i.4xlarge)", None),
        ("virtual machine (Other t3.medium)", None),
    ],
)
def test_burstable_machines_are_named(machine: str, told: str | None) -> None:
    plain = make_provenance()
    assert plain.host is not None
    host = msgspec.structs.replace(plain.host, virtualization=machine)
    found = guarded(side_by_side({"a": make_provenance(host=host)}, workloads=("tpcb-like",)))
    assert codes(found) == ([] if told is None else ["cpu-credits"])
    if told is not None:
        assert f"the machine is a {told}: " in found[0].message


def test_volumes_that_may_burst_are_named_unless_they_are_only_where_emulated_files_lie() -> None:
    ebs = msgspec.structs.replace(make_storage(), device="nvme0n1 Amazon Elastic Block Store")
    environments = {
        "a": make_provenance(storage=ebs),
        "b": make_provenance(storage=msgspec.structs.replace(ebs, emulated=True)),
    }
    [found] = guarded(side_by_side(environments, workloads=("tpcb-like",)), vary=("storage",))
    assert (found.code, found.environments) == ("volume-credits", ("a",))
