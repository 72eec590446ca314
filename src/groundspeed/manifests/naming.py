"""Names and labels of all that a run makes in a cluster; by them it is found and removed again."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

# An object as the API server has it.
Object = dict[str, Any]

MANAGER = "groundspeed"
RUN_LABEL = "groundspeed/run"
ENVIRONMENT_LABEL = "groundspeed/environment"
# runner, generator, server, collector, results, credentials, access, storage.
ROLE_LABEL = "groundspeed/role"
# On a server: the scale its database was filled with, once it was.
PREPARED_ANNOTATION = "groundspeed/prepared-scale"
# On the StatefulSet or Cluster: what its server was asked to be; another value is another server.
SPEC_HASH_ANNOTATION = "groundspeed/spec-hash"
# A StatefulSet's pods carry its name and a hash of 11 characters, CloudNativePG takes 50: so much
# is left for all of ours.
_LONGEST_NAME = 50
_LONGEST_LABEL = 63


class Ref(msgspec.Struct, frozen=True, kw_only=True):
    """Which object is meant; `namespace` is None for one that belongs to the whole cluster."""

    api_version: str
    kind: str
    name: str
    namespace: str | None = None


def ref_of(obj: Mapping[str, Any]) -> Ref:
    """Tell which object this one is."""
    meta = obj["metadata"]
    return Ref(
        api_version=obj["apiVersion"],
        kind=obj["kind"],
        name=meta["name"],
        namespace=meta.get("namespace"),
    )


def run_name(run_id: str) -> str:
    """Name what a whole run shares, as in gs-1f6c02ab-quick: short, and unique by its run."""
    digest = hashlib.sha256(run_id.encode()).hexdigest()[:8]
    return _cut(f"gs-{digest}-{re.sub(r'^[0-9]+-[0-9]+-', '', run_id)}", 30)


def server_name(run_id: str, environment_slug: str) -> str:
    """Name the server of an environment; the results of a run never collide with another's."""
    digest = hashlib.sha256(run_id.encode()).hexdigest()[:8]
    own = hashlib.sha256(environment_slug.encode()).hexdigest()[:4]
    whole = f"gs-{digest}-{environment_slug}"
    return whole if len(whole) <= 40 else f"{_cut(whole, 35)}-{own}"  # noqa: PLR2004


def _cut(name: str, length: int) -> str:
    text = re.sub(r"[^a-z0-9-]+", "-", name.lower())
    return text[: min(length, _LONGEST_NAME)].strip("-")


def labels(run_id: str, role: str, environment_slug: str | None = None) -> dict[str, str]:
    """Label an object of a run."""
    found = {
        "app.kubernetes.io/name": "groundspeed",
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/component": role,
        RUN_LABEL: label_value(run_id),
        ROLE_LABEL: role,
    }
    if environment_slug is not None:
        found[ENVIRONMENT_LABEL] = label_value(environment_slug)
    return found


def label_value(text: str) -> str:
    """Write a text as the value of a label; run ids of ours stay as they are."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    if len(safe) > _LONGEST_LABEL:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        safe = f"{safe[: _LONGEST_LABEL - 9]}-{digest}"
    return safe.strip("-_.")
