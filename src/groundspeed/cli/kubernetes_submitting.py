"""Makes in a cluster what a run needs, in an order by which nothing is ever without its owner.

Everything is named and written down in the anchor before it is made. Done twice it comes to the
same: what is there stays, and a second Job is never made.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from groundspeed.cli import kubernetes_preflight, kubernetes_rights
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming, runner, servers
from groundspeed.manifests.naming import ref_of
from groundspeed.probes.cluster_objects import dug

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner import RunnerOptions
    from groundspeed.plan import Plan

_CONFLICT, _NOT_ALLOWED = 409, 403
_PASSWORD_BYTES = 24
# Stands in for an owner that is not there yet, where the API server is only asked.
_NOBODY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "not-yet",
    "uid": "00000000-0000-4000-8000-000000000000",
}


class Shipped(msgspec.Struct, frozen=True, kw_only=True):
    """What the pod makes the plan of: the files of the suite and how they are loaded."""

    files: dict[str, str]
    arguments: tuple[str, ...]


def with_evidence(
    api: Api, plan: Plan, run_id: str, options: RunnerOptions, *, asked: bool | None
) -> RunnerOptions:
    """Let the runner read nodes and volumes where that was asked for, or where it may be allowed.

    Raises KubeError when it cannot be asked.
    """
    if asked is not None or options.service_account is not None:
        return msgspec.structs.replace(options, cluster_evidence=bool(asked))
    wanted = msgspec.structs.replace(options, cluster_evidence=True)
    made = runner.run_objects(plan, run_id=run_id, options=wanted, owner=None)
    access = [one for one in made if one["kind"] in {"ClusterRole", "ClusterRoleBinding"}]
    if not kubernetes_rights.may_make(api, access):
        return options
    [role] = [one for one in access if one["kind"] == "ClusterRole"]
    try:
        api.apply(role, dry_run=True)
    except KubeError as error:
        # Nobody gives a right away that is not theirs.
        if error.status != _NOT_ALLOWED:
            raise
        return options
    return wanted


def check(api: Api, plan: Plan, run: ClusterRun, shipped: Shipped) -> None:
    """Look whether the cluster can take it. Raises TargetError, with all that is missing."""
    options = _options(run)
    made = (
        _anchor(plan, run, shipped),
        *_secret(plan, run),
        *runner.run_objects(plan, run_id=run.run_id, options=options, owner=_NOBODY),
    )
    served = [
        one
        for environment in plan.environments
        if environment.cluster is not None
        for one in servers.server_objects(
            environment,
            run_id=run.run_id,
            owner=_NOBODY,
            credentials=runner.credentials_name(run.run_id),
        )
    ]
    kubernetes_preflight.check(api, plan, options, made, served)


def submit(api: Api, plan: Plan, run: ClusterRun, shipped: Shipped) -> bool:
    """Make the run in the cluster; False when its Job was there already.

    Raises KubeError; then what was made so far is found, and removed, by its anchor.
    """
    made = _create(api, _anchor(plan, run, shipped))
    anchor = made or api.get(run.anchor)
    if anchor is None or not _is_of(anchor, run):
        raise TargetError(
            f"ConfigMap {run.name} in namespace {run.namespace} is not of this run",
            "another thing has its name: start the run again, it then gets another one",
        )
    owner = runner.owner_reference(anchor)
    for secret in _secret(plan, run):
        # Never applied again: the servers have the password of the first one.
        _create(api, _owned(secret, owner))
    *others, job = runner.run_objects(plan, run_id=run.run_id, options=_options(run), owner=owner)
    for one in others:
        _free(api, api.apply(one))
    return _create(api, job) is not None


def _free(api: Api, made: Object) -> None:
    """Let a static volume be taken again whose claim is gone: of a server that was removed.

    Nobody else does it: such a volume counts as one with somebody's data on it.
    """
    if made["kind"] == "PersistentVolume" and dug(made, "status", "phase") == "Released":
        api.patch(ref_of(made), {"spec": {"claimRef": None}})


def _options(run: ClusterRun) -> RunnerOptions:
    assert run.options is not None  # noqa: S101 - a run that is submitted has them
    return run.options


def _anchor(plan: Plan, run: ClusterRun, shipped: Shipped) -> Object:
    return runner.anchor(
        plan,
        run_id=run.run_id,
        options=_options(run),
        suite_files=shipped.files,
        overrides=shipped.arguments,
    )


def _is_of(anchor: Object, run: ClusterRun) -> bool:
    labels = anchor["metadata"].get("labels") or {}
    return bool(labels.get(naming.RUN_LABEL) == naming.label_value(run.run_id))


def _create(api: Api, obj: Object) -> Object | None:
    """Create an object; None when it is there."""
    try:
        return api.create(obj)
    except KubeError as error:
        if error.status != _CONFLICT:
            raise
        return None


def _secret(plan: Plan, run: ClusterRun) -> tuple[Object, ...]:
    """Make up the password of the servers of a run; it is nowhere but in the cluster."""
    if not runner.makes_servers(plan):
        return ()
    meta = {
        "name": runner.credentials_name(run.run_id),
        "namespace": run.namespace,
        "labels": naming.labels(run.run_id, "credentials"),
    }
    return (
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": meta,
            "type": "kubernetes.io/basic-auth",
            "stringData": {
                "username": "postgres",
                "password": secrets.token_urlsafe(_PASSWORD_BYTES),
            },
        },
    )


def _owned(obj: Object, owner: Mapping[str, str]) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [dict(owner)]}}
