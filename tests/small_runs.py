"""Small runs on real PostgreSQL: one second a trial, scale 1, everything in its own directories."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import groundspeed
from groundspeed import plan, run, spec, store
from groundspeed.cli import session, storage_places
from groundspeed.cli.outfit import Outfit, account_for
from groundspeed.errors import TargetError
from groundspeed.probes.host import Host
from groundspeed.probes.watching import ProcessWatcher
from groundspeed.record.evidence import ProbeLevel
from groundspeed.store import RunLock, RunStore
from groundspeed.targets import installation, process
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import Surroundings
from tests.fakes import RecordingListener
from tests.leftovers import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from groundspeed.plan import Plan
    from groundspeed.ports import Listener, Progress, Target
    from groundspeed.record import Record

# What shared buffers take is what a start and a stop wait for.
SETTINGS = {"shared_buffers": "16MB", "max_connections": 20}


def needs(version: int) -> None:
    """Skip a test where this machine has no such PostgreSQL."""
    try:
        installation.find(version)
    except TargetError as error:
        pytest.skip(error.message)


def account() -> process.Account | None:
    return process.unprivileged_account()


def suite_of(  # noqa: PLR0913 - each is one key of a suite
    environments: dict[str, dict[str, Any]],
    *,
    name: str = "small",
    version: int = 16,
    workloads: Sequence[str | dict[str, Any]] = ("tpcb-like",),
    clients: Sequence[int] = (2,),
    threads: Sequence[int] = (1,),
    repeats: int = 1,
    duration: str = "1s",
    warm_up: str = "200ms",
    settings: dict[str, Any] | None = None,
    scale: int = 1,
    probes: str = "full",
    **pgbench: str | int,
) -> str:
    """Write a suite file."""
    return yaml.safe_dump(
        {
            "suite": name,
            "postgres": {"version": version, "settings": {**SETTINGS, **(settings or {})}},
            "environments": environments,
            "workloads": list(workloads),
            "clients": list(clients),
            "threads": list(threads),
            "scale": scale,
            "measure": {
                "duration": duration,
                "warm_up": warm_up,
                "repeats": repeats,
                "probes": probes,
            },
            "pgbench": pgbench,
        },
        sort_keys=False,
    )


def embedded(directory: Path | str, **more: object) -> dict[str, Any]:
    """An environment of our own, with its files below a directory."""
    storage = {"directory": str(directory)}
    if "wal_directory" in more:
        storage["wal_directory"] = str(more.pop("wal_directory"))
    return {"target": "embedded", "storage": storage, **more}


def plan_of(text: str, scripts: dict[str, str] | None = None) -> Plan:
    suite = spec.load_suite(text, source="small")
    return plan.make_plan(
        suite, source="small", rng=Random(3), groundspeed_version="0", scripts=scripts or {}
    )


class Place:
    """A world of its own: where storage, results and leases of one test are."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.storage = root / "storage"
        self.results = root / "results"
        self.state = state

    def new_run(self, made: Plan) -> Path:
        return store.create_run(self.results, made, f"t{uuid.uuid4().hex[:10]}")

    def watch(self, run_dir: Path) -> Watch:
        return Watch(self.state, run_dir.name, self.storage)

    def measure(
        self,
        made: Plan,
        *,
        listener: Listener | None = None,
        passwords: dict[str, str] | None = None,
    ) -> tuple[Record, ...]:
        """Run a plan as the command does, and make sure that nothing is left."""
        run_dir = self.new_run(made)
        watch = self.watch(run_dir)
        watching = listener or Listening(watch)
        try:
            session.run_plan(made, run_dir, passwords=passwords or {}, listener=watching)
        finally:
            assert watch.left() == []
        return store.read_run(run_dir).records


@contextmanager
def make_place() -> Iterator[Place]:
    """Make the directories of a test where everybody may enter, as the server's user must."""
    root = Path(tempfile.mkdtemp(prefix="small-run-", dir="/var/tmp"))
    root.chmod(0o755)
    place = Place(root, root / "state")
    place.storage.mkdir()
    try:
        yield place
        assert list(place.storage.iterdir()) == []
    finally:
        shutil.rmtree(root)


class Listening(RecordingListener):
    """Looks at what the run owns at every phase; `hooks` are called at the phase they name."""

    def __init__(
        self, watch: Watch | None = None, hooks: dict[str, Callable[[], None]] | None = None
    ) -> None:
        super().__init__()
        self._watch = watch
        self._hooks = hooks or {}

    def note(self, message: str) -> None:
        super().note(message)
        self._look()

    def phase(self, name: str) -> None:
        super().phase(name)
        self._look()
        self._hooks.get(name, lambda: None)()

    def progress(self, progress: Progress) -> None:
        super().progress(progress)
        self._hooks.get("progress", lambda: None)()

    def _look(self) -> None:
        if self._watch is not None:
            self._watch.look()


def surroundings(
    made: Plan, run_id: str, lease: LeaseFile, *, clone: bool = False, is_warm: bool = False
) -> Surroundings:
    """What servers know of the run they are part of, as a run has it."""
    return Surroundings(
        run_id=run_id,
        lease=lease,
        account=account_for(made.environments),
        describe_storage=session.describe_storage,
        clone=clone,
        is_warm=is_warm,
    )


def run_with_targets(
    place: Place,
    made: Plan,
    hooks: Callable[[dict[str, Target]], dict[str, Callable[[], None]]],
) -> tuple[Record, ...]:
    """Run a plan as `session.run_plan` does, and let the test see the targets in each phase."""
    run_dir = place.new_run(made)
    watch = place.watch(run_dir)
    with RunLock(place.results), LeaseFile(run_dir.name) as lease:
        opened = RunStore(run_dir)
        environments = list(made.environments)
        machine = storage_places.machine_for(made, Host())
        clone = session._can_clone_all(environments, machine)
        outfit = Outfit(
            made, environments, surroundings(made, run_dir.name, lease, clone=clone), {}, machine
        )
        crew = run.Crew(
            targets=outfit.targets,
            unavailable=outfit.unavailable,
            store=opened,
            clock=session.SystemClock(),
            listener=Listening(watch, hooks(outfit.targets)),
            host=Host().host_facts(),
            watcher=ProcessWatcher(ProbeLevel(made.probes)),
        )
        try:
            run.execute(made, crew)
        finally:
            opened.close()
    assert watch.left() == []
    return opened.records()


def variables(**more: str) -> dict[str, str]:
    """The environment of a groundspeed in a process of its own, wherever that is started."""
    source = Path(groundspeed.__file__).parents[1]
    path = f"{source}:{Path(__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}"
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **more}
