"""A run that is rendered, applied by others and then followed as any other."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.k8s.lab import Lab


def test_a_rendered_run_goes_and_is_removed_as_any_other(lab: Lab) -> None:
    suite = lab.suite("rendered", repeats=1)
    place = ("--namespace", lab.namespace)
    image = lab.run_options()[lab.run_options().index("--image") :]
    rendered = lab.groundspeed("k8s", "render", suite, "--run-id", "nightly", *place, *image)
    assert rendered.returncode == 0, rendered.stderr
    # As it is told, by hand.
    subprocess.run(["sh", "-ec", rendered.stderr.splitlines()[-1]], check=True)
    lab.kubectl("apply", "--server-side", "-f", "-", stdin=rendered.stdout)
    succeeded = ("get", "jobs", "--output", "jsonpath={.items[*].status.succeeded}")
    lab.wait("the end of the Job", lambda: lab.kubectl(*succeeded) == "1")
    collected = lab.groundspeed("collect", "nightly", *place)
    assert collected.returncode == 0, collected.stderr
    assert lab.run_id() == "nightly"
    assert len(lab.measured()) == 2
    cleaned = lab.groundspeed("clean", "--run", "nightly", *place)
    assert cleaned.returncode == 0, cleaned.stderr
    assert lab.left() == set()


def test_rights_are_as_the_server_wants_them(lab: Lab) -> None:
    for place in (("--namespace", lab.namespace), ()):
        printed = lab.groundspeed("k8s", "rights", *place)
        applied = lab.kubectl(
            *("apply", "--server-side", "--dry-run=server", "-f", "-"), stdin=printed.stdout
        )
        assert len(applied.splitlines()) == 7


def test_a_shell_opens_in_a_pod_and_the_pod_goes(lab: Lab) -> None:
    options = lab.run_options()
    few = options[options.index("--image") : options.index("--results-size")]
    opened = lab.groundspeed("k8s", "shell", "--namespace", lab.namespace, *few)
    assert opened.returncode == 0, opened.stderr
    lab.wait("its pod to go", lambda: not lab.list("pods", role="shell"))
