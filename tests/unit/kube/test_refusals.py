"""What API servers answer, as lines for people. The answers are those of Kubernetes 1.34."""

from __future__ import annotations

from typing import Any

import pytest

from groundspeed.kube.refusals import Asked, is_momentary, one_line, refusal, status_of

ASKED = Asked(verb="apply", what="StatefulSet/db", namespace="bench", cluster="context lab")

LIST = (
    'pods is forbidden: User "system:serviceaccount:bench:x" cannot list resource "pods" in API '
    'group "" in the namespace "bench"'
)
CREATE_CLASS = (
    'storageclasses.storage.k8s.io is forbidden: User "ann" cannot create resource '
    '"storageclasses" in API group "storage.k8s.io" at the cluster scope'
)
QUOTA = "small, requested: limits.memory=8Gi, used: limits.memory=1Gi, limited: limits.memory=2Gi"
POLICY = (
    "statefulsets.apps \"db\" is forbidden: ValidatingAdmissionPolicy 'limits' with binding 'all' "
    "denied request: no limits"
)
BROKEN_WEBHOOK = (
    'Internal error occurred: failed calling webhook "mcluster.cnpg.io": failed to call webhook: '
    'Post "https://cnpg": dial tcp 10.0.0.1:443: connect: connection refused'
)
UNKNOWN_FIELD = (
    "failed to create typed patch object (/s; apps/v1, Kind=StatefulSet): .spec.foo: field not "
    "declared in schema"
)
SECURITY = (
    'pods "db-0" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
)
ENDING = (
    'configmaps "x" is forbidden: unable to create new content in namespace bench because it is '
    "being terminated"
)
NOT_STARTED = 'container "main" in pod "x" is waiting to start: ContainerCreating'
WEBHOOK = 'admission webhook "validate.kyverno.svc" denied the request: \n\nno latest tags.\n'
MAY_NOT_CREATE = (
    "ann may not create storageclasses.storage.k8s.io, which belong to the whole cluster"
)
NO_ROOM = f"the quota of namespace bench has no room for StatefulSet/db: {QUOTA}"
RESTRICTED = (
    "Pod Security restricted:latest of namespace bench refuses StatefulSet/db: runAsNonRoot"
)
DB = "StatefulSet/db"
CASES: list[tuple[int, str, str, str]] = [
    (401, "Unauthorized", "the API server of context lab does not accept these", "log in"),
    (403, LIST, "bench:x may not list pods in namespace bench", "groundspeed k8s rights"),
    (403, CREATE_CLASS, MAY_NOT_CREATE, "groundspeed k8s rights"),
    (403, f'pods "db-0" is forbidden: exceeded quota: {QUOTA}', NO_ROOM, "describe quota -n bench"),
    (403, SECURITY, RESTRICTED, "--show-labels"),
    (403, ENDING, "namespace bench is being deleted", "wait"),
    (400, WEBHOOK, f"webhook validate.kyverno.svc refuses {DB}: no latest tags", "rule of"),
    (422, POLICY, f"admission policy limits refuses {DB}: no limits", "rule of this cluster"),
    (500, BROKEN_WEBHOOK, "webhook mcluster.cnpg.io of this cluster does not work", "operator"),
    (500, UNKNOWN_FIELD, f"refuses {DB}: .spec.foo: field not declared in schema", "older"),
    (404, 'namespaces "bench" not found', "there is no namespace bench", "--namespace"),
    (404, 'pods "x" not found', f"there is no {DB} in namespace bench", "kubectl get"),
    (400, NOT_STARTED, f"container main of {DB} has not started yet: Container", "describe"),
    (400, "field label not supported: foo", "the API server refuses to apply", "message"),
    (418, "I am a teapot", f"the API server answered 418 to apply {DB}: I am", "log"),
]


@pytest.mark.parametrize(("code", "said", "message", "hint"), CASES)
def test_a_refusal_is_one_line(code: int, said: str, message: str, hint: str) -> None:
    found = refusal(code, {"message": said}, ASKED)
    assert message in found.message
    assert hint in found.hint
    assert found.status == code
    for line in (found.message, found.hint):
        assert "\n" not in line
        assert not line.endswith(".")


def test_of_an_invalid_object_the_first_cause_is_told() -> None:
    causes: list[dict[str, Any]] = [
        {"field": "spec.replicas", "message": "Invalid value: -1: must not be negative"},
        {"field": "spec.other", "message": "Required value"},
    ]
    found = refusal(422, {"message": "long", "details": {"causes": causes}}, ASKED)
    assert found.message == (
        "the API server refuses StatefulSet/db: spec.replicas: Invalid value: -1: must not be "
        "negative (and 1 more)"
    )


def test_a_page_of_a_proxy_is_shown_in_short() -> None:
    found = refusal(502, status_of(b"<html>\n" + b"x" * 1000), ASKED)
    assert "<html> xxx" in found.message
    assert len(found.message) <= 400


def test_what_a_newer_server_may_still_do_is_momentary() -> None:
    assert is_momentary(503, {})
    assert is_momentary(500, {"message": "etcdserver: leader changed"})
    assert not is_momentary(500, {"message": "failed to create typed patch object (x): .y"})
    assert not is_momentary(409, {})


def test_lines_have_no_full_stop() -> None:
    assert one_line("a  b.\n c. ") == "a b. c"
