from __future__ import annotations

import subprocess
from random import Random
from statistics import mean
from typing import TYPE_CHECKING

import pytest

from groundspeed import native
from groundspeed.errors import SpecError
from groundspeed.storage import catalogue, encode
from groundspeed.storage.device_config import device_config
from groundspeed.storage.distribution import mean_s
from groundspeed.storage.idle import Operation, idle_s
from groundspeed.storage.profile import NO_TIME, Standing

if TYPE_CHECKING:
    from pathlib import Path

PROMISED = {
    *("local-nvme-plp", "local-nvme-consumer", "local-sata-plp", "aws-gp3", "aws-gp2"),
    *("aws-io2-bx", "aws-efs-regional", "aws-efs-one-zone", "rds-gp3", "aurora", "longhorn-1r"),
    *("longhorn-2r", "longhorn-3r", "ceph-sata", "weka", "nfs", "null"),
}
ALL = pytest.mark.parametrize("name", catalogue.names())


def idle_mean_s(name: str, operation: Operation, **parameters: str) -> float:
    return mean(idle_s(catalogue.profile(name, parameters), operation, Random(1), 20_000))


def test_every_promised_profile_is_there() -> None:
    assert {*catalogue.names()} == PROMISED


@ALL
def test_a_profile_has_the_name_of_its_file_and_says_what_it_is(name: str) -> None:
    profile = catalogue.profile(name)
    assert profile.name == name
    assert profile.about
    assert profile.label == name


@ALL
def test_every_profile_has_figures_with_source_and_date(name: str) -> None:
    figures = catalogue.profile(name).figures
    assert figures
    assert all(f.what and f.source and f.date.startswith("2026-") for f in figures)
    assert Standing.MEASURED not in {f.standing for f in figures}


@ALL
def test_a_p99_is_told_as_assumed(name: str) -> None:
    if name in {"null", "aurora"}:
        return
    assumed = [f.what for f in catalogue.profile(name).figures if f.standing is Standing.ASSUMED]
    assert any("p99" in what for what in assumed)


@ALL
def test_a_packaged_profile_survives_its_yaml(name: str) -> None:
    profile = catalogue.profile(name)
    assert catalogue.parse(encode.encode_yaml(profile), source=name) == profile


@ALL
def test_the_device_tool_takes_every_profile(name: str, tmp_path: Path) -> None:
    config, state = tmp_path / "config", tmp_path / "state"
    profile = catalogue.profile(name)
    config.write_text(device_config(profile, roots=["/srv"], cache_bytes=2**24, seed=1))
    tool = native.executable_path("storage_state")
    subprocess.run([tool, "create", config, state], check=True)


@pytest.mark.parametrize(
    ("name", "read_s", "synced_write_s"),
    [
        ("aws-gp3", 0.50e-3, 0.81e-3),
        ("aws-efs-regional", 0.25e-3, 2.7e-3),
        ("aws-efs-one-zone", 0.25e-3, 1.6e-3),
        ("local-nvme-consumer", 0.065e-3, 1.6e-3),
        ("ceph-sata", 0.57e-3, 1.0e-3),
    ],
)
def test_published_means_are_met(name: str, read_s: float, synced_write_s: float) -> None:
    device = catalogue.profile(name).device
    assert mean_s(device.read) == pytest.approx(read_s, rel=0.005)
    assert mean_s(device.write) + mean_s(device.sync) == pytest.approx(synced_write_s, rel=0.005)


def test_longhorn_over_gp3_takes_what_its_report_says() -> None:
    for operation, published_s in ((Operation.READ, 0.75e-3), (Operation.WRITE, 2.04e-3)):
        made_s = idle_mean_s("longhorn-3r", operation, over="aws-gp3")
        assert made_s == pytest.approx(published_s, rel=0.03)


def test_each_replica_of_longhorn_costs() -> None:
    writes = [idle_mean_s(f"longhorn-{n}r", Operation.WRITE) for n in (1, 2, 3)]
    syncs = [idle_mean_s(f"longhorn-{n}r", Operation.SYNC) for n in (1, 2, 3)]
    assert writes == sorted(writes)
    # Published at one client: 0.95 ms more than the local disk.
    local = idle_mean_s("local-sata-plp", Operation.WRITE)
    local += idle_mean_s("local-sata-plp", Operation.SYNC)
    assert writes[0] + syncs[0] - local == pytest.approx(0.95e-3, rel=0.05)


def test_aurora_never_writes_below_a_millisecond() -> None:
    times_s = idle_s(catalogue.profile("aurora"), Operation.WRITE, Random(1), 20_000)
    assert min(times_s) >= 0.001
    assert 0.002 <= mean(times_s) <= 0.005
    profile = catalogue.profile("aurora")
    assert profile.front is not None
    assert profile.replication is not None
    fastest_s = idle_s(profile, Operation.SYNC, Random(1), 10)
    assert set(fastest_s) == {0.0}


def test_flushes_of_network_volumes_cost_nothing() -> None:
    for name in ("aws-gp3", "aws-gp2", "aws-io2-bx", "rds-gp3", "aws-efs-regional", "aurora"):
        assert catalogue.profile(name).device.sync == NO_TIME


def test_a_typo_suggests_the_nearest() -> None:
    with pytest.raises(SpecError) as caught:
        catalogue.profile("aws-pg3")
    assert (caught.value.message, caught.value.hint) == (
        "aws-pg3: no such profile",
        "did you mean aws-gp3?",
    )


@pytest.mark.parametrize("name", ["../presets/quick", "", "catalogue", "__init__"])
def test_a_name_is_no_way_out_of_the_catalogue(name: str) -> None:
    with pytest.raises(SpecError, match="no such profile"):
        catalogue.read(name)


def test_a_profile_of_ones_own_can_be_based_on_a_device_of_the_catalogue() -> None:
    profile = catalogue.load(
        {"profile": "mine", "based_on": "local-nvme-plp", "replication": {"replicas": 2}}
    )
    assert profile.device == catalogue.profile("local-nvme-plp").device
    assert profile.figures[0].what.startswith("each replica (local-nvme-plp): ")


def test_what_is_more_than_a_device_cannot_be_a_replica() -> None:
    with pytest.raises(SpecError, match="aurora: is more than one device"):
        catalogue.load({"profile": "mine", "based_on": "aurora"})
