from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from groundspeed.probes.cluster_events import came, counts, pressures, restarts
from groundspeed.record.cluster_work import ClusterEvent, NodePressure
from tests.unit.probes.captured_cluster import NODE, captured

BEGAN = dt.datetime(2026, 11, 21, 20, 20, tzinfo=dt.UTC).timestamp()


def event(uid: str, count: int, *, at: str = "2026-11-21T20:20:12Z") -> dict[str, Any]:
    """As the kubelet writes them, which counts one that comes again."""
    return {
        "metadata": {"uid": uid, "creationTimestamp": "2026-11-21T20:00:00Z"},
        "involvedObject": {"kind": "Pod", "name": "pg-0"},
        "type": "Warning",
        "reason": "Unhealthy",
        "message": "Readiness probe failed: 127.0.0.1:5432\n - rejecting connections",
        "count": count,
        "lastTimestamp": at,
    }


def test_what_was_told_before_is_not_told_again() -> None:
    events = captured("events")

    assert len(events) > 3
    assert came(counts(events), events, BEGAN) == ()


def test_an_event_that_comes_again_counts_how_often_it_did() -> None:
    before, after = [event("a", 3)], [event("a", 7), event("b", 1, at="2026-11-21T20:20:05Z")]

    first, second = came(counts(before), after, BEGAN)

    assert (first.at_s, first.count) == (5.0, 1)
    assert second == ClusterEvent(
        about="Pod/pg-0",
        kind="Warning",
        reason="Unhealthy",
        message="Readiness probe failed: 127.0.0.1:5432 - rejecting connections",
        count=4,
        at_s=12.0,
    )


def test_events_of_the_later_kind_have_a_series() -> None:
    early = event("a", 1) | {"count": None, "lastTimestamp": None}
    early |= {"eventTime": "2026-11-21T20:20:30.754281Z"}
    later = early | {"series": {"count": 5, "lastObservedTime": "2026-11-21T20:20:42.000000Z"}}

    assert [one.at_s for one in came({}, [early], BEGAN)] == [pytest.approx(30.754281)]
    (told,) = came(counts([early]), [later], BEGAN)
    assert (told.count, told.at_s) == (4, 42.0)


def test_an_event_of_a_clock_that_is_behind_is_no_earlier_than_the_begin() -> None:
    (told,) = came({}, [event("a", 1, at="2026-11-21T20:19:59Z")], BEGAN)

    assert told.at_s == 0.0


def pod(count: int, *, uid: str = "one", **status: Any) -> dict[str, Any]:  # noqa: ANN401
    found = captured("pod")
    found["metadata"]["uid"] = uid
    found["status"]["containerStatuses"][0] |= {"restartCount": count, **status}
    return dict(found)


def test_a_container_that_began_anew_is_counted() -> None:
    killed = {"lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}

    assert restarts(pod(2), pod(2), "postgres") == (0, False)
    assert restarts(pod(2), pod(3), "postgres") == (1, False)
    assert restarts(pod(2), pod(4, **killed), "postgres") == (2, True)
    # What happened before the trial is no part of it.
    assert restarts(pod(4, **killed), pod(4, **killed), "postgres") == (0, False)


def test_another_pod_of_the_name_began_anew_as_well() -> None:
    assert restarts(pod(3), pod(0, uid="two"), "postgres") == (1, False)
    assert restarts(pod(3), None, "postgres") == (0, False)


def node(**changed: tuple[str, str]) -> dict[str, Any]:
    found = captured("node")
    for one in found["status"]["conditions"]:
        if one["type"] in changed:
            one["status"], one["lastTransitionTime"] = changed[one["type"]]
    return dict(found)


def test_a_node_at_rest_is_short_of_nothing() -> None:
    assert pressures([node()], [node()]) == ()
    assert pressures([], [node()]) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (node(), node(MemoryPressure=("True", "2026-11-21T20:20:10Z"))),
        (node(MemoryPressure=("True", "2026-11-21T20:00:00Z")), node()),
        # It came and went between the looks.
        (node(), node(MemoryPressure=("False", "2026-11-21T20:20:10Z"))),
    ],
)
def test_a_node_that_was_short_of_memory_is_named(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert pressures([before], [after]) == (NodePressure(node=NODE, condition="MemoryPressure"),)
