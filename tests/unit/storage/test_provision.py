from __future__ import annotations

import pytest

from groundspeed.errors import SpecError
from groundspeed.storage import catalogue
from groundspeed.storage.profile import Counted, Profile

MIB = 1024**2


def limits(profile: Profile) -> list[tuple[str, float, float]]:
    return [(li.of.value, li.rate_per_s, li.credits_count) for li in profile.device.limits]


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("aws-gp3", {}, [("requests", 3000, 0), ("bytes", 125 * MIB, 0)]),
        ("aws-gp3", {"iops": "16000"}, [("requests", 16000, 0), ("bytes", 125 * MIB, 0)]),
        (
            "aws-gp3",
            {"iops": "80000", "throughput": "2000MB/s"},
            [("requests", 80000, 0), ("bytes", 2000 * MIB, 0)],
        ),
        ("aws-gp3", {"throughput": "750MiB/s"}, [("requests", 3000, 0), ("bytes", 750 * MIB, 0)]),
        (
            "aws-gp2",
            {"size": "20GiB"},
            [("requests", 100, 5.4e6), ("requests", 3000, 0), ("bytes", 250 * MIB, 0)],
        ),
        (
            "aws-gp2",
            {"size": "500GiB"},
            [("requests", 1500, 5.4e6), ("requests", 3000, 0), ("bytes", 250 * MIB, 0)],
        ),
        ("aws-gp2", {"size": "1000GiB"}, [("requests", 3000, 0), ("bytes", 250 * MIB, 0)]),
        ("aws-gp2", {"size": "16TiB"}, [("requests", 16000, 0), ("bytes", 250 * MIB, 0)]),
        ("aws-io2-bx", {"iops": "256000"}, [("requests", 256000, 0), ("bytes", 4000 * MIB, 0)]),
        ("aws-io2-bx", {"iops": "1000"}, [("requests", 1000, 0), ("bytes", 250 * MIB, 0)]),
        ("rds-gp3", {"size": "400GiB"}, [("requests", 12000, 0), ("bytes", 500 * MIB, 0)]),
        ("rds-gp3", {"iops": "20000"}, [("requests", 20000, 0), ("bytes", 500 * MIB, 0)]),
        ("rds-gp3", {"size": "399GiB"}, [("requests", 3000, 0), ("bytes", 125 * MIB, 0)]),
    ],
)
def test_what_is_bought_becomes_limits(
    name: str, parameters: dict[str, str], expected: list[tuple[str, float, float]]
) -> None:
    profile = catalogue.profile(name, parameters)
    assert limits(profile) == expected
    assert dict(profile.parameters) == parameters


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("aws-gp3", {"iops": "3000", "throughput": "125MiB/s"}),
        ("aws-gp2", {"size": "100GiB"}),
        ("aws-io2-bx", {"iops": "16000"}),
        ("rds-gp3", {"size": "400GiB"}),
        ("longhorn-2r", {"over": "local-sata-plp"}),
    ],
)
def test_the_packaged_file_is_what_the_rule_gives_for_its_defaults(
    name: str, parameters: dict[str, str]
) -> None:
    plain, provisioned = catalogue.profile(name), catalogue.profile(name, parameters)
    assert (plain.device, plain.replication) == (provisioned.device, provisioned.replication)
    assert plain.figures == provisioned.figures


def test_a_small_gp2_bursts_as_long_as_aws_says() -> None:
    baseline, burst, _ = catalogue.profile("aws-gp2").device.limits
    drained_s = baseline.credits_count / (burst.rate_per_s - baseline.rate_per_s)
    assert drained_s == pytest.approx(33 * 60, rel=0.02)


def test_an_unstriped_rds_volume_serves_a_quarter_at_once() -> None:
    striped, single = (
        catalogue.profile("rds-gp3", {"size": size}).device.parallel_count
        for size in ("400GiB", "100GiB")
    )
    assert striped == 4 * single


def test_longhorn_goes_over_another_device_and_a_link() -> None:
    made = catalogue.profile("longhorn-2r", {"over": "aws-gp3", "link": "1Gbit/s"})
    assert made.device == catalogue.profile("aws-gp3").device
    assert made.replication is not None
    assert made.replication.link_bytes_per_s == 125_000_000
    assert made.label == "longhorn-2r (over=aws-gp3, link=1Gbit/s)"
    replicas = {f.what.partition(":")[0] for f in made.figures if f.what.startswith("each replica")}
    assert replicas == {"each replica (aws-gp3)"}
    assert made.front == catalogue.profile("longhorn-2r").front


@pytest.mark.parametrize(
    ("name", "parameters", "message", "hint"),
    [
        ("aws-gp3", {"iops": "2999"}, "aws-gp3: iops=2999: not possible", "from 3000 to 80000"),
        ("aws-gp3", {"iops": "80001"}, "aws-gp3: iops=80001", "from 3000 to 80000"),
        ("aws-gp3", {"iops": "many"}, "aws-gp3: iops=many", "from 3000 to 80000"),
        ("aws-gp3", {"iops": "-3000"}, "aws-gp3: iops=-3000", "from 3000 to 80000"),
        ("aws-gp3", {"throughput": "124MB/s"}, "throughput=124MB/s", "from 125MiB/s to 2000MiB/s"),
        ("aws-gp3", {"throughput": "500"}, "throughput=500", "from 125MiB/s to 2000MiB/s"),
        ("aws-gp3", {"throughput": "751MB/s"}, "throughput=751MB/s", "0.25 MiB/s for each of iops"),
        ("aws-gp3", {"iop": "4000"}, "aws-gp3: no parameter 'iop'", "did you mean 'iops'?"),
        ("aws-gp3", {"zzz": "1"}, "aws-gp3: no parameter 'zzz'", "iops: from 3000 to 80000; thr"),
        ("aws-gp2", {"size": "17TiB"}, "aws-gp2: size=17TiB", "from 1GiB to 16TiB"),
        ("aws-gp2", {"size": "100"}, "aws-gp2: size=100", "from 1GiB to 16TiB"),
        ("aws-io2-bx", {"iops": "256001"}, "iops=256001", "from 100 to 256000"),
        ("rds-gp3", {"size": "19GiB"}, "size=19GiB", "from 20GiB to 64TiB"),
        (
            "rds-gp3",
            {"size": "399GiB", "iops": "12000"},
            "rds-gp3: iops=12000",
            "with a size of 400GiB or more",
        ),
        ("longhorn-1r", {"link": "1Gbit/s"}, "longhorn-1r: link=1Gbit/s", "2 replicas or more"),
        ("longhorn-2r", {"over": "nfs"}, "nfs: is more than one device", "local-sata-plp"),
        ("longhorn-2r", {"over": "sata"}, "sata: no such profile", ""),
        ("weka", {"iops": "1"}, "weka: no parameter 'iops'", "write one of your own"),
    ],
)
def test_what_cannot_be_bought_is_refused_with_its_range(
    name: str, parameters: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(SpecError) as caught:
        catalogue.profile(name, parameters)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_rule_that_there_is_not_is_refused() -> None:
    with pytest.raises(SpecError, match="mine: no provisioning 'aws-gp9'"):
        catalogue.load({"profile": "mine", "device": {"parallel": 1}, "provisioning": "aws-gp9"})


def test_a_profile_of_ones_own_can_be_provisioned_by_a_rule() -> None:
    made = catalogue.load(
        {"profile": "mine", "device": {"parallel": 1}, "provisioning": "aws-gp3"},
        {"iops": "5000"},
    )
    assert made.label == "mine (iops=5000)"
    assert [li.rate_per_s for li in made.device.limits if li.of is Counted.REQUESTS] == [5000]
