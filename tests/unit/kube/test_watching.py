"""Watches that go on: through lost connections, expired versions, and outages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.kube.api import KubeError
from groundspeed.kube.refusals import Asked
from groundspeed.kube.watching import lines
from groundspeed.kube.wire import CutError, Request
from tests.fakes import FakeClock
from tests.kube_server import KubeServer, ready_pod
from tests.unit.kube.made import config_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.kube.api import Change
    from groundspeed.kube.client import Client

# Long enough for any machine: every test ends by what it sees.
LIMIT_S = 120.0


@pytest.fixture
def hasty(server: KubeServer) -> Client:
    """It does not wait before it asks again."""
    return server.client(sleep=lambda _: None)


def told(change: Change) -> str:
    return f"{change.kind} {change.object['metadata']['name']}"


def watch(api: Client, **narrowed: dict[str, str]) -> Iterator[Change]:
    return api.watch("v1", "ConfigMap", limit_s=LIMIT_S, **narrowed)


def test_the_state_comes_first_and_then_each_change(server: KubeServer, hasty: Client) -> None:
    server.put(config_map("one"))
    changes = watch(hasty)
    assert told(next(changes)) == "ADDED one"
    server.put(config_map("two"))
    assert told(next(changes)) == "ADDED two"
    server.change("ConfigMap", "two", {"data": {"a": "1"}})
    assert told(next(changes)) == "MODIFIED two"
    server.remove("ConfigMap", "one")
    assert told(next(changes)) == "DELETED one"
    changes.close()


def test_what_leaves_a_selector_counts_as_deleted(server: KubeServer, hasty: Client) -> None:
    labelled = config_map("one")
    labelled["metadata"]["labels"] = {"run": "a"}
    server.put(labelled)
    server.put(config_map("two"))
    changes = watch(hasty, labels={"run": "a"})
    assert told(next(changes)) == "ADDED one"
    server.change("ConfigMap", "one", {"metadata": {"labels": {"run": "b"}}})
    assert told(next(changes)) == "DELETED one"
    changes.close()


def test_it_goes_on_where_a_connection_was_lost(server: KubeServer, hasty: Client) -> None:
    server.put(config_map("one"))
    changes = watch(hasty)
    assert told(next(changes)) == "ADDED one"
    for name in ("two", "three"):
        server.disconnect_watches()
        server.put(config_map(name))
        assert told(next(changes)) == f"ADDED {name}"
    changes.close()
    assert len([each for each in server.requests if "limit" in each.query]) == 1


def test_versions_that_are_gone_make_it_tell_the_state_again(
    server: KubeServer, hasty: Client
) -> None:
    for name in ("one", "two"):
        server.put(config_map(name))
    changes = watch(hasty)
    assert {told(next(changes)), told(next(changes))} == {"ADDED one", "ADDED two"}
    server.remove("ConfigMap", "one")
    server.put(config_map("three"))
    server.expire_versions()
    server.disconnect_watches()
    # It had no chance to see that one of them went.
    seen = [told(next(changes)) for _ in range(3)]
    assert seen == ["DELETED one", "ADDED three", "ADDED two"]
    changes.close()


def test_a_bookmark_saves_telling_the_state_again(server: KubeServer, hasty: Client) -> None:
    server.bookmark_every_s = 0.01
    changes = watch(hasty)
    server.put(config_map("one"))
    assert told(next(changes)) == "ADDED one"
    server.put(ready_pod("another"))
    server.fail_next("GET", "watch=1", drop=True)
    server.disconnect_watches()
    server.put(config_map("two"))
    assert told(next(changes)) == "ADDED two"
    changes.close()


def test_it_ends_when_its_time_is_over(hasty: Client) -> None:
    assert list(hasty.watch("v1", "ConfigMap", limit_s=0.2)) == []


def test_rights_that_are_missing_end_it(server: KubeServer, hasty: Client) -> None:
    server.deny("watch", "configmaps")
    with pytest.raises(KubeError) as caught:
        list(watch(hasty))
    assert caught.value.status == 403
    assert caught.value.message == "tester may not watch configmaps in namespace bench"


def test_an_unknown_kind_is_an_error(hasty: Client) -> None:
    with pytest.raises(KubeError, match="knows no Thing"):
        hasty.watch("example.org/v1", "Thing", limit_s=LIMIT_S)


def test_an_outage_of_five_minutes_ends_it(server: KubeServer) -> None:
    clock = FakeClock()
    api = server.client(now_s=clock.monotonic_s, sleep=clock.pass_time)
    server.put(config_map("one"))
    changes = api.watch("v1", "ConfigMap", limit_s=24 * 3600.0)
    assert told(next(changes)) == "ADDED one"
    began_s = clock.monotonic_s()
    server.fail_next("GET", "/configmaps", 503, times=100_000)
    with pytest.raises(KubeError):
        next(changes)
    assert 300 <= clock.monotonic_s() - began_s <= 400


def test_a_stream_that_says_nothing_is_given_up(server: KubeServer, api: Client) -> None:
    server.put(ready_pod("one"))
    request = Request(
        method="GET",
        path="/api/v1/namespaces/bench/pods/one/log",
        query=(("container", "main"), ("follow", "true")),
        asked=Asked(verb="read", what="a log"),
    )
    stream = api._wire.open(request)
    with pytest.raises(CutError):
        list(stream.chunks(lambda: 0.02))
    stream.close()


def test_lines_are_put_together() -> None:
    assert list(lines(iter([b"a", b"b\nc\n", b"d"]))) == [b"ab", b"c", b"d"]
