"""A suite on a cluster, from submitting to the verdict, and nothing left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.k8s.lab import Lab


@pytest.mark.parametrize("cluster", ["postgres", "cnpg"])
def test_a_suite_runs_to_a_verdict_and_leaves_nothing(lab: Lab, cluster: str) -> None:
    suite = lab.suite("two-volumes", cluster=cluster)
    done = lab.groundspeed("run", suite, *lab.run_options())
    assert done.returncode == 0, done.stderr
    assert len(lab.measured()) == 16
    assert not lab.failed()
    # A verdict and not only a table: with eight blocks an interval can exclude 1.
    assert any(word in done.stdout for word in ("faster", "slower", "equivalent", "not decided"))
    assert "one" in done.stdout
    assert "two" in done.stdout
    facts = lab.measured()[0].provenance.cluster
    assert facts is not None
    assert facts.server is not None
    assert facts.server.node.name
    classes = {r.provenance.storage.label for r in lab.measured() if r.provenance.storage}
    assert len(classes) == 2
    run_id = lab.run_id()
    again = lab.groundspeed("report", f"runs/{run_id}")
    assert again.returncode == 0
    # The servers are gone with the run; the results stay until they are no longer needed.
    assert lab.list("pods", role="server") == []
    assert any(kind == "persistentvolumeclaims" for kind, _ in lab.left())
    cleaned = lab.groundspeed("clean", "--run", run_id)
    assert cleaned.returncode == 0, cleaned.stderr
    assert lab.left() == set()
    assert len(lab.measured()) == 16


def test_a_run_that_is_going_on_is_ended_and_removed_whole(lab: Lab) -> None:
    suite = lab.suite("endless", duration="60s")
    done = lab.groundspeed("run", suite, *lab.run_options(), "--detach")
    assert done.returncode == 0, done.stderr
    lab.wait("servers", lambda: len(lab.list("pods", role="server")) == 2)
    cleaned = lab.groundspeed("clean", "--run", lab.run_id())
    assert cleaned.returncode == 0, cleaned.stderr
    assert lab.left() == set()


def test_what_is_rendered_passes_a_server_side_dry_run(lab: Lab) -> None:
    suite = lab.suite("rendered")
    rendered = lab.groundspeed(
        "k8s", "render", suite, "--namespace", lab.namespace, "--run-id", "nightly"
    )
    assert rendered.returncode == 0, rendered.stderr
    applied = lab.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=rendered.stdout
    )
    assert "job.batch" in applied
    assert "secret" not in applied


def test_generators_share_the_clients_and_are_merged(lab: Lab) -> None:
    suite = lab.suite("spread", repeats=2)
    done = lab.groundspeed("run", suite, *lab.run_options(), "--generators", "3")
    assert done.returncode == 0, done.stderr
    measured = lab.measured()
    assert len(measured) == 4
    for record in measured:
        outcome = record.outcome
        # Each transaction of each pod is in the one histogram.
        assert outcome.histogram.count == outcome.transaction_count  # type: ignore[union-attr]
    raw = lab.directory / "runs" / lab.run_id() / "raw"
    texts = [path.read_text() for path in raw.glob("*.stdout.txt")]
    assert all(text.count("number of clients: 1") == 3 for text in texts)
    assert lab.groundspeed("clean", "--run", lab.run_id()).returncode == 0
    assert lab.left() == set()
