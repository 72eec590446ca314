from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.kube.api import KubeError
from groundspeed.ports import Seen
from groundspeed.probes.cluster_groups import Group
from groundspeed.probes.cluster_watch import ClusterWatcher
from groundspeed.record import Evidence, Series
from groundspeed.record.evidence import Absent, ProbeLevel
from tests.fakes import FakeClock
from tests.kube_server import ready_pod
from tests.unit.probes.captured_cluster import (
    CAPTURED,
    NODE,
    POINTS,
    RUNNER,
    SERVER,
    captured,
    cluster,
    group_text,
    telling,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from groundspeed.kube.api import Ran
    from groundspeed.kube.client import Client
    from groundspeed.ports import PodPlace, Watch, WatchPoints
    from groundspeed.record.cluster_work import ClusterWork
    from tests.kube_server import KubeServer

CADVISOR = f"/api/v1/nodes/{NODE}/proxy/metrics/cadvisor"


class OtherWatch:
    """The one that watches the server: four seconds of it."""

    def __init__(self, journal: list[str]) -> None:
        self.journal = journal

    def begin(self) -> None:
        self.journal.append("begin")

    def end(self) -> Seen:
        self.journal.append("end")
        evidence = Evidence(
            level=ProbeLevel.FULL,
            started_at_s=1.0,
            elapsed_s=4.0,
            absent=(Absent(what="disk", reason="elsewhere"),),
        )
        return Seen(evidence=evidence, series=Series())

    def close(self) -> None:
        self.journal.append("close")


class OtherWatcher:
    def __init__(self, *, is_off: bool = False) -> None:
        self.journal: list[str] = []
        self.is_off = is_off

    def open(self, points: WatchPoints) -> Watch | None:
        assert points.conninfo
        return None if self.is_off else OtherWatch(self.journal)


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with cluster() as running:
        yield running


def counters(*looks: Group) -> Callable[[], Group]:
    """What reads our own control group: one look after the other."""
    left = list(looks)
    return lambda: left.pop(0)


AT_REST = Group(version=2, cpu_s=1.0, period_count=10)


def watch_through(
    server: KubeServer,
    during: Callable[[], object] = lambda: None,
    own: Callable[[], Group] = lambda: AT_REST,
) -> Evidence:
    watcher = ClusterWatcher(OtherWatcher(), server.client(), RUNNER, own=own)
    watch = watcher.open(POINTS)
    assert watch is not None
    watch.begin()
    during()
    seen = watch.end()
    watch.close()
    return seen.evidence


def work_of(evidence: Evidence) -> ClusterWork:
    assert evidence.cluster is not None
    return evidence.cluster


def missed(evidence: Evidence) -> dict[str, str]:
    return {one.what: one.reason for one in evidence.absent if one.what != "disk"}


def test_a_trial_in_which_nothing_happens_has_nothing_to_tell(server: KubeServer) -> None:
    evidence = watch_through(server)
    work = work_of(evidence)

    assert missed(evidence) == {}
    assert (work.restart_count, work.oom_count) == (0, 0)
    assert (work.events, work.pressures, work.degraded) == ((), (), ())
    assert work.memory_limit_bytes == 256 * 1024**2
    assert work.server is not None
    assert (work.server.cpu_count, work.server.throttled_ratio) == (0.0, 0.0)
    assert work.volume_used_bytes is not None


def test_what_the_other_saw_stays_as_it_is(server: KubeServer) -> None:
    evidence = watch_through(server)

    assert (evidence.elapsed_s, evidence.started_at_s) == (4.0, 1.0)
    assert evidence.absent[0].what == "disk"
    assert evidence.costs[-1].probe == "cluster"
    assert evidence.costs[-1].call_count > 5


def test_nothing_is_asked_while_the_load_is_measured(server: KubeServer) -> None:
    asked: list[int] = []

    watch_through(server, lambda: asked.append(len(server.requests)))

    # Before, and then not until the end.
    assert 0 < asked[0] < len(server.requests)
    assert all(request.method == "GET" for request in server.requests)


def test_the_server_is_looked_at_around_what_the_other_counts(server: KubeServer) -> None:
    other = OtherWatcher()
    before: list[list[str]] = []
    server.on_exec(
        lambda _pod, _container, _argv: before.append(list(other.journal)) or telling(group_text())
    )

    watch = ClusterWatcher(other, server.client(), None).open(POINTS)
    assert watch is not None
    watch.begin()
    watch.end()

    assert before == [[], ["begin", "end"]]


def test_a_server_that_was_held_back_is_told_with_what_it_burnt(server: KubeServer) -> None:
    def load() -> None:
        text = group_text(nr_periods=1395, nr_throttled=225).replace("7447638029", "8247638029")
        server.on_exec(lambda _pod, _container, _argv: telling(text))

    seen = work_of(watch_through(server, load)).server

    assert seen is not None
    assert (seen.period_count, seen.throttled_count) == (40, 36)
    assert seen.throttled_ratio == 0.9
    assert seen.cpu_count == pytest.approx(0.2)
    assert seen.source == "cpu.stat in the container"


def test_a_runner_and_generators_that_were_held_back_are_told(server: KubeServer) -> None:
    labels = {"groundspeed/run": "20260131-120000-quick", "groundspeed/role": "generator"}
    server.put(ready_pod("load-0", labels=labels, node="node-b"))
    ours = counters(AT_REST, Group(version=2, cpu_s=3.0, period_count=50, throttled_count=30))

    def load() -> None:
        text = group_text(nr_periods=1365, nr_throttled=194)
        server.on_exec(lambda _pod, _container, _argv: telling(text))

    work = work_of(watch_through(server, load, ours))

    assert work.client is not None
    assert (work.client.pod, work.client.throttled_ratio) == ("load", 0.75)
    assert [(one.pod, one.throttled_ratio) for one in work.generators] == [("load-0", 0.5)]


def test_events_kills_and_restarts_of_a_trial_are_told(server: KubeServer) -> None:
    def trouble() -> None:
        killed = captured("pod")
        killed["status"]["containerStatuses"][0] |= {
            "restartCount": 1,
            "lastState": {"terminated": {"reason": "OOMKilled"}},
        }
        server.put(killed)
        event = captured("events")[0]
        event["metadata"] |= {"name": "back-off", "uid": "new"}
        event |= {"reason": "BackOff", "type": "Warning", "count": 2}
        event["involvedObject"] |= {"kind": "Pod", "name": "pg-0"}
        server.put(event)
        about_node = captured("node-events")[0]
        about_node["metadata"] |= {"name": "pressure", "uid": "other"}
        about_node |= {"reason": "NodeHasInsufficientMemory"}
        about_node["involvedObject"] |= {"kind": "Node", "name": NODE}
        server.put(about_node)

    work = work_of(watch_through(server, trouble))

    assert (work.restart_count, work.oom_count) == (1, 1)
    assert {(one.about, one.reason, one.count) for one in work.events} == {
        ("Pod/pg-0", "BackOff", 2),
        (f"Node/{NODE}", "NodeHasInsufficientMemory", 1),
    }


def test_a_volume_that_lacks_a_replica_is_named(server: KubeServer) -> None:
    place = msgspec.structs.replace(SERVER, claims=("data-pg-0", "replicated"))
    points = msgspec.structs.replace(POINTS, pod=place)
    watch = ClusterWatcher(OtherWatcher(), server.client(), None).open(points)
    assert watch is not None
    watch.begin()

    assert work_of(watch.end().evidence).degraded == ("replicated",)


def test_where_no_shell_can_be_asked_the_kubelet_counts(server: KubeServer) -> None:
    server.deny("get", "pods/exec")
    text = (CAPTURED / "cadvisor.txt").read_text()

    def load() -> None:
        later = text.replace("container_cpu_cfs_periods_total", "#periods")
        for name, value, at in (
            ("cfs_periods_total", 3000, 1_795_300_000_000),
            ("cfs_throttled_periods_total", 2000, 1_795_300_000_000),
            ("cfs_throttled_seconds_total", 99.0, 1_795_300_000_000),
            ("usage_seconds_total", 500.0, 1_795_300_000_000),
        ):
            labels = 'container="postgres",namespace="bench",pod="pg-0"'
            later += f"container_cpu_{name}{{{labels}}} {value} {at}\n"
        server.serve(CADVISOR, later)

    evidence = watch_through(server, load)
    seen = work_of(evidence).server

    assert missed(evidence) == {"cluster-inside": "not allowed"}
    assert seen is not None
    assert seen.source == "the kubelet's cAdvisor"
    assert seen.period_count is not None
    assert seen.period_count > 1000
    assert seen.cpu_count is not None


def test_what_is_not_allowed_is_asked_once_and_told_once(server: KubeServer) -> None:
    server.deny("get", "nodes")
    server.deny("list", "events")
    server.deny("get", "pods/exec")
    server.fail_next("GET", "/proxy/", 403, times=9)

    evidence = watch_through(server)

    assert missed(evidence) == {
        "cluster-events": "not allowed",
        "cluster-inside": "not allowed",
        "cluster-kubelet": "not allowed",
        "cluster-node": "not allowed",
        "cluster-node-events": "not allowed",
    }
    assert work_of(evidence).server is None
    assert sum("/proxy/" in request.path for request in server.requests) == 1


def test_a_cluster_that_is_gone_fails_no_trial_and_is_waited_for_once() -> None:
    clock, waits = FakeClock(), []

    def sleep(elapsed_s: float) -> None:
        clock.pass_time(elapsed_s)
        waits.append(elapsed_s)

    with cluster() as server:
        client = server.client(now_s=clock.monotonic_s, sleep=sleep)
        watch = ClusterWatcher(OtherWatcher(), client, RUNNER, own=lambda: AT_REST).open(POINTS)
        assert watch is not None
        watch.begin()
        server.fail_next("GET", "/", 500, times=10_000, drop=True)
        evidence = watch.end().evidence

    assert evidence.elapsed_s == 4.0
    assert set(missed(evidence)) >= {"cluster-server", "cluster-events"}
    assert len(set(missed(evidence).values())) == 1
    # The client's own patience, and not once for each question.
    assert 0 < sum(waits) < 60


def test_a_container_that_hangs_costs_no_more_than_its_own_figures(server: KubeServer) -> None:
    watch = ClusterWatcher(OtherWatcher(), hanging(server.client()), None).open(POINTS)
    assert watch is not None
    watch.begin()

    evidence = watch.end().evidence

    assert set(missed(evidence)) == {"cluster-inside"}
    # The kubelet counted meanwhile.
    assert work_of(evidence).server is not None


def hanging(client: Client) -> Client:
    """A client whose programs in pods do not end in time."""
    client.execute = _too_long  # type: ignore[method-assign]
    return client


def _too_long(*_: object, **__: object) -> Ran:
    raise KubeError("sh in pod pg-0 did not end within 10 s", "see the pod")


def test_objects_of_another_shape_fail_no_trial(server: KubeServer) -> None:
    server.change("Node", NODE, {"status": {"conditions": "fine"}})

    evidence = watch_through(server)

    assert evidence.cluster is None
    assert missed(evidence)["cluster"].startswith("TypeError")


def test_where_nothing_shall_be_watched_the_cluster_is_not_either(server: KubeServer) -> None:
    watcher = ClusterWatcher(OtherWatcher(is_off=True), server.client(), RUNNER)

    assert watcher.open(POINTS) is None
    assert server.requests == []


@pytest.mark.parametrize(("server_pid", "client"), [(None, None), (17, RUNNER)])
def test_a_server_outside_of_kubernetes_or_of_our_own_is_left_to_the_other(
    server: KubeServer, server_pid: int | None, client: PodPlace | None
) -> None:
    points = msgspec.structs.replace(POINTS, pod=None, server_pid=server_pid)

    watch = ClusterWatcher(OtherWatcher(), server.client(), client).open(points)

    assert isinstance(watch, OtherWatch)


def test_of_a_given_server_without_a_pod_its_load_is_told(server: KubeServer) -> None:
    points = msgspec.structs.replace(POINTS, pod=None)
    ours = counters(AT_REST, Group(version=2, cpu_s=3.0, period_count=50, throttled_count=30))
    watch = ClusterWatcher(OtherWatcher(), server.client(), RUNNER, own=ours).open(points)
    assert watch is not None
    watch.begin()

    work = work_of(watch.end().evidence)

    assert work.server is None
    assert work.client is not None
    assert work.client.throttled_ratio == 0.75
