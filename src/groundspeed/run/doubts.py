"""Doubts that a trial has from its circumstances and from what could not be seen of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.record import Caution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.record import ClusterFacts, Evidence, HostFacts, ServerFacts, StorageFacts

# A dataset below this share of the memory stays in the page cache beside everything else.
_CACHED_RATIO = 0.7
# Absent by what the machine, the server or the environment is, and told by `Evidence.absent` alone:
# a caution that rides on every record is read by nobody. Extensions and timings are the user's.
_BY_NATURE = frozenset(
    {
        *("cpu-frequency", "io-timing", "latency-monitor", "pressure", "statements"),
        "wal-io-timing",
        # Whoever may see one namespace alone sees nothing of nodes.
        *("cluster-kubelet", "cluster-node", "cluster-node-events", "cluster-server"),
    }
)
# Of a given server, which is asked over SQL alone.
_ELSEWHERE = frozenset({"control-group", "disk", "server-processes", "serving-thread"})
_DISKS = frozenset({"disk", "wal-disk"})
_MEMORY_FILESYSTEMS = frozenset({"ramfs", "tmpfs"})
# First versions of PostgreSQL that tell.
_SINCE = {"io-statistics": 160000, "wal-statistics": 140000}


def of_circumstances(
    storage: StorageFacts | None,
    host: HostFacts,
    dataset_bytes: int | None,
    cluster: ClusterFacts | None = None,
) -> Iterator[Caution]:
    """Doubts that hold for every trial of an environment that is ours; none of a given one.

    `dataset_bytes` is what reads would have to fetch; None where they never do. Of a server in
    Kubernetes `cluster` is known; what it shares is judged with all of its trials.
    """
    if storage is None:
        return
    if cluster is None:
        yield Caution(
            code="shared-machine",
            message="server and load share the cores of this machine"
            f" ({host.cpu_count}): what the load takes, the server lacks",
        )
    memory_bytes, whose = _memory(storage, host, cluster)
    if _is_less(dataset_bytes, memory_bytes):
        yield Caution(
            code="cached-dataset",
            message=f"the dataset fits in {whose}: reads come from there, and only writes"
            " reach the storage",
        )
    if storage.memory_assumed:
        yield Caution(
            code="assumed-memory",
            message="the suite names no memory for the emulated environment: that of this"
            " machine is assumed, less its shared buffers, for the page cache",
        )


def _memory(
    storage: StorageFacts, host: HostFacts, cluster: ClusterFacts | None
) -> tuple[int | None, str]:
    """Give the memory that reads may be answered from, and whose it is."""
    if storage.memory_bytes is not None:
        # On an emulated device no more is cached than the environment's own memory holds.
        return storage.memory_bytes, "the memory of the environment"
    if cluster is not None:
        return cluster.memory_bytes, "the memory of the server's pod"
    return host.memory_bytes, "this machine's memory"


def _is_less(dataset_bytes: int | None, memory_bytes: int | None) -> bool:
    if dataset_bytes is None or memory_bytes is None:
        return False
    return dataset_bytes < memory_bytes * _CACHED_RATIO


def of_absent(
    evidence: Evidence,
    storage: StorageFacts | None,
    server: ServerFacts | None,
    cluster: ClusterFacts | None = None,
) -> Iterator[Caution]:
    """One doubt for all that probes should have seen and did not; storage None: a given server."""
    # Of one in Kubernetes as much is out of sight.
    near = None if cluster is not None else storage
    told = dict.fromkeys(
        f"{absent.what} ({absent.reason})"
        for absent in evidence.absent
        if not _is_natural(absent.what, near, server)
    )
    if told:
        message = " ".join(f"not seen: {'; '.join(told)}".split())
        yield Caution(code="absent-probes", message=message)


def _is_natural(what: str, storage: StorageFacts | None, server: ServerFacts | None) -> bool:
    if what in _BY_NATURE:
        return True
    if what in _SINCE and server is not None:
        return server.version_num < _SINCE[what]
    if storage is None:
        return what in _ELSEWHERE
    # Memory has no disk, and the real one below an emulated device is nobody's question.
    in_memory = storage.filesystem in _MEMORY_FILESYSTEMS
    return what in _DISKS and (storage.emulated or in_memory)
