"""The referee of the manifests: it refuses what an API server would drop or refuse."""

from __future__ import annotations

from typing import Any

from tests.unit.manifests import schemas


def cluster(**spec: object) -> dict[str, Any]:
    meta = {"name": "a"}
    return {
        "apiVersion": "postgresql.cnpg.io/v1",
        "kind": "Cluster",
        "metadata": meta,
        "spec": {"instances": 1, **spec},
    }


def test_an_unknown_field_of_a_cluster_is_refused() -> None:
    assert schemas.complaints(cluster()) == []
    (told,) = schemas.complaints(cluster(storge={}))
    assert "storge" in told


def test_a_wrong_word_of_a_cluster_is_refused() -> None:
    assert schemas.complaints(cluster(primaryUpdateStrategy="soon"))


def test_an_unknown_field_deep_in_a_pod_is_refused() -> None:
    container = {"name": "a", "imagePullPolice": "Never"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [container]},
    }
    (told,) = schemas.complaints(pod)
    assert told == "Pod.spec.containers.0: unknown field imagePullPolice"


def test_a_number_for_a_text_is_refused() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": 7}}
    assert schemas.complaints(claim) == ["PersistentVolumeClaim.metadata.name: 7 is no str"]
