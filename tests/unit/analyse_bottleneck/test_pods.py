"""Pods of Kubernetes that are held back: the server's own container tells, and not its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.bottleneck import diagnose
from groundspeed.analyse.diagnosis import Bottleneck, Confidence
from groundspeed.record import Series
from tests.clustered import make_cluster, make_container, make_work
from tests.unit.analyse_bottleneck import scenes
from tests.unit.analyse_bottleneck.scenes import Case

if TYPE_CHECKING:
    from groundspeed.analyse.diagnosis import Diagnosis
    from groundspeed.record.cluster_work import ClusterWork

# Of the server's machine nobody sees anything.
ELSEWHERE = {"server_cpu_count": None, "server_allowed_count": None}
AT_WORK = {"CPU:": 6.5, "Lock:transactionid": 1.0}


def diagnosis_of(waits: dict[str, float], work: ClusterWork, **cpu: object) -> Diagnosis:
    """Limits of four cores, eight clients, and what a test says of the cluster."""
    record = Case(waits, cpu=scenes.cpu(**{**ELSEWHERE, **cpu}), disk=None).record()
    assert record.evidence is not None
    return diagnose(
        msgspec.structs.replace(
            record,
            evidence=msgspec.structs.replace(record.evidence, cluster=work),
            provenance=msgspec.structs.replace(record.provenance, cluster=make_cluster()),
        ),
        series=Series(),
        course=scenes.course(),
    )


def held(ratio: float, cores: float, pod: str = "pg-0") -> object:
    return msgspec.structs.replace(make_container(pod, ratio), cpu_count=cores)


def test_a_server_at_the_limit_of_its_pod_is_starved() -> None:
    found = diagnosis_of(AT_WORK, make_work(server=held(0.92, 3.95)))

    assert (found.bottleneck, found.confidence) == (Bottleneck.CPU_STARVED, Confidence.SURE)
    assert [(clue.value, clue.source) for clue in found.clues] == [
        (0.92, "cpu.stat in the container"),
        (4.0, "limits.cpu of the pod"),
        (3.95, "cpu.stat in the container"),
    ]
    assert "limits.cpu" in found.remedy


def test_a_server_that_is_held_back_now_and_then_is_not() -> None:
    far = diagnosis_of(AT_WORK, make_work(server=held(0.6, 1.0)))
    seldom = diagnosis_of(AT_WORK, make_work(server=held(0.05, 3.9)))

    assert far.bottleneck is Bottleneck.CPU
    assert seldom.bottleneck is Bottleneck.CPU


def test_what_the_host_of_the_load_takes_starves_no_server() -> None:
    stolen = {"steal_ratio": 0.45, "idle_ratio": 0.01, "io_wait_ratio": 0.0, "core_count": 2}

    found = diagnosis_of({"CPU:": 3.0}, make_work(server=held(0.0, 1.0)), **stolen)

    assert found.bottleneck is not Bottleneck.CPU_STARVED


def test_a_load_that_is_held_back_is_the_limit() -> None:
    quiet = held(0.0, 0.4)
    work = make_work(server=quiet, client=quiet, generators=(held(0.8, 0.1, "g-1"), quiet))

    found = diagnosis_of({"CPU:": 0.5}, work, load_thread_ratio=0.1)

    assert found.bottleneck is Bottleneck.CLIENT
    assert found.clues[0].name == "of its quota's periods what makes the load was held back in"
    assert found.clues[0].value == pytest.approx(0.8)
    assert "limits.cpu for what makes the load" in found.remedy


def test_a_load_that_is_hardly_held_back_is_not() -> None:
    work = make_work(server=held(0.0, 0.4), client=held(0.02, 0.4, "runner"))

    found = diagnosis_of({"CPU:": 0.5}, work, load_thread_ratio=0.98)

    assert found.bottleneck is Bottleneck.CLIENT
    assert "held back" not in found.clues[0].name
