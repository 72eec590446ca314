"""What keeps a volume claim from having a volume."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.manifests.trouble import Trouble, count_of, events_of, name_of, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.manifests.naming import Object

# The controller asks again every quarter of a minute; a driver that is there needs a few seconds.
_SILENT_AFTER = 3


def claim_trouble(claim: Object, events: Sequence[Object]) -> Trouble | None:
    """Tell why a claim has no volume; None for one that has, or that waits for its pod."""
    phase, name = (claim.get("status") or {}).get("phase"), name_of(claim)
    if phase == "Lost":
        what = f"the volume of the claim {name} is gone"
        hint = "delete the claim: what was on the volume cannot be had back from here"
        return Trouble(reason="volume-lost", message=what, hint=hint, is_final=True)
    if phase == "Bound" or claim["metadata"].get("deletionTimestamp") is not None:
        return None
    ours = events_of(claim, events)
    return _told(claim, ours[-1]) if ours else None


def _told(claim: Object, latest: Object) -> Trouble | None:
    name, said = name_of(claim), one_line(latest.get("message"))
    reason = latest.get("reason")
    named = (claim.get("spec") or {}).get("storageClassName")
    if reason == "FailedBinding":
        what = f"the claim {name} gets no volume: {said}"
        hint = "name a storage class; the cluster has no default one"
        if named:
            hint = f"see kubectl get pv: none of the class {named} is free and large enough"
        return Trouble(reason="no-volume", message=what, hint=hint, is_final=not named)
    if reason == "ProvisioningFailed" and "storageclass" in said and "not found" in said:
        what = f"the claim {name} names the storage class {named}, which the cluster does not have"
        hint = "take one that kubectl get storageclass lists"
        return Trouble(reason="no-storage-class", message=what, hint=hint, is_final=True)
    if reason == "ProvisioningFailed":
        what = f"the claim {name} gets no volume: {said}"
        hint = "see the parameters of its storage class, and the pods of its driver"
        return Trouble(reason="provisioning-failed", message=what, hint=hint, is_final=False)
    if reason == "ExternalProvisioning" and count_of(latest) >= _SILENT_AFTER:
        driver = re.search(r"external provisioner '([^']+)'", said)
        who = driver[1] if driver else "a driver"
        what = f"the claim {name} waits for {who}, which does not answer"
        hint = "see that the CSI driver of its storage class is installed and runs"
        return Trouble(reason="no-provisioner", message=what, hint=hint, is_final=False)
    return None
