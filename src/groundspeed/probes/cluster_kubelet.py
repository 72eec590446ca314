"""What the kubelet of a node says, where this user may ask it through the API server.

Its figures are some seconds old; their own times are taken for what they are about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from groundspeed.probes.cluster_objects import dug
from groundspeed.record.cluster_work import ContainerWork

if TYPE_CHECKING:
    from groundspeed.ports import PodPlace
    from groundspeed.probes.cluster_asking import Asking

KUBELET = "cluster-kubelet"
BY_KUBELET = "the kubelet's cAdvisor"
_SAMPLE = re.compile(r"^(container_cpu_\w+)\{(.*)\} (\S+)(?: (\d+))?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_METRICS = {
    "container_cpu_cfs_periods_total": "periods",
    "container_cpu_cfs_throttled_periods_total": "throttled",
    "container_cpu_cfs_throttled_seconds_total": "seconds",
    "container_cpu_usage_seconds_total": "cpu_s",
}


class Counted(NamedTuple):
    """What cAdvisor counted of a container since it began, at a moment since 1970; seconds."""

    periods: float
    throttled: float
    seconds: float
    cpu_s: float
    at_s: float


class Room(NamedTuple):
    """What of a volume is used, and what is free; bytes."""

    used_bytes: int | None
    free_bytes: int | None


def policies(asking: Asking, node: str) -> tuple[str | None, str | None]:
    """Ask for the policies of the CPU manager and of the topology manager."""
    text = asking.ask(KUBELET, lambda: asking.api.read(_path(node, "configz")))
    config = dug(_json(text), "kubeletconfig")
    return dug(config, "cpuManagerPolicy"), dug(config, "topologyManagerPolicy")


def room(asking: Asking, node: str, pod: PodPlace) -> Room | None:
    """Ask how full the volume of the data is; None where the kubelet does not tell."""
    text = asking.ask(KUBELET, lambda: asking.api.read(_path(node, "stats/summary")))
    wanted, claim = {"name": pod.name, "namespace": pod.namespace}, next(iter(pod.claims), None)
    for one in dug(_json(text), "pods") or []:
        if wanted.items() <= (one.get("podRef") or {}).items():
            for volume in one.get("volume") or []:
                if claim is not None and dug(volume, "pvcRef", "name") == claim:
                    return Room(volume.get("usedBytes"), volume.get("availableBytes"))
    return None


def _path(node: str, what: str) -> str:
    return f"/api/v1/nodes/{node}/proxy/{what}"


def _json(text: bytes | None) -> Any:  # noqa: ANN401 - whatever it says
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def counted(asking: Asking, node: str, pod: PodPlace) -> Counted | None:
    """Ask for how often the quota of a container bit: where no shell in it can be asked."""
    text = asking.ask(KUBELET, lambda: asking.api.read(_path(node, "metrics/cadvisor")))
    wanted = {"namespace": pod.namespace, "pod": pod.name, "container": pod.container}
    found: dict[str, float] = {}
    for name, labels, value, at_ms in _SAMPLE.findall((text or b"").decode(errors="replace")):
        if name in _METRICS and wanted.items() <= dict(_LABEL.findall(labels)).items():
            found[_METRICS[name]] = float(value)
            found["at_s"] = int(at_ms or 0) / 1e3
    return Counted(**found) if len(found) == len(Counted._fields) else None


def work(pod: str, before: Counted | None, after: Counted | None) -> ContainerWork | None:
    """Tell what came between two looks; None where one of them failed, or its container is new."""
    if before is None or after is None or after.cpu_s < before.cpu_s:
        return None
    elapsed_s = after.at_s - before.at_s
    return ContainerWork(
        pod=pod,
        cpu_count=(after.cpu_s - before.cpu_s) / elapsed_s if elapsed_s > 0 else None,
        period_count=round(after.periods - before.periods),
        throttled_count=round(after.throttled - before.throttled),
        throttled_s=after.seconds - before.seconds,
        source=BY_KUBELET,
    )
