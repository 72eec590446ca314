"""What a process reads of itself in a pod."""

from __future__ import annotations

import pytest

from groundspeed.cli import in_cluster
from groundspeed.errors import TargetError
from groundspeed.targets.kube_access import ServerLogin
from tests.kube_runs import planned, pod, suite_text

WHOLE = {
    "POD_NAME": "gs-1-abc",
    "POD_NAMESPACE": "bench",
    "NODE_NAME": "node-1",
    "GROUNDSPEED_RUN_ID": "20260131-120000-small",
}


def test_a_pod_of_a_run_knows_itself() -> None:
    me = in_cluster.here({**WHOLE, "PATH": "/bin"})
    assert me == in_cluster.InCluster(
        pod="gs-1-abc", namespace="bench", node="node-1", run_id="20260131-120000-small"
    )
    assert me is not None
    assert (me.place.name, me.place.namespace, me.place.container) == (
        *("gs-1-abc", "bench"),
        "runner",
    )


def test_elsewhere_there_is_no_pod() -> None:
    assert in_cluster.here({"PATH": "/bin", "NODE_NAME": "n"}) is None


@pytest.mark.parametrize("missing", ["POD_NAME", "POD_NAMESPACE", "GROUNDSPEED_RUN_ID"])
def test_half_a_pod_is_told(missing: str) -> None:
    half = {name: value for name, value in WHOLE.items() if name != missing}
    with pytest.raises(TargetError, match=f"^{missing} is not set in this pod$"):
        in_cluster.here(half)
    with pytest.raises(TargetError, match=missing):
        in_cluster.here({**WHOLE, missing: ""})


def test_logins_come_from_the_environment_and_never_show() -> None:
    login = in_cluster.server_login({"GROUNDSPEED_SERVER_PASSWORD": "open sesame"})
    assert login == ServerLogin(user="postgres", password="open sesame")
    assert "sesame" not in repr(login)
    assert in_cluster.server_login({}) is None


def test_each_given_server_has_a_login_of_its_own() -> None:
    service = {"target": "kubernetes", "service": {"name": "db", "secret": "x"}}
    plan = planned(suite_text({"The one": service, "two-2": service, "ours": pod()}))
    found = in_cluster.given_logins(
        plan,
        {
            "GROUNDSPEED_USER_THE_ONE": "u1",
            "GROUNDSPEED_PASSWORD_THE_ONE": "p1",
            "GROUNDSPEED_USER_TWO_2": "u2",
            "GROUNDSPEED_PASSWORD_OURS": "nobody's",
        },
    )
    assert found == {
        "the-one": ServerLogin(user="u1", password="p1"),
        "two-2": ServerLogin(user="u2", password=None),
    }
