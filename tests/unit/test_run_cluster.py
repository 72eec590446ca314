"""What a run knows of servers in Kubernetes: asked once, and again where one has another pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed import run
from groundspeed.ports import PodPlace, WatchPoints
from groundspeed.record import StorageFacts, decode, encode
from groundspeed.record.evidence import Absent
from groundspeed.run import doubts
from tests import examples
from tests.clustered import GIB, make_cluster, make_pod
from tests.fakes import FakeTarget, evidence
from tests.unit.test_run import World, plan_of

if TYPE_CHECKING:
    from groundspeed.record import ClusterFacts, Record

VOLUME = StorageFacts(label="gp3", emulated=False, filesystem="ext4")


class InPod(FakeTarget):
    """A target whose server is in a pod; `pods` are their uids, one for each start."""

    pods: list[str]
    server_pid: int | None = None

    def start(self) -> None:
        super().start()
        if len(self.pods) > 1:
            self.pods.pop(0)

    def watch_points(self) -> WatchPoints:
        points = super().watch_points()
        place = PodPlace(namespace="bench", name="pg-0", container="postgres", uid=self.pods[0])
        return msgspec.structs.replace(points, pod=place, server_pid=self.server_pid)


def executed(
    *pods: str, server_pid: int | None = None, repeats: int = 2
) -> tuple[list[str], tuple[Record, ...]]:
    """Run trials of a server in these pods; what was asked for, and the records."""
    world = World(plan_of("a", repeats=repeats))
    target = InPod("a", world.journal, clock=world.clock, storage=VOLUME)
    target.pods, target.server_pid = list(pods), server_pid
    asked: list[str] = []

    def look(points: WatchPoints) -> ClusterFacts:
        assert points.pod is not None
        asked.append(points.pod.uid)
        return make_cluster(make_pod(uid=points.pod.uid))

    crew = run.Crew(
        targets={"a": target},
        unavailable={},
        store=world.store,
        clock=world.clock,
        listener=world.listener,
        host=examples.make_host(),
        watcher=world.watcher,
        look_at_cluster=look,
    )
    run.execute(world.plan, crew)
    return asked, world.store.records()


def uids(records: tuple[Record, ...]) -> list[str | None]:
    clusters = [record.provenance.cluster for record in records]
    return [c.server.uid if c is not None and c.server is not None else None for c in clusters]


def test_a_cluster_is_asked_once_and_is_on_every_record() -> None:
    asked, records = executed("one", repeats=3)

    assert asked == ["one"]
    assert uids(records) == ["one", "one", "one"]
    assert decode(encode(records[0])) == records[0]


def test_it_is_asked_again_where_the_server_has_another_pod() -> None:
    # One where it is set up, and two starts.
    asked, records = executed("one", "one", "two")

    assert asked == ["one", "two"]
    assert uids(records) == ["one", "two"]


def test_a_server_of_our_own_beside_us_is_no_server_of_the_cluster() -> None:
    asked, records = executed("one", server_pid=17)

    assert asked == []
    assert uids(records) == [None, None]


def test_its_memory_is_that_of_the_pod_and_its_machine_is_not_shared() -> None:
    _, (record, _) = executed("one")
    host = examples.make_host()

    assert "shared-machine" not in {caution.code for caution in record.cautions}
    small, large = (
        list(doubts.of_circumstances(VOLUME, host, size_bytes, make_cluster()))
        for size_bytes in (GIB, 15 * GIB)
    )
    assert [caution.code for caution in small] == ["cached-dataset"]
    assert "the memory of the server's pod" in small[0].message
    assert large == []


def test_of_a_pod_of_unknown_memory_nothing_is_said() -> None:
    unknown = make_cluster(server=None)

    assert list(doubts.of_circumstances(VOLUME, examples.make_host(), GIB, unknown)) == []


def test_what_is_elsewhere_is_absent_by_nature() -> None:
    for what, is_told in (
        ("disk", False),
        ("control-group", False),
        ("cluster-node", False),
        ("cluster-kubelet", False),
        ("cluster-inside", True),
        ("cluster-events", True),
        ("memory", True),
    ):
        seen = evidence(Absent(what=what, reason="whatever"))
        told = list(doubts.of_absent(seen, VOLUME, None, make_cluster()))
        assert bool(told) is is_told, what
