"""The runner of a cluster, killed and asked to end after each of its steps: another pod goes on.

The runner is a process; the API server and its controllers are played here, and pods of servers are
real PostgreSQL of this process, which outlive the runner as they do in a cluster.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.errors import ExitCode
from groundspeed.manifests import naming
from groundspeed.record import Failed, Measured
from tests.interrupted.driving import Driven, driven
from tests.kube_postgres import KubePostgres, Machine
from tests.kube_runs import NAME, RUN_ID, pod, put_anchor, suite_text
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.small_runs import Place

PASSWORD = "a secret: of ours"
RUNNER = """
import json, os, sys
from pathlib import Path
from groundspeed.cli import in_cluster
from groundspeed.cli.runner import Asked, Runner
from groundspeed.errors import GroundspeedError
from groundspeed.kube.client import connect
from groundspeed.targets.kube_access import Reached

class Trace:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def note(self, message): print("note", message, flush=True)
    def trial_started(self, trial, *, number, left_s): print("trial", trial.trial_id, flush=True)
    def phase(self, name): print("phase", name, flush=True)
    def progress(self, progress): print("progress", progress.elapsed_s, flush=True)
    def trial_ended(self, record): print("ended", record.trial.trial_id, flush=True)

root, ports = Path(sys.argv[1]), json.loads(sys.argv[2])
me = in_cluster.here(os.environ)
asked = Asked(suite=root / "suite", results=root / "results")
reach = lambda environment: Reached(host="127.0.0.1", port=ports[environment.slug])
try:
    with connect(kubeconfig=sys.argv[3], namespace=me.namespace) as api:
        Runner(me, api, asked, os.environ, reach=reach, show=lambda _: Trace()).run()
except GroundspeedError as error:
    print("error", error.message, flush=True)
    sys.exit(int(error.exit_code))
except KeyboardInterrupt:
    sys.exit(130)
"""
# In their order; the last two leave a trial measured.
STEPS = (
    "note a: setting up",
    "note b: setting up",
    "trial",
    "phase check",
    "phase warm up",
    "phase measure",
    "phase verify",
    "ended",
    "phase clean",
)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine(16, PASSWORD) as made:
        yield made


class World:
    """A cluster with a run in it; `pod` starts the runner's next pod."""

    def __init__(self, kube: KubeServer, machine: Machine, place: Place) -> None:
        self.kube = kube
        self.machine = machine
        self.place = place
        self.cluster = KubePostgres(kube, machine)
        self.count = 0
        (place.root / "suite").mkdir()
        self.ask(repeats=2)
        put_anchor(kube)

    def ask(self, *, repeats: int, duration: str = "1s") -> None:
        text = suite_text({"a": pod(), "b": pod()}, repeats=repeats, duration=duration)
        (self.place.root / "suite" / "suite.yaml").write_text(text)

    @property
    def run_dir(self) -> Path:
        return self.place.results / RUN_ID

    @contextmanager
    def pod(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driven]:
        """Start a pod of the runner; at the end it is gone, as after its container ended."""
        self.count += 1
        name = f"runner-{self.count}"
        self.kube.put(ready_pod(name, container="runner"))
        monkeypatch.setenv("POD_NAME", name)
        monkeypatch.setenv("POD_NAMESPACE", self.kube.namespace)
        monkeypatch.setenv("GROUNDSPEED_RUN_ID", RUN_ID)
        monkeypatch.setenv("GROUNDSPEED_SERVER_PASSWORD", PASSWORD)
        ports = {slug: self.machine.port(slug) for slug in ("a", "b")}
        arguments = [str(self.place.root), json.dumps(ports), str(self.kube.kubeconfig())]
        try:
            with driven(["-c", RUNNER, *arguments], self.place.root) as run:
                yield run
        finally:
            if self.kube.object("Pod", name) is not None:
                self.kube.change("Pod", name, {"status": {"phase": "Failed"}})

    def measured(self) -> Counter[str]:
        if not (self.run_dir / store.PLAN_FILE).exists():
            return Counter()
        records = store.read_records(self.run_dir)
        return Counter(r.trial.trial_id for r in records if isinstance(r.outcome, Measured))

    def planned(self) -> Counter[str]:
        return Counter(trial.trial_id for trial in store.read_plan(self.run_dir).trials)

    def left(self) -> set[str]:
        """What of servers is in the cluster."""
        kinds = ("StatefulSet", "Service", "PersistentVolumeClaim")
        found = {one["metadata"]["name"] for kind in kinds for one in self.kube.objects(kind)}
        pods = {one["metadata"]["name"] for one in self.kube.objects("Pod")}
        return found | {name for name in pods if not name.startswith("runner-")}

    def servers(self) -> set[str]:
        return {naming.server_name(RUN_ID, slug) for slug in ("a", "b")} & self.left()

    def finish(self, monkeypatch: pytest.MonkeyPatch) -> Driven:
        with self.pod(monkeypatch) as run:
            assert run.finish() == ExitCode.OK, run.output
        return run


@pytest.fixture
def world(place: Place, machine: Machine) -> Iterator[World]:
    with ExitStack() as stack:
        kube = stack.enter_context(KubeServer())
        yield World(kube, machine, place)
        for slug in ("a", "b"):
            machine.stop(slug)
            machine.empty(slug)


def whole(world: World) -> None:
    """Nothing was lost, nothing was measured twice, and nothing is left."""
    assert world.measured() == world.planned()
    assert world.left() == set()
    assert (world.run_dir / "report.html").exists()


def test_killed_after_each_step_it_loses_and_repeats_no_trial(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: Counter[str] = Counter()
    for step in STEPS:
        with world.pod(monkeypatch) as run:
            run.wait_for(step)
            run.process.kill()
            run.process.wait()
        assert world.measured() >= before, step
        before = world.measured()
    assert before.total() == 2
    run = world.finish(monkeypatch)
    assert f"goes on with run {RUN_ID}: 2 of 4 trials are there" in run.output
    whole(world)
    # All of them used the two servers that the first one made.
    assert Counter(world.cluster.started) == {
        f"{naming.server_name(RUN_ID, slug)}-0": 1 for slug in ("a", "b")
    }


def test_asked_to_end_after_each_step_it_loses_and_repeats_no_trial(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in STEPS:
        with world.pod(monkeypatch) as run:
            run.wait_for(step)
            before = world.measured()
            run.process.send_signal(signal.SIGTERM)
            assert run.finish() == ExitCode.INTERRUPTED, run.output
        assert "SIGTERM: ends in order" in run.output
        # A trial that was not over has no record, and its server waits for the next pod.
        assert world.measured() - before == Counter(), step
        assert world.kube.object("Lease", NAME)["spec"]["holderIdentity"] == ""  # type: ignore[index]
    assert len(world.servers()) == 2
    assert world.measured().total() == 2
    assert all(isinstance(r.outcome, Measured) for r in store.read_records(world.run_dir))
    world.finish(monkeypatch)
    whole(world)


def test_killed_while_it_removes_its_servers_the_next_one_removes_the_rest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask(repeats=1)
    deleted: list[str] = []
    with world.pod(monkeypatch) as run:

        def kill(_: KubeServer, found: dict[str, dict[str, str]]) -> None:
            if not deleted:
                run.process.kill()
            deleted.append(found["metadata"]["name"])

        world.kube.on_delete("StatefulSet", kill)
        assert run.finish() == -signal.SIGKILL
    assert world.measured().total() == 2
    assert world.left()
    world.finish(monkeypatch)
    whole(world)
    assert len(deleted) == 2


def test_a_run_whose_job_is_deleted_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.pod(monkeypatch) as run:
        run.wait_for("phase measure")
        world.kube.remove("Job", NAME)
        run.process.send_signal(signal.SIGTERM)
        assert run.finish() == ExitCode.INTERRUPTED, run.output
    assert world.left() == set()


def test_a_server_pod_that_is_deleted_costs_one_attempt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask(repeats=1)
    with world.pod(monkeypatch) as run:
        trial = run.wait_for("trial").partition(" ")[2]
        run.wait_for("phase measure")
        world.cluster.end_pod(trial.partition(".")[0])
        assert run.finish() == ExitCode.OK, run.output
    lost, *others = store.read_records(world.run_dir)
    assert lost.trial.trial_id == trial
    assert isinstance(lost.outcome, Failed)
    assert lost.outcome.retryable
    assert lost.outcome.reason.startswith("the server died: its pod was deleted (")
    assert all(isinstance(record.outcome, Measured) for record in others)
    assert others[-1].trial.trial_id == trial
    assert others[-1].attempt == 2
    whole(world)
    assert "tried again" in run.output


def test_two_pods_are_never_at_work_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.ask(repeats=1)
    with world.pod(monkeypatch) as first:
        first.wait_for("phase check")
        with world.pod(monkeypatch) as second:
            assert first.finish() == ExitCode.OK, first.output
            assert second.finish() == ExitCode.OK, second.output
    assert "trial" not in {line.partition(" ")[0] for line in second.lines}
    whole(world)


def test_a_pod_that_lost_its_lease_leaves_all_to_the_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than from one renewal to the next.
    world.ask(repeats=1, duration="6s")
    with world.pod(monkeypatch) as run:
        run.wait_for("phase measure")
        world.kube.change("Lease", NAME, {"spec": {"holderIdentity": "runner-9"}})
        assert run.finish() == ExitCode.INTERRUPTED, run.output
    assert "the run is given up: pod runner-9 took its lease" in run.output
    assert len(world.servers()) == 2
    world.finish(monkeypatch)
    whole(world)


def test_an_error_leaves_servers_to_the_next_pod(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask(repeats=1)
    first, second = (naming.server_name(RUN_ID, slug) for slug in ("a", "b"))
    # Somebody else's, in the way of the second server.
    world.kube.put({"apiVersion": "v1", "kind": "Service", "metadata": {"name": second}})
    with world.pod(monkeypatch) as run:
        assert run.finish() == ExitCode.TARGET, run.output
    assert "does not belong to this run" in run.output
    assert f"{first}-0" in world.left()
    world.kube.change("Job", NAME, {"status": {"failed": 6}})
    with world.pod(monkeypatch) as run:
        assert run.finish() == ExitCode.TARGET, run.output
    # No further pod comes.
    assert world.left() == {second}
    world.kube.remove("Service", second)
    world.finish(monkeypatch)
    whole(world)
