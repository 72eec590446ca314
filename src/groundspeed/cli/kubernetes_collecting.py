"""Brings all results of a run here: through its runner while that lives, else through our own pod.

Results are in a claim that outlives the pods; the collector only reads it, belongs to the anchor
like all else, and is gone when its caller is done.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from groundspeed.cli.kubernetes_options import DEFAULT_IMAGE
from groundspeed.cli.kubernetes_pods import (
    events_of,
    has_ended,
    is_running,
    pods_of,
)
from groundspeed.cli.kubernetes_pulling import Puller, pull_all, receiver_of
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.kube.waiting import wait_for, wait_gone
from groundspeed.manifests import runner, states
from groundspeed.manifests.collector import COLLECTOR_CONTAINER
from groundspeed.manifests.runner import RunnerOptions
from groundspeed.probes.cluster_objects import dug

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.states import Trouble
    from groundspeed.store.receiving import Received, Receiver

# An image that is there already; a volume that has to come loose from another node first.
_START_LIMIT_S = 300.0
_END_LIMIT_S = 60.0
_CONFLICT = 409
_ATTEMPTS = 3


def collect(api: Api, run: ClusterRun, run_dir: Path) -> Received:
    """Bring everything here. Raises TargetError when it cannot be had, StoreError of this disk.

    What arrived before is kept in any case. `is_there` of the answer is False for a run that wrote
    nothing yet.
    """
    receiver = receiver_of(run_dir)
    living = [pod for pod in pods_of(api, run, "runner") if is_running(pod)]
    if living:
        try:
            return _from_runner(api, run, living[-1], receiver)
        except KubeError:
            # It may have ended meanwhile; if it still runs, that is why.
            if any(is_running(pod) for pod in pods_of(api, run, "runner")):
                raise
    return _from_collector(api, run, receiver)


def results_of(api: Api, run: ClusterRun) -> Object | None:
    """Look for the claim that keeps the results of a run. Raises KubeError."""
    name = runner.results_name(run.run_id)
    return api.get(run.ref("v1", "PersistentVolumeClaim", name))


def may_hold_results(claim: Object | None) -> bool:
    """Tell whether there can be anything in it: a claim without a volume was never mounted."""
    return dug(claim, "status", "phase") != "Pending" if claim is not None else False


def directory_of(run: ClusterRun) -> str:
    """Name the run directory in the pods."""
    return f"{runner.RESULTS}/{run.run_id}"


def _from_runner(api: Api, run: ClusterRun, pod: Object, receiver: Receiver) -> Received:
    name = pod["metadata"]["name"]
    with Puller(api, name, runner.CONTAINER, directory_of(run), receiver) as puller:
        return pull_all(puller)


def _from_collector(api: Api, run: ClusterRun, receiver: Receiver) -> Received:
    claim = results_of(api, run)
    if claim is None:
        raise TargetError(
            f"the results of run {run.run_id} are not in namespace {run.namespace} any more",
            "what is in its local directory is all there is; groundspeed clean --list shows runs",
        )
    if not may_hold_results(claim):
        raise TargetError(
            f"run {run.run_id} has no results yet: its volume was never used",
            "groundspeed attach tells what it waits for",
        )
    with _collector(api, run) as name:
        where = directory_of(run)
        with Puller(api, name, COLLECTOR_CONTAINER, where, receiver) as puller:
            return pull_all(puller)


@contextmanager
def _collector(api: Api, run: ClusterRun) -> Iterator[str]:
    """Have a pod that can read the results, for as long as the block lasts."""
    anchor = api.get(run.anchor)
    owner = None if anchor is None else runner.owner_reference(anchor)
    wanted = runner.collector_pod(run.run_id, options=_options(run, anchor), owner=owner)
    ref = run.ref("v1", "Pod", runner.collector_name(run.run_id))
    made = None
    try:
        made = _make(api, run, wanted)
        wait_for(
            api,
            ref,
            lambda pod: pod is not None and is_running(pod),
            limit_s=_START_LIMIT_S,
            trouble=lambda pod: None if pod is None else _trouble(api, pod),
        )
        yield ref.name
    finally:
        # Another collect may have made it; then it is that one's to remove.
        if made is not None:
            api.delete(ref, uid=made["metadata"]["uid"])
            wait_gone(api, [ref], limit_s=_END_LIMIT_S)


def _make(api: Api, run: ClusterRun, wanted: Object) -> Object | None:
    """Make the pod; None where another collect has one. One that has ended is removed first."""
    ref = run.ref("v1", "Pod", runner.collector_name(run.run_id))
    for _ in range(_ATTEMPTS):
        try:
            return api.create(wanted)
        except KubeError as error:
            if error.status != _CONFLICT:
                raise
        there = api.get(ref)
        if there is not None and is_usable(there):
            return None
        if there is not None:
            api.delete(ref, uid=there["metadata"]["uid"])
            wait_gone(api, [ref], limit_s=_END_LIMIT_S)
    raise TargetError(
        f"pod {ref.name} comes and goes", "another groundspeed collects this run: wait for it"
    )


def is_usable(pod: Object) -> bool:
    """Tell whether a pod is not about to end."""
    return not has_ended(pod) and dug(pod, "metadata", "deletionTimestamp") is None


def _trouble(api: Api, pod: Object) -> Trouble | None:
    return states.pod_trouble(pod, events_of(api, pod))


def _options(run: ClusterRun, anchor: Object | None) -> RunnerOptions:
    """Find the image of a run: what is remembered here, or there, or today's default."""
    if run.options is not None:
        found = run.options
    else:
        try:
            found = runner.options_of(anchor or {"data": {runner.OPTIONS_KEY: ""}})
        except (msgspec.DecodeError, KeyError):
            found = RunnerOptions(image=os.environ.get("GROUNDSPEED_IMAGE", DEFAULT_IMAGE))
    return msgspec.structs.replace(found, namespace=run.namespace)
