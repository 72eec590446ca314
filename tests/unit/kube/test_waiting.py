"""Waiting for objects, and for others to be gone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.kube.waiting import wait_for, wait_gone
from groundspeed.manifests.trouble import Trouble
from tests.kube_server import KubeServer, ready_pod
from tests.unit.kube.made import config_map, config_map_ref, pod_ref

if TYPE_CHECKING:
    from groundspeed.kube.client import Client
    from groundspeed.manifests.naming import Object

LIMIT_S = 120.0


def is_running(pod: Object | None) -> bool:
    return pod is not None and pod.get("status", {}).get("phase") == "Running"


def pending(name: str) -> Object:
    return {**ready_pod(name), "status": {"phase": "Pending"}}


def test_what_is_so_already_is_not_waited_for(server: KubeServer, api: Client) -> None:
    server.put(ready_pod("one"))
    found = wait_for(api, pod_ref("one"), is_running, limit_s=0.0)
    assert found is not None
    assert found["metadata"]["name"] == "one"


def test_it_is_there_at_once_when_it_changes(server: KubeServer, api: Client) -> None:
    """Each look makes the next change: nothing here waits for time."""
    server.put(pending("one"))
    seen: list[bool] = []

    def is_done(pod: Object | None) -> bool:
        seen.append(is_running(pod))
        if len(seen) == 1:
            server.change("Pod", "one", {"metadata": {"labels": {"a": "b"}}})
        if len(seen) == 2:
            server.put(ready_pod("one"))
        return is_running(pod)

    assert wait_for(api, pod_ref("one"), is_done, limit_s=LIMIT_S)
    assert seen[-1]


def test_it_may_be_waited_for_before_it_is_made(server: KubeServer, api: Client) -> None:
    made = threading.Timer(0.05, lambda: server.put(ready_pod("one")))
    made.start()
    assert wait_for(api, pod_ref("one"), is_running, limit_s=LIMIT_S)
    made.join()


def test_it_may_be_waited_for_until_it_is_gone(server: KubeServer, api: Client) -> None:
    server.put(ready_pod("one"))

    def is_gone(pod: Object | None) -> bool:
        if pod is not None:
            server.remove("Pod", "one")
        return pod is None

    assert wait_for(api, pod_ref("one"), is_gone, limit_s=LIMIT_S) is None


def test_a_final_trouble_ends_it_at_once(server: KubeServer, api: Client) -> None:
    server.put(pending("one"))
    trouble = Trouble(reason="image", message="no such image", hint="name another", is_final=True)
    with pytest.raises(TargetError) as caught:
        wait_for(api, pod_ref("one"), is_running, limit_s=LIMIT_S, trouble=lambda _: trouble)
    assert (caught.value.message, caught.value.hint) == ("no such image", "name another")


def test_another_trouble_is_told_when_the_time_is_over(server: KubeServer, api: Client) -> None:
    server.put(pending("one"))
    trouble = Trouble(reason="busy", message="no node has room", hint="wait", is_final=False)
    with pytest.raises(TargetError) as caught:
        wait_for(api, pod_ref("one"), is_running, limit_s=0.0, trouble=lambda _: trouble)
    assert caught.value.message == "no node has room (after 0 s)"


def test_without_a_trouble_it_says_where_to_look(server: KubeServer, api: Client) -> None:
    server.put(pending("one"))
    with pytest.raises(TargetError) as caught:
        wait_for(api, pod_ref("one"), is_running, limit_s=0.2)
    assert caught.value.message == "Pod one is not ready after 0 s"
    assert caught.value.hint == "kubectl describe pod one -n bench shows its events"


def test_what_other_objects_tell_is_asked_for_again(
    server: KubeServer, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundspeed.kube.waiting._ASK_AGAIN_S", (0.01,) * 3)
    server.put(pending("one"))
    asked: list[Object | None] = []

    def look(pod: Object | None) -> Trouble | None:
        asked.append(pod)
        is_final = len(asked) == 3
        return Trouble(reason="claim", message="no volume", hint="make one", is_final=is_final)

    with pytest.raises(TargetError, match="no volume"):
        wait_for(api, pod_ref("one"), is_running, limit_s=LIMIT_S, trouble=look)
    assert len(asked) == 3


def test_gone_is_gone(server: KubeServer, api: Client) -> None:
    server.put(config_map("one"))
    leaving = threading.Timer(0.05, lambda: server.remove("ConfigMap", "one"))
    leaving.start()
    wait_gone(api, [config_map_ref("one"), config_map_ref("two")], LIMIT_S)
    leaving.join()
    assert server.objects() == []


def test_what_is_left_is_named_with_its_finalizers(server: KubeServer, api: Client) -> None:
    held = config_map("one")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    server.put(held)
    server.remove("ConfigMap", "one")
    server.put(config_map("two"))
    with pytest.raises(TargetError) as caught:
        wait_gone(api, [config_map_ref("one"), config_map_ref("two")], 0.1)
    assert caught.value.message == (
        "still there after 0 s: ConfigMap/one (finalizers: example.org/hold), "
        "ConfigMap/two (not asked to go)"
    )
    assert caught.value.hint == (
        "a finalizer waits for its controller; is that running? "
        "kubectl describe configmap one -n bench tells more"
    )
