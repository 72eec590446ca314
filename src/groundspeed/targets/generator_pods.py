"""The pods of the load generators, as the API server knows them: ready ones and lost ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming, states
from groundspeed.manifests.naming import Ref, ref_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

# For an image to come and a node to be added; a trouble that waiting does not end is told at once.
_READY_LIMIT_S = 600.0
_LOOK_EVERY_S = 5.0
# On the pods of an Indexed Job.
_INDEX = "batch.kubernetes.io/job-completion-index"


class GeneratorPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is ready to make load. `index` is its number within the Job, from 0."""

    name: str
    uid: str
    index: int
    node: str
    container: str


def ready_pods(
    api: Api, job: Object, *, run_id: str, count: int, tell: Callable[[str], None]
) -> tuple[GeneratorPod, ...]:
    """Wait until there is a ready pod for every number, and give them in order.

    Raises TargetError, at once for a trouble that does not pass by itself.
    """
    deadline_s = time.monotonic() + _READY_LIMIT_S
    pods = _list(api, run_id)
    told = 0
    while (missing := count - len(ready := _ready(pods))) > 0:
        if missing != told:
            tell(f"waiting for {missing} of {count} load generators")
            told = missing
        _refuse_trouble(api, job, pods, is_last=time.monotonic() > deadline_s)
        pods = _after_change(api, run_id, pods)
    return tuple(ready[index] for index in sorted(ready))


def _list(api: Api, run_id: str) -> list[Object]:
    return api.list("v1", "Pod", labels=_labels(run_id))


def _labels(run_id: str) -> dict[str, str]:
    return {naming.RUN_LABEL: naming.label_value(run_id), naming.ROLE_LABEL: "generator"}


def _ready(pods: Sequence[Object]) -> dict[int, GeneratorPod]:
    found = [_pod(pod) for pod in pods if states.is_ready(pod)]
    return {pod.index: pod for pod in found}


def _pod(pod: Object) -> GeneratorPod:
    meta: dict[str, Any] = pod["metadata"]
    told = {**meta.get("annotations", {}), **meta.get("labels", {})}
    return GeneratorPod(
        name=meta["name"],
        uid=meta["uid"],
        index=int(told.get(_INDEX, 0)),
        node=pod["spec"].get("nodeName", ""),
        container=pod["spec"]["containers"][0]["name"],
    )


def _after_change(api: Api, run_id: str, before: Sequence[Object]) -> list[Object]:
    """Wait until something is told of the pods that was not known, or for some seconds."""
    known = {(pod["metadata"]["uid"], pod["metadata"]["resourceVersion"]) for pod in before}
    watch = api.watch("v1", "Pod", labels=_labels(run_id), limit_s=_LOOK_EVERY_S)
    for change in watch:
        meta = change.object["metadata"]
        if change.kind == "DELETED" or (meta["uid"], meta["resourceVersion"]) not in known:
            break
    return _list(api, run_id)


def _refuse_trouble(api: Api, job: Object, pods: Sequence[Object], *, is_last: bool) -> None:
    found = api.get(ref_of(job))
    if found is None:
        raise TargetError("the Job of the load generators is gone", "somebody deleted it?")
    troubles = [states.job_trouble(found)]
    troubles += [states.pod_trouble(pod, _events(api, pod)) for pod in pods]
    known = [trouble for trouble in troubles if trouble is not None]
    # What passes by itself comes last: a pod that failed is only there until its successor is.
    known.sort(key=lambda trouble: not trouble.is_final)
    if known and (known[0].is_final or is_last):
        raise TargetError(f"load generators: {known[0].message}", known[0].hint)
    if is_last:
        raise TargetError(
            f"load generators are not ready after {_READY_LIMIT_S:.0f} s",
            "kubectl describe pods -l groundspeed/role=generator tells why",
        )


def _events(api: Api, pod: Object) -> list[Object]:
    return api.list("v1", "Event", fields={"involvedObject.uid": pod["metadata"]["uid"]})


def why_lost(api: Api, pod: GeneratorPod) -> str | None:
    """Say what became of a pod in which a load was made; None where it lives on."""
    ref = Ref(api_version="v1", kind="Pod", name=pod.name, namespace=api.namespace)
    try:
        found = api.get(ref)
        if found is None or found["metadata"]["uid"] != pod.uid:
            return "its pod is gone"
        trouble = states.disruption(found)
        if trouble is None and "deletionTimestamp" in found["metadata"]:
            return "its pod is being deleted"
        trouble = trouble or states.pod_trouble(found, _events(api, found))
    except KubeError as error:
        return error.message
    return None if trouble is None else trouble.message


def server_nodes(api: Api, *, run_id: str, environment_slug: str) -> frozenset[str]:
    """Tell on which nodes an environment's server runs; none for one that is given."""
    labels = {
        naming.RUN_LABEL: naming.label_value(run_id),
        naming.ROLE_LABEL: "server",
        naming.ENVIRONMENT_LABEL: naming.label_value(environment_slug),
    }
    pods = api.list("v1", "Pod", labels=labels)
    running = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]
    return frozenset(pod["spec"]["nodeName"] for pod in running if pod["spec"].get("nodeName"))
