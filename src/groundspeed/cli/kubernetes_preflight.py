"""Looks, before anything is made, whether a cluster can take a run; says all at once.

What can be asked is asked by dry runs: the API server then judges by its own rules (rights,
admission, quota, Pod Security), those of webhooks among them.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from groundspeed.cli import kubernetes_rights
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import storage_classes
from groundspeed.manifests.naming import RUN_LABEL, Ref
from groundspeed.plan import ClusterKind
from groundspeed.probes.cluster_objects import dug, quantity
from groundspeed.report.scaling import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner import RunnerOptions
    from groundspeed.plan import EnvironmentPlan, Plan, ServiceRequest

Complaint = tuple[str, str]

CNPG_VERSION = "postgresql.cnpg.io/v1"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_HOSTNAME = "kubernetes.io/hostname"
_HUGE_PAGES = "hugepages-2Mi"
_NOT_ALLOWED, _BAD_REQUEST = 403, 400


def check(
    api: Api,
    plan: Plan,
    options: RunnerOptions,
    objects: Sequence[Object],
    served: Sequence[Object],
) -> None:
    """Look at everything that a run needs. Raises TargetError, with all complaints in one.

    `objects` are those that the caller will make, in order, `served` those that the runner will.
    Nothing is changed.
    """
    # Alone, as nothing else can be asked without them.
    api.server_version()
    _namespace(api)
    rights = kubernetes_rights.missing(api, objects)
    complaints = [
        *rights,
        *_operators(api, plan),
        *_classes(api, plan, options),
        *_services(api, plan),
        *_nodes(api, plan),
        # Without rights each of them would say the same again.
        *([] if rights else _dry_run(api, objects, served)),
    ]
    unique = list(dict.fromkeys(complaints))
    if unique:
        raise TargetError(*unique[0], further=tuple(unique[1:]))


def _namespace(api: Api) -> None:
    try:
        found = api.get(Ref(api_version="v1", kind="Namespace", name=api.namespace))
    except KubeError as error:
        # Whoever may not read namespaces can still have rights in one.
        if error.status != _NOT_ALLOWED:
            raise
        return
    if found is None:
        raise TargetError(
            f"there is no namespace {api.namespace}",
            f"kubectl create namespace {api.namespace}, or name another one with --namespace",
        )


def _environments(plan: Plan, kind: ClusterKind) -> list[EnvironmentPlan]:
    return [e for e in plan.environments if e.cluster is not None and e.cluster.kind is kind]


def _operators(api: Api, plan: Plan) -> Iterator[Complaint]:
    asked = _environments(plan, ClusterKind.CNPG)
    if asked and not api.has_kind(CNPG_VERSION, "Cluster"):
        yield (
            f"environment {asked[0].name}: CloudNativePG is not installed in this cluster",
            "install its operator, or write cluster: postgres",
        )


def _classes(api: Api, plan: Plan, options: RunnerOptions) -> Iterator[Complaint]:
    found = _readable(api, "storage.k8s.io/v1", "StorageClass")
    if found is None:
        return
    # Without those that runs brought along.
    names = [
        each["metadata"]["name"]
        for each in found
        if RUN_LABEL not in (each["metadata"].get("labels") or {})
    ]
    for name in storage_classes.classes_needed(plan):
        if name not in names:
            yield f"there is no storage class {name}", _near(name, names)
    drivers = _readable(api, "storage.k8s.io/v1", "CSIDriver")
    for name in storage_classes.provisioners_needed(plan):
        if drivers is not None and name not in [d["metadata"]["name"] for d in drivers]:
            yield (
                f"the storage driver {name} is not installed in this cluster",
                "install it, or name a class that is there: storage: {class: NAME}",
            )
    if options.results_class is not None and options.results_class not in names:
        yield (
            f"there is no storage class {options.results_class}",
            _near(options.results_class, names),
        )
    if options.results_class is None and not any(_is_default(each) for each in found):
        yield (
            "no storage class is the default here, so nothing says where results are kept",
            f"name one with --results-class: {', '.join(names) or 'the cluster has none yet'}",
        )


def _is_default(storage_class: Object) -> bool:
    annotations = dug(storage_class, "metadata", "annotations") or {}
    return annotations.get(_DEFAULT_CLASS) == "true"


def _near(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are {', '.join(names)}" if names else "the cluster has none at all"


def _services(api: Api, plan: Plan) -> Iterator[Complaint]:
    for environment in _environments(plan, ClusterKind.SERVICE):
        assert environment.cluster is not None  # noqa: S101 - it has a kind
        service = environment.cluster.service
        if service is not None:
            where = f"environment {environment.name}"
            yield from _service(api, service, where)
            yield from _secret(api, service, where)


def _service(api: Api, asked: ServiceRequest, where: str) -> Iterator[Complaint]:
    name, _, rest = asked.host.partition(".")
    namespace = rest.partition(".")[0] or api.namespace
    found = _readable(api, "v1", "Service", namespace)
    names = [each["metadata"]["name"] for each in found or ()]
    if found is not None and name not in names:
        yield f"{where}: there is no service {name} in namespace {namespace}", _near(name, names)


def _secret(api: Api, asked: ServiceRequest, where: str) -> Iterator[Complaint]:
    ref = Ref(api_version="v1", kind="Secret", name=asked.secret, namespace=api.namespace)
    try:
        found = api.get(ref)
    except KubeError as error:
        if error.status != _NOT_ALLOWED:
            raise
        return
    if found is None:
        yield (
            f"{where}: there is no secret {asked.secret} in namespace {api.namespace}",
            "the runner reads its user and password from there: make it in this namespace",
        )
        return
    keys = sorted(found.get("data") or {})
    for key in (asked.user_key, asked.password_key):
        if key not in keys:
            yield (
                f"{where}: secret {asked.secret} has no key {key}",
                f"it has {', '.join(keys) or 'none'}: name others with user_key, password_key",
            )


def _nodes(api: Api, plan: Plan) -> Iterator[Complaint]:
    nodes = _readable(api, "v1", "Node")
    if nodes is None:
        return
    names = [(dug(node, "metadata", "labels") or {}).get(_HOSTNAME, "") for node in nodes]
    most = max((_huge_pages_bytes(node) for node in nodes), default=0)
    for environment in plan.environments:
        asked = environment.cluster
        if asked is None:
            continue
        for volume in (asked.volume, asked.wal_volume):
            if volume is not None and volume.node is not None and volume.node not in names:
                what = f"environment {environment.name}: there is no node {volume.node}"
                yield what, _near(volume.node, names)
        wanted = asked.resources.huge_pages_bytes if asked.resources else None
        if wanted and wanted > most:
            sizes = f"no node has {format_bytes(wanted)}, the most is {format_bytes(most)}"
            yield (
                f"environment {environment.name}: huge pages of 2 MiB: {sizes}",
                "set vm.nr_hugepages on a node and restart its kubelet, or ask for fewer",
            )


def _huge_pages_bytes(node: Object) -> float:
    return quantity(dug(node, "status", "allocatable", _HUGE_PAGES)) or 0


def _readable(
    api: Api, api_version: str, kind: str, namespace: str | None = None
) -> list[Object] | None:
    """List what there is of a kind; None where that is not for us to read, or unknown here."""
    if not api.has_kind(api_version, kind):
        return None
    try:
        return api.list(api_version, kind, namespace=namespace)
    except KubeError as error:
        if error.status != _NOT_ALLOWED:
            raise
        return None


def _dry_run(api: Api, objects: Sequence[Object], served: Sequence[Object]) -> Iterator[Complaint]:
    # Of what the runner makes only the pods: the rest takes rights that the caller need not have.
    # A binding is judged by a role that is not there yet.
    made = [obj for obj in objects if obj["kind"] not in {"RoleBinding", "ClusterRoleBinding"}]
    asked = [*made, *(pod for obj in (*made, *served) for pod in _pods_of(obj))]
    for obj in asked:
        try:
            api.apply(obj, dry_run=True)
        except KubeError as error:
            # Webhooks that change more than the object cannot be asked without doing it.
            if error.status == _BAD_REQUEST and "dry run" in error.message:
                continue
            yield error.message, error.hint


def _pods_of(obj: Object) -> Iterator[Object]:
    """Make the pod of a template: Pod Security judges pods, and of a Job only warns."""
    template: dict[str, Any] | None = dug(obj, "spec", "template")
    if obj["kind"] not in {"Job", "StatefulSet"} or template is None:
        return
    claims = [each["metadata"]["name"] for each in dug(obj, "spec", "volumeClaimTemplates") or ()]
    # Its account is not there yet, and its claims would be made by a controller.
    spec = {k: v for k, v in template["spec"].items() if not k.startswith("serviceAccount")}
    spec["volumes"] = [*spec.get("volumes", ()), *({"name": n, "emptyDir": {}} for n in claims)]
    labels = dug(template, "metadata", "labels") or {}
    meta = {k: v for k, v in obj["metadata"].items() if k in {"name", "namespace"}}
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "labels": labels},
        "spec": spec,
    }
