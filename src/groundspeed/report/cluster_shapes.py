"""The shapes of a cluster in a report: where each server ran. Types without logic."""

from __future__ import annotations

import msgspec


class ClusterRow(msgspec.Struct, frozen=True, kw_only=True):
    """One environment's server; a text is empty where nothing is known.

    `volumes` has a text for each: that of the data first.
    """

    environment: str
    label: str
    node: str
    pod: str
    volumes: tuple[str, ...]
    made_by: str


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """Where the servers ran, and where the load was made; no rows outside of Kubernetes."""

    rows: tuple[ClusterRow, ...] = ()
    # "Kubernetes 1.34.4"
    version: str = ""
    load: str = ""
