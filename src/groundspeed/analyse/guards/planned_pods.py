"""What a plan says of a server in Kubernetes, as facts that two of them are compared over.

Two environments there are meant to be alike but for what `vary` says: also who makes the server,
its image, its resources and its place can be why one is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.guards import parity_facts
from groundspeed.analyse.guards.parity_facts import ABSENT, DEFAULT, Fact, Known
from groundspeed.analyse.guards.planned_settings import settings_facts
from groundspeed.plan import ClusterKind
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from groundspeed.plan import (
        ClusterRequest,
        EnvironmentPlan,
        PlacementRequest,
        ResourceRequest,
        ServiceRequest,
    )

_MAKERS = {ClusterKind.CNPG: "CloudNativePG", ClusterKind.POSTGRES: "a StatefulSet"}
_NETWORK = "TCP over a network"


def known(environment: EnvironmentPlan, asked: ClusterRequest, version: Fact) -> Known:
    """Gather the facts of a planned server there; of a given one, how it is reached alone."""
    if asked.service is not None:
        return Known(facts=_reached(asked.service), server_is_known=False)
    facts = {
        version: str(environment.version),
        Fact("host", "server made by"): _MAKERS[asked.kind],
        Fact("version", "image"): asked.image or DEFAULT,
        Fact("host", "instances"): str(asked.instance_count),
        Fact("host", "taken down meanwhile"): "yes" if asked.one_at_a_time else "no",
        parity_facts.PATH: _NETWORK,
        **_resources(asked.resources),
        **_placement(asked.placement),
        **_volumes(asked),
        **settings_facts(environment),
    }
    return Known(facts=facts, server_is_known=True)


def _reached(service: ServiceRequest) -> dict[Fact, str]:
    return {parity_facts.PATH: _NETWORK, Fact("connection", "sslmode"): service.sslmode}


def _resources(asked: ResourceRequest | None) -> dict[Fact, str]:
    memory = cores = pages = ABSENT
    if asked is not None:
        memory, cores = format_bytes(asked.memory_bytes), f"{asked.cpu_count:g} cores"
        if asked.huge_pages_bytes is not None:
            pages = format_bytes(asked.huge_pages_bytes)
    return {
        parity_facts.MEMORY: memory,
        Fact("cpu", "CPU limit"): cores,
        Fact("memory", "huge pages of the pod"): pages,
    }


def _placement(asked: PlacementRequest) -> dict[Fact, str]:
    labels = ", ".join(f"{name}={value}" for name, value in sorted(asked.node_selector))
    return {
        Fact("host", "node selector"): labels or ABSENT,
        Fact("host", "apart from others"): asked.apart,
    }


def _volumes(asked: ClusterRequest) -> dict[Fact, str]:
    volume, log = asked.volume, asked.wal_volume or asked.volume
    if volume is None or log is None:
        return {}
    return {
        parity_facts.STORAGE: volume.label,
        Fact("storage", "volume size"): format_bytes(volume.size_bytes),
        Fact("storage", "log on"): log.label
        if asked.wal_volume is None
        else f"{log.label}, a volume of its own of {format_bytes(log.size_bytes)}",
    }
