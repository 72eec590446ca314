from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.manifests import caller_rights, naming, runner, servers
from groundspeed.manifests.runner_rights import evidence_rules, runner_rules
from groundspeed.plan import ClusterKind
from tests.unit.manifests.run_plans import CNPG, GIVEN, LOCAL, RUN_ID, STATEFUL_SET, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groundspeed.manifests.naming import Object

RESOURCES = {
    "StatefulSet": ("apps", "statefulsets"),
    "Service": ("", "services"),
    "Cluster": ("postgresql.cnpg.io", "clusters"),
    "Job": ("batch", "jobs"),
}


def rules_of(*environments: str, generators: int = 1) -> list[Object]:
    plan = plan_of(*environments, generators=generators)
    options = runner.RunnerOptions(image="i", namespace="bench")
    made = runner.run_objects(plan, run_id=RUN_ID, options=options, owner=None)
    [role] = [one for one in made if one["kind"] == "Role"]
    found: list[Object] = role["rules"]
    return found


def verbs(rules: Iterable[Object], group: str, resource: str, name: str = "any") -> set[str]:
    return {
        verb
        for rule in rules
        if group in rule["apiGroups"] and resource in rule["resources"]
        if name in rule.get("resourceNames", [name])
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("environment", [STATEFUL_SET, CNPG, GIVEN])
def test_the_runner_may_make_its_servers_and_remove_them(environment: str) -> None:
    rules = rules_of(environment)
    [planned] = plan_of(environment).environments
    made = servers.server_objects(planned, run_id=RUN_ID, owner=None, credentials="c")
    kinds = {one["kind"] for one in made}
    for kind in kinds:
        assert {"get", "create", "patch", "delete"} <= verbs(rules, *RESOURCES[kind])
    for kind in set(RESOURCES) - kinds:
        assert verbs(rules, *RESOURCES[kind]) == set()


def test_jobs_are_for_generators_alone() -> None:
    assert verbs(rules_of(STATEFUL_SET), "batch", "jobs") == set()
    assert {"create", "patch", "delete"} <= verbs(
        rules_of(STATEFUL_SET, generators=2), "batch", "jobs"
    )


def test_of_anchors_and_leases_it_touches_its_own() -> None:
    rules, own = rules_of(STATEFUL_SET), naming.run_name(RUN_ID)
    assert verbs(rules, "", "configmaps", own) == {"get", "patch"}
    assert verbs(rules, "", "configmaps", "another") == set()
    group = "coordination.k8s.io"
    assert verbs(rules, group, "leases", own) == {
        *("create", "get", "list", "watch", "update", "patch")
    }
    assert verbs(rules, group, "leases", "another") == {"create"}


def test_it_reads_no_secret_and_nothing_of_the_whole_cluster() -> None:
    rules = rules_of(STATEFUL_SET, LOCAL, CNPG, GIVEN, generators=2)
    for rule in rules:
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        assert "deletecollection" not in rule["verbs"]
    for resource in ("secrets", "serviceaccounts", "roles", "rolebindings", "nodes", "namespaces"):
        assert not any(resource in rule["resources"] for rule in rules)


def test_evidence_only_reads_and_starts_nothing() -> None:
    for rule in evidence_rules():
        assert set(rule["verbs"]) <= {"get", "list"}
        assert not any("/" in resource for resource in rule["resources"])


def test_two_namespaces_may_have_a_run_of_one_name() -> None:
    def cluster_names(namespace: str) -> set[str]:
        options = runner.RunnerOptions(image="i", namespace=namespace, cluster_evidence=True)
        made = runner.run_objects(plan_of(CNPG), run_id=RUN_ID, options=options, owner=None)
        return {o["metadata"]["name"] for o in made if o["kind"].startswith("ClusterRole")}

    assert cluster_names("one").isdisjoint(cluster_names("two"))


def test_with_an_account_none_is_made() -> None:
    options = runner.RunnerOptions(
        image="i", namespace="bench", service_account="mine", cluster_evidence=True
    )
    made = runner.run_objects(plan_of(CNPG), run_id=RUN_ID, options=options, owner=None)
    assert {one["kind"] for one in made} == {"StorageClass", "PersistentVolumeClaim", "Job"}
    assert made[-1]["spec"]["template"]["spec"]["serviceAccountName"] == "mine"


def pairs(rules: Iterable[Object]) -> set[tuple[Any, ...]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_a_caller_has_what_it_gives_to_the_runner() -> None:
    given = pairs(runner_rules(tuple(ClusterKind), has_generators=True))
    assert given <= pairs(caller_rights.access_rules())
    in_cluster = [*caller_rights.cluster_rules(), *caller_rights.given_evidence_rules()]
    assert pairs(evidence_rules()) <= pairs(in_cluster)


def test_a_caller_may_make_all_that_a_run_takes() -> None:
    rules = {
        False: pairs([*caller_rights.caller_rules(), *caller_rights.access_rules()]),
        True: pairs([*caller_rights.cluster_rules(), *caller_rights.given_evidence_rules()]),
    }
    plan = plan_of(LOCAL, CNPG, generators=2)
    options = runner.RunnerOptions(image="i", namespace="bench", cluster_evidence=True)
    for one in runner.run_objects(plan, run_id=RUN_ID, options=options, owner=None):
        group = one["apiVersion"].rpartition("/")[0]
        plural = f"{one['kind'].lower()}{'es' if one['kind'].endswith('s') else 's'}"
        needed = {(group, plural, verb) for verb in ("create", "patch", "delete")}
        assert needed <= rules["namespace" not in one["metadata"]]


def test_a_caller_never_reads_a_secret() -> None:
    everything = [*caller_rights.caller_rules(), *caller_rights.access_rules()]
    assert verbs(everything, "", "secrets") == {"create", "patch", "delete"}
