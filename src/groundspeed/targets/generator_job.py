"""The Job of the load generators: made before the first load, and taken away after the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.manifests.naming import ref_of

if TYPE_CHECKING:
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object


def ensure_generators(api: Api, job: Object) -> None:
    """Make the Job where it is not there, and leave it where it is. Raises KubeError.

    It belongs to the anchor of the run, so nothing has to be noted before it is made.
    """
    if api.get(ref_of(job)) is None:
        api.apply(job)


def remove_generators(api: Api, job: Object) -> None:
    """Delete the Job with its pods; nothing where there is none. Raises KubeError."""
    api.delete(ref_of(job))
