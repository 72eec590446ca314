"""What no server in Kubernetes can have is refused when the plan is made, all of it at once."""

from __future__ import annotations

from typing import Any

import pytest

from groundspeed.errors import SpecError
from groundspeed.plan import ClusterKind
from groundspeed.plan.pod_refusals import refused_settings
from tests.unit.manifests.server_plans import LOCAL, plan_of

CLASS = {"class": "fast", "size": "1GiB"}


def complaints(environments: dict[str, dict[str, Any]], **postgres: object) -> list[str]:
    with pytest.raises(SpecError) as caught:
        plan_of(environments, **postgres)
    assert caught.value.hint
    return [caught.value.message, *(message for message, _ in caught.value.further)]


@pytest.mark.parametrize("kind", [ClusterKind.POSTGRES, ClusterKind.CNPG])
@pytest.mark.parametrize("name", ["port", "Listen_Addresses", "data_directory", "hba_file"])
def test_where_the_server_is_belongs_to_the_run(kind: ClusterKind, name: str) -> None:
    ((message, _),) = refused_settings(kind, [(name, "x")])
    assert message == f"the setting {name.lower()} belongs to groundspeed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("archive_command", "cp"),
        ("archive_mode", "always"),
        ("ssl", "off"),
        ("log_destination", "stderr"),
        ("synchronous_standby_names", "*"),
    ],
)
def test_what_the_operator_fixes_is_refused_of_it_alone(name: str, value: str) -> None:
    ((message, hint),) = refused_settings(ClusterKind.CNPG, [(name, value)])
    assert message == f"the setting {name} is fixed by CloudNativePG"
    assert "cluster: postgres" in hint
    assert refused_settings(ClusterKind.POSTGRES, [(name, value)]) == ()


def test_what_a_cluster_has_in_places_of_its_own_is_taken() -> None:
    settings = [("archive_mode", "off"), ("shared_preload_libraries", "a"), ("work_mem", "4MB")]
    assert refused_settings(ClusterKind.CNPG, settings) == ()


def test_all_that_is_wrong_is_told_at_once() -> None:
    both = {
        "a": {"cluster": "cnpg", "storage": CLASS},
        "b": {"cluster": "postgres", "storage": CLASS},
    }
    assert complaints(both, settings={"port": 5433, "ssl": False}) == [
        "environments.a: the setting port belongs to groundspeed",
        "environments.a: the setting ssl is fixed by CloudNativePG",
        "environments.b: the setting port belongs to groundspeed",
    ]


def on(node: str, path: str) -> dict[str, Any]:
    local = {"local": {"node": node, "path": path}, "size": "1GiB"}
    return {"cluster": "cnpg", "storage": local}


@pytest.mark.parametrize("path", ["/mnt/disk", "/mnt/disk/", "/mnt/disk/b", "/mnt"])
def test_two_servers_never_share_a_directory(path: str) -> None:
    (message,) = complaints({"a": on("n1", "/mnt/disk"), "b": on("n1", path)})
    assert message == f"environments.b: {path} on n1 is also where a has a volume"


def test_a_log_has_a_directory_of_its_own() -> None:
    both = {"cluster": "postgres", "storage": LOCAL, "wal_storage": LOCAL}
    (message,) = complaints({"a": both})
    assert "also where a has a volume" in message


def test_directories_beside_each_other_and_on_other_nodes_are_fine() -> None:
    plan = plan_of(
        {
            "a": on("n1", "/mnt/disk/a"),
            "b": on("n1", "/mnt/disk/ab"),
            "c": on("n2", "/mnt/disk/a"),
            "d": {"service": {"name": "db", "secret": "x"}},
        }
    )
    assert len(plan.environments) == 4
