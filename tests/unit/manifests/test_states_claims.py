"""Claims in states that the cluster at hand could not be brought to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import states

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object


def claim(phase: str, **spec: object) -> Object:
    return {"metadata": {"name": "c", "uid": "u"}, "spec": spec, "status": {"phase": phase}}


def claim_event(reason: str, message: str, **more: object) -> dict[str, Any]:
    return {"reason": reason, "message": message, "involvedObject": {"uid": "u"}, **more}


def test_a_driver_that_refuses_is_quoted() -> None:
    event = claim_event("ProvisioningFailed", "rpc error: iops too high for size.")
    found = states.claim_trouble(claim("Pending", storageClassName="gp3"), [event])
    assert found is not None
    assert found.message.endswith("iops too high for size")
    assert not found.is_final


def test_a_driver_gets_time_to_answer() -> None:
    event = claim_event("ExternalProvisioning", "Waiting for x", count=2)
    assert states.claim_trouble(claim("Pending"), [event]) is None


def test_the_last_event_of_the_claim_itself_counts() -> None:
    events = [
        claim_event("Provisioning", "again", lastTimestamp="2026-01-01T00:00:09Z"),
        claim_event("ProvisioningFailed", "once", lastTimestamp="2026-01-01T00:00:01Z"),
        {"reason": "ProvisioningFailed", "message": "other", "involvedObject": {"uid": "v"}},
    ]
    assert states.claim_trouble(claim("Pending"), events) is None


def test_a_lost_volume_is_final() -> None:
    found = states.claim_trouble(claim("Lost"), [])
    assert found is not None
    assert found.is_final
