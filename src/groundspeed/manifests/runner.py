"""What runs a suite in a cluster, as objects: the anchor, its rights, its claim and its Job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.manifests import naming
from groundspeed.manifests.collector import collector_name, collector_pod
from groundspeed.manifests.generator_job import (
    GENERATOR_CONTAINER,
    generator_job,
    generator_labels,
    generator_name,
)
from groundspeed.manifests.naming import Ref, ref_of
from groundspeed.manifests.runner_job import (
    CONTAINER,
    RUN_ID_VARIABLE,
    SERVER_PASSWORD_VARIABLE,
    credentials_name,
    password_variable,
    runner_job,
    user_variable,
)
from groundspeed.manifests.runner_options import RunnerOptions, makes_servers
from groundspeed.manifests.runner_pod import RESULTS, SUITE, meta, results_name
from groundspeed.manifests.runner_rights import access_objects
from groundspeed.manifests.storage_classes import storage_objects
from groundspeed.plan.digest import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import Plan

__all__ = [
    "ARGUMENTS_KEY",
    "CONTAINER",
    "DIGEST_KEY",
    "GENERATOR_CONTAINER",
    "OPTIONS_KEY",
    "OWNED_KEY",
    "RESULTS",
    "RUN_ID_VARIABLE",
    "SERVER_PASSWORD_VARIABLE",
    "SUITE",
    "VERSION_ANNOTATION",
    "RunnerOptions",
    "anchor",
    "collector_name",
    "collector_pod",
    "credentials_name",
    "generator_job",
    "generator_labels",
    "generator_name",
    "makes_servers",
    "options_of",
    "owner_reference",
    "password_variable",
    "results_name",
    "run_objects",
    "user_variable",
]

VERSION_ANNOTATION = "groundspeed/version"
# Keys of the anchor beside the suite and its scripts; in the pod they are files in /suite.
ARGUMENTS_KEY, DIGEST_KEY, OPTIONS_KEY, OWNED_KEY = "arguments", "plan_digest", "options", "owned"
# What no owner may speak for: a namespaced one cannot have objects of the whole cluster.
_ALONE = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
    }
)


def anchor(
    plan: Plan,
    *,
    run_id: str,
    options: RunnerOptions,
    suite_files: Mapping[str, str],
    overrides: Sequence[str],
) -> Object:
    """Make what a run hangs on: its suite, how it was asked for, and what no owner speaks for.

    All that belongs to the run and to no other object is in it from the start, so that it is
    written down before it is made.
    """
    metadata = meta(
        naming.run_name(run_id), naming.labels(run_id, "runner"), namespace=options.namespace
    )
    metadata["annotations"] = {VERSION_ANNOTATION: plan.groundspeed_version}
    made = run_objects(plan, run_id=run_id, options=options, owner=None)
    owned = tuple(ref_of(one) for one in made if one["kind"] in _ALONE)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {
            **suite_files,
            ARGUMENTS_KEY: _json(tuple(overrides)),
            DIGEST_KEY: digest(plan),
            OPTIONS_KEY: _json(options),
            OWNED_KEY: _json(owned),
        },
    }


def owner_reference(anchor_as_created: Mapping[str, Any]) -> dict[str, Any]:
    """Refer to the anchor as an owner, by the uid that the server gave it."""
    metadata = anchor_as_created["metadata"]
    return {
        "apiVersion": anchor_as_created["apiVersion"],
        "kind": anchor_as_created["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def options_of(anchor: Mapping[str, Any]) -> RunnerOptions:
    """Read how the runner was asked for. Raises msgspec.DecodeError for what is no anchor."""
    return msgspec.json.decode(anchor["data"][OPTIONS_KEY], type=RunnerOptions)


def run_objects(
    plan: Plan, *, run_id: str, options: RunnerOptions, owner: Mapping[str, Any] | None
) -> tuple[Object, ...]:
    """Make all but the anchor and the Secret, in the order of creation; the Job is the last.

    `owner` refers to the anchor; what belongs to the whole cluster cannot have it, and the results
    are meant to outlive it.
    """
    return (
        *access_objects(plan, run_id=run_id, options=options, owner=owner),
        *storage_objects(plan, run_id=run_id),
        _results_claim(run_id, options),
        runner_job(plan, run_id=run_id, options=options, owner=owner),
    )


def _results_claim(run_id: str, options: RunnerOptions) -> Object:
    metadata = meta(
        results_name(run_id), naming.labels(run_id, "results"), namespace=options.namespace
    )
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": str(options.results_bytes)}},
    }
    if options.results_class is not None:
        spec["storageClassName"] = options.results_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
    }


def _json(value: tuple[str, ...] | tuple[Ref, ...] | RunnerOptions) -> str:
    return msgspec.json.encode(value).decode()
