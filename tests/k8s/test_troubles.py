"""What a user sees when a cluster cannot do what is asked: one line of what, one of what to do."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.k8s.lab import Lab

TROUBLES: dict[str, tuple[dict[str, Any], str]] = {
    "an image that is nowhere": ({"image": "nowhere.invalid/none:18"}, "image"),
    "a class that is not there": ({"storage": {"class": "nope", "size": "1GiB"}}, "nope"),
    "too little memory": ({"resources": {"cpu": 1, "memory": "8MiB"}}, "memory"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_trouble_is_told(lab: Lab, trouble: str) -> None:
    change, told = TROUBLES[trouble]
    environments = {
        name: lab.environment("postgres", name, number) | change
        for number, name in enumerate(("one", "two"))
    }
    suite = lab.suite("troubled", environments=environments, repeats=1)
    done = lab.groundspeed("run", suite, *lab.run_options())
    assert done.returncode == 4, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert any(told in line.lower() for line in errors), done.stderr
    assert "hint: " in done.stderr
    if (lab.directory / "runs").exists():
        assert lab.groundspeed("clean", "--run", lab.run_id(), "--discard").returncode == 0
    assert lab.left() == set()


def test_a_pod_that_fits_nowhere_is_told_of_while_the_cluster_may_still_grow(lab: Lab) -> None:
    environments = {
        name: lab.environment("postgres", name, number)
        | {"resources": {"cpu": 500, "memory": "384MiB"}}
        for number, name in enumerate(("one", "two"))
    }
    suite = lab.suite("too-large", environments=environments, repeats=1)
    with lab.start("run", suite, *lab.run_options()) as following:
        assert following.stderr is not None
        told = next(line for line in following.stderr if "insufficient cpu" in line.lower())
        assert "one" in told
        following.send_signal(signal.SIGINT)
        following.communicate()
        # Watching ends, the run does not.
        assert following.returncode == 130
    assert lab.pod("runner")
    assert lab.groundspeed("clean", "--run", lab.run_id(), "--discard").returncode == 0
    assert lab.left() == set()
