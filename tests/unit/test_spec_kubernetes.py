"""What a suite may ask of Kubernetes, and each complaint about what it may not."""

from __future__ import annotations

import json

import pytest

from groundspeed import spec
from groundspeed.errors import SpecError

STORAGE = "storage: {class: fast, size: 10GiB}"
SEE = "see docs/suite.md or groundspeed schema"
NAME = ("not a name that Kubernetes has", "write lower-case letters, digits, - and . in between")
KINDS = ("needs one of class, gp3, longhorn, weka, local and local_path", "name one of them")


def suite(asked: str, more: str = "") -> str:
    return f"suite: s\nenvironments:\n  pod: {{target: kubernetes, {asked}}}\n{more}"


def server(asked: str) -> str:
    return suite(f"cluster: postgres, {asked}, {STORAGE}")


def stored(asked: str) -> str:
    return suite(f"cluster: postgres, storage: {{{asked}, size: 1GiB}}")


def service(asked: str) -> str:
    return suite(f"service: {{name: db, secret: login, {asked}}}")


def complaints(text: str) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        spec.load_suite(text, source="s.yaml")
    return [(caught.value.message, caught.value.hint), *caught.value.further]


def asked_of(text: str) -> spec.KubernetesEnvironment:
    found = spec.load_suite(text, source="s.yaml").environments["pod"]
    assert isinstance(found, spec.KubernetesEnvironment)
    return found


@pytest.mark.parametrize(
    ("text", "path", "told"),
    [
        # -- who makes it
        (
            suite("version: 16"),
            "environments.pod",
            ("needs either cluster or service", "write cluster: cnpg, or cluster: postgres"),
        ),
        (
            suite("cluster: cnpg, service: {name: db, secret: login}"),
            "environments.pod",
            ("needs either cluster or service", "write cluster: cnpg, or cluster: postgres"),
        ),
        (
            suite(f"cluster: operator, {STORAGE}"),
            "environments.pod.cluster",
            ("'operator' is not known", "write one of cnpg, postgres"),
        ),
        (suite("cluster: cnpg"), "environments.pod", ("needs storage", "name a class and a size")),
        (
            server("instances: 2"),
            "environments.pod",
            ("takes instances only with cluster cnpg", "a StatefulSet here is one server"),
        ),
        (
            suite(f"cluster: cnpg, one_at_a_time: true, {STORAGE}"),
            "environments.pod",
            ("takes one_at_a_time only with cluster postgres", "leave it out"),
        ),
        (
            server("pull_policy: never"),
            "environments.pod.pull_policy",
            ("'never' is not known", "did you mean 'Never'?"),
        ),
        (
            server("verison: 16"),
            "environments.pod.verison",
            ("no such key", "did you mean 'version'?"),
        ),
        (
            server("user: 0"),
            "environments.pod.user",
            ("input should be greater than or equal to 1", SEE),
        ),
        (
            server("settings: {fsync: [1]}"),
            "environments.pod.settings.fsync",
            ("not a value", "write text, a number, true or false"),
        ),
        # -- a given one
        (
            suite("service: {name: db, secret: login}, version: 16"),
            "environments.pod",
            ("takes no version with service", "a given server is as it is"),
        ),
        (
            suite("service: {name: db}"),
            "environments.pod.service.secret",
            ("missing", "add the key 'secret'"),
        ),
        (suite("service: {name: Db_1, secret: x}"), "environments.pod.service.name", NAME),
        (
            service("prot: 1"),
            "environments.pod.service.prot",
            ("no such key", "did you mean 'port'?"),
        ),
        (
            service("port: 70000"),
            "environments.pod.service.port",
            ("input should be less than or equal to 65535", SEE),
        ),
        (
            service("sslmode: allow"),
            "environments.pod.service.sslmode",
            ("'allow' is not known", "write one of disable, prefer, require, verify-full"),
        ),
        (
            service("password_key: 'a b'"),
            "environments.pod.service.password_key",
            ("not a key of a Secret", "write letters, digits, -, _ and ."),
        ),
        # -- its storage
        (stored("longhorn: {replicas: 1}, gp3: {}"), "environments.pod.storage", KINDS),
        (
            suite("cluster: postgres, storage: {class: a}"),
            "environments.pod.storage.size",
            ("missing", "add the key 'size'"),
        ),
        (suite("cluster: postgres, storage: {size: 1GiB}"), "environments.pod.storage", KINDS),
        (
            suite("cluster: postgres, storage: {class: a, size: 5}"),
            "environments.pod.storage.size",
            ("needs a unit, as in 8GiB", SEE),
        ),
        (stored("class: A_B"), "environments.pod.storage.class", NAME),
        (
            stored("gp3: {iops: 100}"),
            "environments.pod.storage.gp3.iops",
            ("input should be greater than or equal to 3000", SEE),
        ),
        (
            stored("gp3: {iosp: 4000}"),
            "environments.pod.storage.gp3.iosp",
            ("no such key", "did you mean 'iops'?"),
        ),
        (
            stored("longhorn: {}"),
            "environments.pod.storage.longhorn.replicas",
            ("missing", "add the key 'replicas'"),
        ),
        (
            stored("longhorn: {replicas: 1, data_locality: near}"),
            "environments.pod.storage.longhorn.data_locality",
            ("'near' is not known", "write one of disabled, best-effort, strict-local"),
        ),
        (
            stored("longhorn: {replicas: 2, data_locality: strict-local}"),
            "environments.pod.storage.longhorn",
            ("takes data_locality strict-local only with one replica", "write replicas: 1"),
        ),
        (
            stored("longhorn: {replicas: 1, disk_tags: ssd}"),
            "environments.pod.storage.longhorn.disk_tags",
            ("not a list", "write a list, as in [1, 8]"),
        ),
        (
            stored("local: {node: n}"),
            "environments.pod.storage.local.path",
            ("missing", "add the key 'path'"),
        ),
        (
            stored("local: {node: n, path: data}"),
            "environments.pod.storage.local.path",
            ("not an absolute path", "begin it with /"),
        ),
        (
            stored("local_path: false"),
            "environments.pod.storage.local_path",
            ("'false' is not known", "write one of true"),
        ),
        (
            stored("weka: {filesystem: ''}"),
            "environments.pod.storage.weka.filesystem",
            ("empty", "write a name"),
        ),
        (
            suite("cluster: cnpg, instances: 2, storage: {local: {node: n, path: /d}, size: 1GiB}"),
            "environments.pod",
            (
                "takes instances only with storage that is provisioned",
                "leave them out, a local directory holds one server",
            ),
        ),
        (
            suite(
                "cluster: postgres, storage: {local: {node: n, path: /d}, size: 1GiB},"
                " wal_storage: {local: {node: m, path: /d}, size: 1GiB}"
            ),
            "environments.pod",
            ("has storage and wal_storage on two nodes", "no pod reaches both"),
        ),
        (
            server("wal_storage: {directory: x, size: 1GiB}"),
            "environments.pod.wal_storage.directory",
            (
                "no such key",
                "known here: class, gp3, longhorn, weka, local, local_path, size",
            ),
        ),
        # -- its place
        (
            server("resources: {cpu: 2}"),
            "environments.pod.resources.memory",
            ("missing", "add the key 'memory'"),
        ),
        (
            server("resources: {cpu: two, memory: 1GiB}"),
            "environments.pod.resources.cpu",
            ("'two' is no number of cores", "write it as in 2, 0.5 or 500m"),
        ),
        (
            server("resources: {cpu: 1, memory: 1GiB, hugepages_2mi: 3MiB}"),
            "environments.pod.resources",
            ("needs hugepages_2mi in whole pages", "a multiple of 2MiB"),
        ),
        (
            server("placement: {apart: rack}"),
            "environments.pod.placement.apart",
            ("'rack' is not known", "write one of node, zone, load, no"),
        ),
        (
            server("placement: {node_selector: {disk: 1}}"),
            "environments.pod.placement.node_selector.disk",
            ("not text", "write text, in quotes where it looks like a number"),
        ),
        (
            server("placement: {tolerations: [x]}"),
            "environments.pod.placement.tolerations.0",
            ("not a mapping", "write keys and values below it"),
        ),
        # -- the rest of the suite
        (
            server("version: 12"),
            "suite",
            ("has PostgreSQL 12 in 'pod'", "write a version from 13 to 18"),
        ),
        (
            server("options: {a: 1}"),
            "suite",
            ("takes options and a replica only with another engine", "see 'pod'"),
        ),
        (
            suite(
                f"cluster: postgres, {STORAGE}", "engine: redis\nworkloads: [{name: a, load: {}}]"
            ),
            "suite",
            ("has 'pod' in Kubernetes, where only postgres is measured", "leave it out"),
        ),
        (
            suite(f"cluster: postgres, {STORAGE}", "generators: 4\nclients: [2, 8]"),
            "suite",
            ("has fewer clients than its 4 generators", "each one needs a client"),
        ),
        (
            suite(
                f"cluster: postgres, one_at_a_time: true, {STORAGE}",
                "measure: {until: capacity, bound: {p99: 10ms}}",
            ),
            "suite",
            (
                "takes one_at_a_time only without measure.until, see 'pod'",
                "a slice is shorter than a start of its pod",
            ),
        ),
    ],
)
def test_every_mistake_is_told_with_its_path(text: str, path: str, told: tuple[str, str]) -> None:
    assert complaints(text) == [(f"s.yaml: {path}: {told[0]}", told[1])]


def test_a_target_that_is_nearly_this_one_is_guessed() -> None:
    text = f"suite: s\nenvironments:\n  pod: {{target: kuberntes, cluster: cnpg, {STORAGE}}}\n"
    assert complaints(text) == [
        ("s.yaml: environments.pod: no target 'kuberntes'", "did you mean 'kubernetes'?")
    ]


def test_a_bare_no_is_the_word() -> None:
    # YAML 1.1 takes it for false.
    assert asked_of(server("placement: {apart: no}")).placement.apart == "no"


def test_what_is_asked_is_read() -> None:
    asked = asked_of(
        suite(
            "cluster: cnpg, instances: 3, version: 17,"
            " storage: {longhorn: {replicas: 2, disk_tags: [nvme]}, size: 20GiB},"
            " wal_storage: {gp3: {iops: 16000, throughput: 1000}, size: 4GiB},"
            " resources: {cpu: 500m, memory: 2GiB, hugepages_2mi: 512MiB},"
            " placement: {node_selector: {disk: nvme}, apart: zone,"
            " tolerations: [{key: db, operator: Exists, tolerationSeconds: 5}]}"
        )
    )
    assert (asked.cluster, asked.instances, asked.version) == ("cnpg", 3, 17)
    assert asked.storage is not None
    assert asked.storage.longhorn is not None
    assert asked.storage.longhorn.disk_tags == ("nvme",)
    assert asked.storage.size == 20 * 1024**3
    assert asked.wal_storage is not None
    assert asked.wal_storage.gp3 is not None
    assert asked.resources is not None
    assert (asked.resources.cpu, asked.resources.memory) == (0.5, 2 * 1024**3)
    assert asked.placement.tolerations == (
        {"key": "db", "operator": "Exists", "tolerationSeconds": 5},
    )


def test_the_schema_knows_the_kinds_of_storage_and_no_options() -> None:
    models = spec.json_schema()["$defs"]
    assert set(models["ClusterStorage"]["properties"]) == {
        *("class", "gp3", "longhorn", "weka", "local", "local_path", "size")
    }
    assert "options" not in models["KubernetesEnvironment"]["properties"]
    assert json.dumps(models)
