"""Where the files of a server in a cluster are: as its container and its claims tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.manifests import naming, servers
from groundspeed.targets import kube_volumes
from groundspeed.targets.kube_access import Reached
from tests.kube_runs import RUN_ID, access, planned, pod, put_anchor, suite_text
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.record import StorageFacts
    from tests.kube_store import Object

SERVER = naming.server_name(RUN_ID, "a")
LOG = {"wal_storage": {"gp3": {}, "size": "1GiB"}}
MOUNTS = f"""\
overlay / overlay rw,relatime 0 0
/dev/nvme1n1 /var/lib/postgresql/data ext4 rw,noatime 0 0
/dev/nvme2n1 /var/lib/postgresql/wal xfs rw 0 0
tmpfs /var/lib/postgresql/data/{SERVER}/pg_stat tmpfs rw 0 0
"""


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer() as server:
        yield server


def put_pod(kube: KubeServer, *claims: str) -> Object:
    found = ready_pod(f"{SERVER}-0", container=servers.CONTAINER)
    found["spec"]["volumes"] = [
        {"name": "tmp", "emptyDir": {}},
        *(
            {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{SERVER}-0"}}
            for name in claims
        ),
    ]
    for name in claims:
        kube.put(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": f"{name}-{SERVER}-0",
                    "annotations": {
                        "volume.kubernetes.io/storage-provisioner": f"{name}.csi.example"
                    },
                },
            }
        )
    return kube.put(found)


def facts(kube: KubeServer, found: Object | None, **environment: object) -> StorageFacts:
    [planned_one] = planned(suite_text({"a": pod(**environment)})).environments
    reached = Reached(host="127.0.0.1", port=1)
    known = access(kube.client(), put_anchor(kube), lambda _: reached)
    told = kube_volumes.storage_facts(planned_one, known, found)
    assert told is not None
    assert told.emulated is False
    return told


def test_a_volume_is_what_its_container_sees(kube: KubeServer) -> None:
    kube.on_exec(lambda *_: ["printf", "%s", MOUNTS])
    told = facts(kube, put_pod(kube, "data"))
    assert (told.label, told.filesystem, told.mount_options) == ("fast", "ext4", "rw,noatime")
    assert told.path == f"/var/lib/postgresql/data/{SERVER}"
    # What the node calls it is another name for every volume, and would look like a difference.
    assert told.device == "data.csi.example"
    assert told.wal_path is None


def test_the_log_has_its_own(kube: KubeServer) -> None:
    kube.on_exec(lambda *_: ["printf", "%s", MOUNTS])
    told = facts(kube, put_pod(kube, "wal", "data"), **LOG)
    assert told.label == "fast, log on gp3 3,000 IOPS, 125 MiB/s"
    assert told.device == "data.csi.example"
    assert (told.wal_filesystem, told.wal_device) == ("xfs", "wal.csi.example")


def test_what_cannot_be_read_is_left_empty(kube: KubeServer) -> None:
    kube.deny("*", "pods/exec")
    kube.deny("*", "persistentvolumeclaims")
    told = facts(kube, put_pod(kube, "data", "wal"), **LOG)
    assert (told.filesystem, told.device, told.wal_filesystem, told.wal_device) == ("", "", "", "")
    assert told.label.startswith("fast")


def test_without_a_pod_only_the_plan_tells(kube: KubeServer) -> None:
    assert facts(kube, None).label == "fast"


def test_claims_are_named_data_first(kube: KubeServer) -> None:
    found = put_pod(kube, "pg-wal", "pgdata")
    assert kube_volumes.claims_of(found) == (f"pgdata-{SERVER}-0", f"pg-wal-{SERVER}-0")
