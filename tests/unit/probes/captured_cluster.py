"""Objects of a real cluster (Kubernetes 1.34.4, CloudNativePG 1.29), in the server of the tests.

Of Longhorn there was no engine: its objects are of its own types, with a state that was put there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundspeed.ports import PodPlace, WatchPoints
from tests.kube_server import KubeServer
from tests.kube_store import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

CAPTURED = Path(__file__).parent / "captured"
OBJECTS: dict[str, Any] = json.loads((CAPTURED / "cluster.json").read_text())
NODE = "node-a"
SERVER = PodPlace(
    namespace="bench", name="pg-0", container="postgres", uid="1", claims=("data-pg-0",)
)
RUNNER = PodPlace(namespace="bench", name="load", container="runner")
POINTS = WatchPoints(conninfo="host=pg", password=None, groundspeed_pid=1, pod=SERVER)
LONGHORN = (
    Kind("longhorn.io/v1beta2", "Volume", "volumes"),
    Kind("longhorn.io/v1beta2", "Replica", "replicas"),
)


def captured(name: str) -> Any:  # noqa: ANN401 - an object, or a list of them
    return json.loads(json.dumps(OBJECTS[name]))


def cluster() -> KubeServer:
    """A server with all that was captured; its kubelet answers, and pods have a shell."""
    server = KubeServer(cnpg=True)
    server.kinds += LONGHORN
    for name in OBJECTS:
        if name in {"configz", "summary"}:
            continue
        found = captured(name)
        for one in found if isinstance(found, list) else [found]:
            server.put(one)
    kubelet = f"/api/v1/nodes/{NODE}/proxy"
    server.serve(f"{kubelet}/configz", captured("configz"))
    server.serve(f"{kubelet}/stats/summary", captured("summary"))
    server.serve(f"{kubelet}/metrics/cadvisor", (CAPTURED / "cadvisor.txt").read_text())
    server.on_exec(lambda _pod, _container, _argv: telling(group_text()))
    return server


def group_text(**changed: int) -> str:
    """What a shell in the container told of its control group; counters may be others."""
    lines = (CAPTURED / "control-group-v1.txt").read_text().splitlines()
    told = []
    for line in lines:
        name, _, _ = line.partition(" ")
        told.append(f"{name} {changed[name]}" if name in changed else line)
    return "\n".join(told) + "\n"


def telling(text: str) -> Sequence[str]:
    """A local program that prints a text."""
    return (sys.executable, "-c", f"print({text!r}, end='')")
