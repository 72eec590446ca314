"""Where the files of a server in a cluster are, as its own container and its claims tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.kube.api import KubeError
from groundspeed.manifests import servers
from groundspeed.record import StorageFacts

if TYPE_CHECKING:
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.plan import EnvironmentPlan
    from groundspeed.targets.kube_access import ClusterAccess

_LOOK_LIMIT_S = 20.0
# As the provisioner of a volume is told on its claim, where classes may not be read.
_PROVISIONER = "volume.kubernetes.io/storage-provisioner"


class _Mount(NamedTuple):
    point: str
    filesystem: str
    options: str


def storage_facts(
    environment: EnvironmentPlan, access: ClusterAccess, pod: Object | None
) -> StorageFacts | None:
    """Tell the storage of a server made in the cluster; what could not be read is left empty.

    As the device its provisioner is named: what the node calls it is another one for every volume.
    """
    cluster = environment.cluster
    if cluster is None or cluster.volume is None:
        return None
    directories = servers.data_directories(environment, run_id=access.run_id)
    mounts = [] if pod is None else _mounts(access.api, pod)
    data, *log = [_mount_of(directory, mounts) for directory in directories]
    devices = _provisioners(access.api, claims_of(pod))
    has_log = bool(log)
    return StorageFacts(
        label=cluster.volume.label
        if cluster.wal_volume is None
        else f"{cluster.volume.label}, log on {cluster.wal_volume.label}",
        emulated=False,
        path=directories[0],
        filesystem=data.filesystem,
        mount_options=data.options,
        device=devices[0] if devices else "",
        wal_path=directories[1] if has_log else None,
        wal_filesystem=log[0].filesystem if has_log else None,
        wal_device=devices[1] if has_log and len(devices) > 1 else None,
    )


def claims_of(pod: Object | None) -> tuple[str, ...]:
    """Name the claims of a server's pod: that of the data first, then that of the log."""
    volumes = [] if pod is None else pod.get("spec", {}).get("volumes", [])
    claims = [
        (volume["name"], volume["persistentVolumeClaim"]["claimName"])
        for volume in volumes
        if "persistentVolumeClaim" in volume
    ]
    # wal with one maker, pg-wal with the other.
    return tuple(claim for _, claim in sorted(claims, key=lambda one: "wal" in one[0]))


def _mounts(api: Api, pod: Object) -> list[_Mount]:
    try:
        ran = api.execute(
            pod["metadata"]["name"],
            servers.CONTAINER,
            ("cat", "/proc/self/mounts"),
            limit_s=_LOOK_LIMIT_S,
        )
    except KubeError:
        return []
    rows = [line.split(" ") for line in ran.stdout.decode(errors="replace").splitlines()]
    return [_Mount(row[1], row[2], row[3]) for row in rows if len(row) > 3]  # noqa: PLR2004


def _mount_of(directory: str, mounts: list[_Mount]) -> _Mount:
    """Choose the mount that a directory lies on; the volume's own, never the container's root."""
    above = [m for m in mounts if m.point != "/" and f"{directory}/".startswith(f"{m.point}/")]
    return max(above, key=lambda mount: len(mount.point), default=_Mount("", "", ""))


def _provisioners(api: Api, claims: tuple[str, ...]) -> list[str]:
    found = []
    for name in claims:
        try:
            claim = next(
                iter(api.list("v1", "PersistentVolumeClaim", fields={"metadata.name": name})), {}
            )
        except KubeError:
            claim = {}
        found.append(claim.get("metadata", {}).get("annotations", {}).get(_PROVISIONER, ""))
    return found
