from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.cli import suites
from groundspeed.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

SUITE = """\
suite: mine
environments:
  one: {{target: embedded, storage: {{directory: /tmp}}}}
  two: {{target: embedded, storage: {{directory: /tmp}}}}
workloads: [{workload}]
scale: 1000
{published}
"""
PAIRED = "published: weka-vs-gp3\npublished_environments: {one: eks-weka, two: eks-gp3}"


def load(tmp_path: Path, published: str, workload: str = "tpcb-like") -> object:
    path = tmp_path / "mine.yaml"
    path.write_text(SUITE.format(published=published, workload=workload))
    return suites.load(str(path), ())[1].beside


def test_the_plan_carries_the_pairs(tmp_path: Path) -> None:
    _, plan = suites.load("redis-persistence", ())
    assert plan.beside is not None
    assert plan.beside.publication == "redis-aof"
    # Every one of them is published by its name.
    assert {ours == theirs for ours, theirs in plan.beside.environments} == {True}
    assert load(tmp_path, "") is None
    beside = load(tmp_path, PAIRED)
    assert getattr(beside, "environments", None) == (("one", "eks-weka"), ("two", "eks-gp3"))


@pytest.mark.parametrize(
    ("published", "message", "hint"),
    [
        ("published: redis-aoff", "published: redis-aoff: no such", "did you mean redis-aof?"),
        ("published: weka-vs-gp3", "fewer than two of the environments", "it has eks-gp3"),
        (
            "published: weka-vs-gp3\npublished_environments: {three: eks-gp3}",
            "published_environments.three: there is no environment 'three'",
            "one",
        ),
        (
            "published: weka-vs-gp3\npublished_environments: {one: eks-gp2}",
            "published_environments.one: there is no environment 'eks-gp2'",
            "did you mean eks-gp3?",
        ),
        ("published_environments: {one: a}", "only with published", "name a publication"),
    ],
)
def test_what_is_not_there_is_told(tmp_path: Path, published: str, message: str, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, published)
    told = f"{caught.value}\n{caught.value.hint}"
    assert message in told
    assert hint in told


def test_a_publication_without_any_of_the_workloads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="none of the workloads"):
        load(tmp_path, PAIRED, "select-only")
