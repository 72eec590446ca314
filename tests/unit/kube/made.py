"""Objects and references of the tests beside this."""

from __future__ import annotations

from typing import Any

from groundspeed.manifests.naming import Ref


def config_map(name: str = "one", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def config_map_ref(name: str = "one", namespace: str | None = "bench") -> Ref:
    return Ref(api_version="v1", kind="ConfigMap", name=name, namespace=namespace)


def pod_ref(name: str) -> Ref:
    return Ref(api_version="v1", kind="Pod", name=name, namespace="bench")
