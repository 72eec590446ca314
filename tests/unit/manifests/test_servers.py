from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.manifests import naming, servers
from tests.unit.manifests.server_plans import GP3, LOCAL, RUN_ID, environment, made, plan_of

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan

CLASS = {"class": "fast", "size": "1GiB"}


def given(name: str = "db") -> EnvironmentPlan:
    return plan_of({"a": {"service": {"name": name, "secret": "app"}}}).environments[0]


@pytest.mark.parametrize("cluster", ["postgres", "cnpg"])
def test_everything_is_owned_and_labelled(cluster: str) -> None:
    for one in made(environment(cluster)):
        assert one["metadata"]["ownerReferences"][0]["uid"] == "u-1"
        wanted = naming.labels(RUN_ID, "server", "a")
        assert one["metadata"]["labels"] == wanted
        assert "namespace" not in one["metadata"]


@pytest.mark.parametrize("cluster", ["postgres", "cnpg"])
def test_the_hash_is_of_what_is_asked_and_not_of_who_owns_it(cluster: str) -> None:
    def told(planned: EnvironmentPlan, owner: dict[str, str] | None) -> str:
        objects = servers.server_objects(planned, run_id=RUN_ID, owner=owner, credentials="c")
        found: str = objects[-1]["metadata"]["annotations"][naming.SPEC_HASH_ANNOTATION]
        return found

    whole = environment(cluster, resources={"cpu": 2, "memory": "4GiB"})
    assert told(whole, None) == told(whole, {"uid": "u-2"})
    assert told(whole, None) != told(environment(cluster), None)


def test_the_main_object_is_the_last() -> None:
    for cluster in ("postgres", "cnpg"):
        planned = environment(cluster)
        ref = servers.main_ref(planned, run_id=RUN_ID, namespace="bench")
        last = made(planned)[-1]
        last["metadata"]["namespace"] = "bench"
        assert naming.ref_of(last) == ref


def test_a_given_server_is_only_addressed() -> None:
    planned = given()
    assert made(planned) == ()
    assert servers.wipe_command(planned, run_id=RUN_ID) == ()
    with pytest.raises(ValueError, match="given"):
        servers.main_ref(planned, run_id=RUN_ID, namespace="bench")


def test_addresses() -> None:
    def address(planned: EnvironmentPlan) -> str:
        return servers.address_of(planned, run_id=RUN_ID, namespace="bench")

    name = naming.server_name(RUN_ID, "a")
    assert address(environment()) == f"{name}.bench.svc"
    assert address(environment("cnpg")) == f"{name}-rw.bench.svc"
    assert address(given()) == "db.bench.svc"
    assert address(given("db.prod.svc")) == "db.prod.svc"


def test_only_a_stateful_set_is_taken_down_by_us() -> None:
    ref, change = servers.scaled(environment(), run_id=RUN_ID, namespace="bench", replicas=0)
    assert (ref.kind, change) == ("StatefulSet", {"spec": {"replicas": 0}})
    with pytest.raises(ValueError, match="scaled"):
        servers.scaled(environment("cnpg"), run_id=RUN_ID, namespace="bench", replicas=0)


def test_pods_and_the_primary_are_found_by_labels() -> None:
    planned = environment()
    (pod_labels, primary) = (
        servers.pod_labels(planned, run_id=RUN_ID),
        servers.primary_labels(planned, run_id=RUN_ID),
    )
    labels = made(planned)[-1]["spec"]["template"]["metadata"]["labels"]
    assert pod_labels == primary
    assert pod_labels.items() <= labels.items()
    found = servers.primary_labels(environment("cnpg"), run_id=RUN_ID)
    assert found == {
        "cnpg.io/cluster": naming.server_name(RUN_ID, "a"),
        "cnpg.io/instanceRole": "primary",
    }


def test_what_stays_on_a_volume_is_wiped_by_its_own_name_alone() -> None:
    planned = environment(storage=LOCAL, wal_storage=GP3)
    command = servers.wipe_command(planned, run_id=RUN_ID)
    assert command[:2] == ("sh", "-c")
    name = naming.server_name(RUN_ID, "a")
    assert command[4:] == (
        f"/var/lib/postgresql/data/{name}",
        f"/var/lib/postgresql/wal/{name}-wal",
    )
    assert servers.wipe_command(environment(storage=CLASS), run_id=RUN_ID)[4:] == command[4:5]


def test_volumes_that_go_with_their_claims_are_not_wiped() -> None:
    assert servers.wipe_command(environment(), run_id=RUN_ID) == ()


def test_of_a_cluster_what_the_operator_made_is_wiped() -> None:
    command = servers.wipe_command(environment("cnpg", storage=LOCAL), run_id=RUN_ID)
    assert command[4:] == ("/var/lib/postgresql/data/pgdata",)
