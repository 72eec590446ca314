"""What is written down before it is made."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed.kube.api import KubeError
from groundspeed.kube.intent import Intent
from groundspeed.manifests.naming import Ref
from tests.unit.kube.made import config_map, config_map_ref

if TYPE_CHECKING:
    from groundspeed.kube.client import Client
    from tests.kube_server import KubeServer

FAST = Ref(api_version="storage.k8s.io/v1", kind="StorageClass", name="fast")
SLOW = Ref(api_version="storage.k8s.io/v1", kind="StorageClass", name="slow")
CLAIM = Ref(api_version="v1", kind="PersistentVolumeClaim", name="results", namespace="bench")


@pytest.fixture
def intent(api: Client) -> Intent:
    api.apply(config_map("run", owned="[]"))
    return Intent(api, config_map_ref("run"))


def test_it_is_written_in_order_and_once(intent: Intent, server: KubeServer) -> None:
    assert intent.refs() == ()
    intent.add(FAST)
    intent.add(CLAIM, FAST)
    assert intent.refs() == (FAST, CLAIM)
    writes = len(server.writes)
    intent.add(CLAIM)
    assert len(server.writes) == writes


def test_what_is_gone_is_forgotten(intent: Intent) -> None:
    intent.add(FAST, CLAIM)
    intent.remove(FAST, SLOW)
    assert intent.refs() == (CLAIM,)


def test_two_that_write_at_once_lose_nothing(intent: Intent, server: KubeServer) -> None:
    refs = [
        Ref(api_version="v1", kind="PersistentVolume", name=f"{name}-{number}")
        for name in "ab"
        for number in range(8)
    ]

    def write(name: str) -> None:
        with server.client(sleep=lambda _: None) as own:
            for ref in refs:
                if ref.name.startswith(name):
                    Intent(own, config_map_ref("run")).add(ref)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(intent.refs()) == set(refs)


def test_an_answer_that_was_lost_is_looked_up(intent: Intent, server: KubeServer) -> None:
    server.fail_next("PATCH", "/configmaps/run", drop=True)
    intent.add(FAST)
    assert intent.refs() == (FAST,)


def test_what_cannot_be_written_is_an_error(intent: Intent, server: KubeServer) -> None:
    server.deny("patch", "configmaps")
    with pytest.raises(KubeError) as caught:
        intent.add(FAST)
    assert caught.value.status == 403


def test_an_anchor_that_is_gone_is_told(intent: Intent, server: KubeServer) -> None:
    server.remove("ConfigMap", "run")
    with pytest.raises(KubeError) as caught:
        intent.add(FAST)
    assert caught.value.status == 404


def test_a_list_nobody_can_read_is_told(intent: Intent, server: KubeServer) -> None:
    server.change("ConfigMap", "run", {"data": {"owned": '[{"new": 1}]'}})
    with pytest.raises(KubeError, match="cannot be read from ConfigMap run"):
        intent.refs()


def test_the_anchor_is_not_applied_over_it(intent: Intent, api: Client) -> None:
    intent.add(FAST)
    with pytest.raises(KubeError) as caught:
        api.apply(config_map("run", owned="[]"))
    assert caught.value.status == 409
    assert intent.refs() == (FAST,)
