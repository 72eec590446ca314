from __future__ import annotations

import pytest

from groundspeed.manifests import naming, placing
from groundspeed.plan import PlacementRequest, ResourceRequest


@pytest.mark.parametrize(
    ("count", "text"), [(2, "2"), (0.5, "500m"), (1.5, "1500m"), (0.1, "100m"), (16.0, "16")]
)
def test_cores(count: float, text: str) -> None:
    assert placing.cpu(count) == text


@pytest.mark.parametrize(
    ("apart", "key", "roles"),
    [
        ("node", placing.HOSTNAME, {"runner", "generator", "server"}),
        ("zone", placing.ZONE, {"runner", "generator", "server"}),
        ("load", placing.HOSTNAME, {"runner", "generator"}),
    ],
)
def test_apart_from_whom_and_where(apart: str, key: str, roles: set[str]) -> None:
    found = placing.anti_affinity(apart, run_id="r", environment_slug="a")
    assert found is not None
    (term,) = found["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == key
    wanted = {one["key"]: one for one in term["labelSelector"]["matchExpressions"]}
    assert wanted[naming.RUN_LABEL]["values"] == ["r"]
    assert set(wanted[naming.ROLE_LABEL]["values"]) == roles


def test_anywhere() -> None:
    assert placing.anti_affinity("no", run_id="r", environment_slug="a") is None
    assert placing.node_choice(PlacementRequest()) == {}


def test_shared_memory_without_resources() -> None:
    assert placing.shared_memory_bytes(None) == 1024**3
    asked = ResourceRequest(cpu_count=1, memory_bytes=1000)
    assert placing.shared_memory_bytes(asked) == 500
    assert placing.resources(None) is None
