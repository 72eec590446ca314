"""What is asked again, for how long, and what never is. No test waits: the clock is theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.kube.api import KubeError
from groundspeed.kube.client import Client
from groundspeed.kube.connecting import find_connection
from tests.fakes import FakeClock
from tests.kube_server import KubeServer
from tests.unit.kube.made import config_map, config_map_ref

if TYPE_CHECKING:
    from pathlib import Path


class Waited:
    """A clock that goes on when somebody sleeps, and keeps for how long."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.naps_s: list[float] = []

    def sleep(self, nap_s: float) -> None:
        self.naps_s.append(nap_s)
        self.clock.pass_time(nap_s)


@pytest.fixture
def waited() -> Waited:
    return Waited()


@pytest.fixture
def patient(server: KubeServer, waited: Waited) -> Client:
    found = server.client(now_s=waited.clock.monotonic_s, sleep=waited.sleep)
    found.apply(config_map(a="1"))
    server.requests.clear()
    return found


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_read_is_asked_again(
    server: KubeServer, patient: Client, waited: Waited, status: int
) -> None:
    server.fail_next("GET", "/configmaps", status, times=3)
    assert patient.get(config_map_ref()) is not None
    assert waited.naps_s == [0.25, 0.5, 1.0]


def test_it_waits_as_long_as_the_server_says(
    server: KubeServer, patient: Client, waited: Waited
) -> None:
    server.fail_next("GET", "/configmaps", 429, headers={"Retry-After": "7"})
    patient.get(config_map_ref())
    assert waited.naps_s == [7.0]


def test_a_read_is_given_up_after_half_a_minute(
    server: KubeServer, patient: Client, waited: Waited
) -> None:
    server.fail_next("GET", "/configmaps", 503, times=1000)
    with pytest.raises(KubeError) as caught:
        patient.get(config_map_ref())
    assert caught.value.status == 503
    assert 20 < sum(waited.naps_s) <= 30


def test_a_lost_connection_is_made_again_for_a_read(server: KubeServer, patient: Client) -> None:
    server.fail_next("GET", "/configmaps", drop=True, times=2)
    assert patient.get(config_map_ref()) is not None


def test_apply_is_sent_again_because_twice_comes_to_the_same(
    server: KubeServer, patient: Client
) -> None:
    server.fail_next("PATCH", "/configmaps", drop=True)
    server.fail_next("PATCH", "/configmaps", 500)
    assert patient.apply(config_map(a="2"))["data"] == {"a": "2"}


def test_an_unknown_field_is_told_at_once(
    server: KubeServer, patient: Client, waited: Waited
) -> None:
    said = {
        "kind": "Status",
        "message": "failed to create typed patch object (x): .y: not declared",
    }
    server.fail_next("PATCH", "/configmaps", 500, body=said)
    with pytest.raises(KubeError, match="not declared"):
        patient.apply(config_map(a="2"))
    assert waited.naps_s == []


@pytest.mark.parametrize("how", [{"status": 500}, {"drop": True}])
def test_creating_is_never_sent_again(
    server: KubeServer, patient: Client, waited: Waited, how: dict[str, int | bool]
) -> None:
    server.fail_next("POST", "/configmaps", **how)
    with pytest.raises(KubeError):
        patient.create(config_map("two"))
    assert waited.naps_s == []
    assert server.object("ConfigMap", "two") is None


def test_creating_is_sent_again_when_it_was_not_looked_at(
    server: KubeServer, patient: Client
) -> None:
    server.fail_next("POST", "/configmaps", 429)
    assert patient.create(config_map("two"))


def test_a_change_on_condition_is_not_sent_again(server: KubeServer, patient: Client) -> None:
    version = patient.get(config_map_ref())["metadata"]["resourceVersion"]
    server.fail_next("PATCH", "/configmaps", drop=True)
    with pytest.raises(KubeError) as caught:
        patient.patch(config_map_ref(), {"metadata": {"resourceVersion": version}})
    assert caught.value.status is None


def test_a_change_without_one_is(server: KubeServer, patient: Client) -> None:
    server.fail_next("PATCH", "/configmaps", drop=True)
    assert patient.patch(config_map_ref(), {"data": {"b": "2"}})["data"] == {"a": "1", "b": "2"}


def test_deleting_by_name_is_not_sent_again_but_by_uid(server: KubeServer, patient: Client) -> None:
    uid = patient.get(config_map_ref())["metadata"]["uid"]
    server.fail_next("DELETE", "/configmaps", 500, times=2)
    with pytest.raises(KubeError):
        patient.delete(config_map_ref())
    assert patient.delete(config_map_ref(), uid=uid) is True


def test_a_token_that_ran_out_is_read_anew(server: KubeServer, patient: Client) -> None:
    server.token = "second-token"
    server.kubeconfig()
    assert patient.get(config_map_ref()) is not None


def test_a_token_nobody_accepts_is_told(server: KubeServer, patient: Client) -> None:
    server.token = "another-one"
    with pytest.raises(KubeError) as caught:
        patient.create(config_map("two"))
    assert caught.value.status == 401


def test_a_server_that_never_answered_is_not_waited_for_long(
    tmp_path: Path, waited: Waited
) -> None:
    with KubeServer() as gone:
        path = gone.kubeconfig(tmp_path / "config")
    client = Client(
        find_connection(kubeconfig=str(path)), now_s=waited.clock.monotonic_s, sleep=waited.sleep
    )
    with pytest.raises(KubeError) as caught:
        client.server_version()
    assert "the API server of context lab does not answer: connection refused" in (
        caught.value.message
    )
    assert sum(waited.naps_s) <= 3


def test_a_server_that_went_is_waited_for(
    server: KubeServer, patient: Client, waited: Waited
) -> None:
    server.close()
    with pytest.raises(KubeError, match="connection refused"):
        patient.create(config_map("two"))
    assert 20 < sum(waited.naps_s) <= 30


def test_what_is_no_api_server_is_told(server: KubeServer, patient: Client) -> None:
    server.serve("/version", "<html>log in</html>")
    with pytest.raises(KubeError, match="is no API server"):
        patient.server_version()
