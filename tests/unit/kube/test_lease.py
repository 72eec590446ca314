"""One runner at a time: the lease, its holders, and how it is lost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.errors import TargetError
from groundspeed.kube.lease import RunLease
from tests.fakes import FakeClock
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.kube.client import Client

LIMIT_S = 120.0
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "run", "uid": "0815"}


@pytest.fixture
def leases(api: Client) -> Iterator[Leases]:
    found = Leases(api)
    yield found
    for lease in found.made:
        lease.release()


class Leases:
    """Makes leases of one name, and gives them back."""

    def __init__(self, api: Client) -> None:
        self._api = api
        self.made: list[RunLease] = []
        self.losses: list[str] = []

    def of(self, holder: str, **options: Any) -> RunLease:  # noqa: ANN401 - clocks
        lease = RunLease(self._api, "run", OWNER, holder, lost=self.losses.append, **options)
        self.made.append(lease)
        return lease


def spec(server: KubeServer) -> dict[str, Any]:
    found = server.object("Lease", "run")
    assert found is not None
    return found["spec"]


def test_it_is_made_with_its_owner(server: KubeServer, leases: Leases) -> None:
    lease = leases.of("runner-a")
    lease.acquire(LIMIT_S)
    assert lease.is_held
    assert spec(server)["holderIdentity"] == "runner-a"
    assert spec(server)["leaseTransitions"] == 0
    assert server.object("Lease", "run")["metadata"]["ownerReferences"] == [OWNER]


def test_given_back_the_next_one_has_it_at_once(server: KubeServer, leases: Leases) -> None:
    server.put(ready_pod("runner-a"))
    first, second = leases.of("runner-a"), leases.of("runner-b")
    first.acquire(LIMIT_S)
    first.release()
    assert not first.is_held
    second.acquire(0.0)
    assert spec(server)["holderIdentity"] == "runner-b"
    assert spec(server)["leaseTransitions"] == 1


def test_it_is_not_taken_from_one_who_lives(server: KubeServer, leases: Leases) -> None:
    server.put(ready_pod("runner-a"))
    leases.of("runner-a").acquire(LIMIT_S)
    with pytest.raises(TargetError) as caught:
        leases.of("runner-b").acquire(0.1)
    assert caught.value.message == "this run goes on in pod runner-a already"
    assert spec(server)["holderIdentity"] == "runner-a"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", None])
def test_it_is_taken_from_a_pod_that_ended_or_is_gone(
    server: KubeServer, leases: Leases, phase: str | None
) -> None:
    if phase is not None:
        server.put({**ready_pod("runner-a"), "status": {"phase": phase}})
    leases.of("runner-a").acquire(LIMIT_S)
    leases.of("runner-b").acquire(0.0)
    assert spec(server)["holderIdentity"] == "runner-b"


def test_it_is_ours_again_after_a_restart(server: KubeServer, leases: Leases) -> None:
    server.put(ready_pod("runner-a"))
    leases.of("runner-a").acquire(LIMIT_S)
    leases.of("runner-a").acquire(0.0)
    assert spec(server)["leaseTransitions"] == 0


def test_it_runs_out_by_our_own_clock(server: KubeServer, leases: Leases) -> None:
    """A holder whose pod seems to live, on a node that nobody reaches: only time tells."""
    server.put(ready_pod("runner-a"))
    holder = leases.of("runner-a")
    holder.acquire(LIMIT_S)
    clock = FakeClock()
    second = leases.of("runner-b", now_s=clock.monotonic_s)
    assert not second._try()
    clock.pass_time(25)
    assert not second._try()
    assert holder.renew()
    clock.pass_time(25)
    assert not second._try()
    clock.pass_time(31)
    assert second._try()
    assert spec(server)["holderIdentity"] == "runner-b"


def test_who_waits_gets_it_when_it_is_given_back(server: KubeServer, leases: Leases) -> None:
    server.put(ready_pod("runner-a"))
    first, second = leases.of("runner-a"), leases.of("runner-b")
    first.acquire(LIMIT_S)
    waiting = threading.Thread(target=second.acquire, args=(LIMIT_S,))
    waiting.start()
    first.release()
    waiting.join()
    assert second.is_held


def test_of_two_at_once_one_gets_it(server: KubeServer, leases: Leases) -> None:
    for name in ("runner-a", "runner-b"):
        server.put(ready_pod(name))
    both = [leases.of("runner-a"), leases.of("runner-b")]

    def attempt(lease: RunLease) -> None:
        try:
            lease.acquire(0.2)
        except TargetError:
            return

    threads = [threading.Thread(target=attempt, args=(lease,)) for lease in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [lease.is_held for lease in both].count(True) == 1


def test_renewing_is_seen(server: KubeServer, leases: Leases) -> None:
    lease = leases.of("runner-a")
    lease.acquire(LIMIT_S)
    before = spec(server)["renewTime"]
    assert lease.renew()
    assert spec(server)["renewTime"] > before


def test_taken_by_another_it_is_lost_once(server: KubeServer, leases: Leases) -> None:
    lease = leases.of("runner-a")
    lease.acquire(LIMIT_S)
    server.change("Lease", "run", {"spec": {"holderIdentity": "runner-b"}})
    lease.renew()
    lease.renew()
    assert leases.losses == ["pod runner-b took its lease"]
    assert not lease.is_held
    lease.release()
    assert spec(server)["holderIdentity"] == "runner-b"


def test_deleted_it_is_lost(server: KubeServer, leases: Leases) -> None:
    lease = leases.of("runner-a")
    lease.acquire(LIMIT_S)
    server.remove("Lease", "run")
    lease.renew()
    assert leases.losses == ["its lease was deleted"]


def test_not_renewed_for_too_long_it_is_given_up_before_another_may_take_it(
    leases: Leases,
) -> None:
    clock = FakeClock()
    lease = leases.of("runner-a", now_s=clock.monotonic_s)
    lease.acquire(LIMIT_S)
    clock.pass_time(20)
    assert lease.check() == pytest.approx(2.0)
    assert lease.is_held
    clock.pass_time(2)
    lease.check()
    assert not lease.is_held
    assert "could not be renewed" in leases.losses[0]


def test_an_answer_that_was_lost_does_not_lose_it(
    server: KubeServer, leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundspeed.kube.lease._LOOK_AGAIN_S", 0.05)
    lease = leases.of("runner-a")
    server.fail_next("POST", "/leases", drop=True)
    lease.acquire(LIMIT_S)
    server.fail_next("PATCH", "/leases", drop=True)
    assert not lease.renew()
    assert lease.is_held
    assert lease.renew()
    assert leases.losses == []
