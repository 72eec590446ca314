"""Where an embedded server's files come to lie, and how they go back to their first state."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import groundspeed
from groundspeed import store
from groundspeed.probes.host import Host
from groundspeed.record import Measured
from groundspeed.targets import installation, places
from tests import small_runs
from tests.small_runs import embedded, plan_of, suite_of

if TYPE_CHECKING:
    from groundspeed.record import Record
    from tests.small_runs import Place

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has what others may not enter")

RUN = """
import sys
from pathlib import Path
from groundspeed import store
from groundspeed.cli import session
from tests.small_runs import Listening

run_dir = Path(sys.argv[1])
session.run_plan(store.read_plan(run_dir), run_dir, passwords={}, listener=Listening())
"""
REPOSITORY = Path(__file__).parents[2]


def measured(record: Record) -> Measured:
    assert isinstance(record.outcome, Measured), record.outcome
    return record.outcome


def run_apart(
    run_dir: Path, *, prefix: tuple[str, ...] = (), **variables: str
) -> tuple[Record, ...]:
    """Run a plan in a process of its own."""
    done = subprocess.run(
        [*prefix, sys.executable, "-c", RUN, str(run_dir)],
        capture_output=True,
        text=True,
        check=False,
        env=small_runs.variables(**variables),
        cwd=run_dir,
    )
    assert done.returncode == 0, done.stderr
    return store.read_run(run_dir).records


@needs_root
def test_everything_may_lie_where_only_root_may_enter(place: Place) -> None:
    """Checkout, programs, their libraries, storage and temporary files below a mode of 700."""
    small_runs.needs(16)
    private = place.root / "private"
    for folder in ("site", "data", "tmp"):
        (private / folder).mkdir(parents=True)
    private.chmod(0o700)
    programs = installation.find(16)
    for root in programs.roots:
        name = root.relative_to(programs.bin_dir.parents[2] if len(programs.roots) > 1 else "/")
        (private / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", root, private / "site" / name], check=True)
    bin_dir = next((private / "site").rglob("bin/initdb")).parent
    shutil.copytree(Path(groundspeed.__file__).parent, private / "src" / "groundspeed")
    made = plan_of(
        suite_of(
            {"a": embedded(private / "data", bin_dir=str(bin_dir))}, workloads=("select-only",)
        )
    )
    run_dir = place.new_run(made)
    (record,) = run_apart(
        run_dir, PYTHONPATH=f"{private / 'src'}:{REPOSITORY}", TMPDIR=str(private / "tmp")
    )
    assert measured(record)
    storage = record.provenance.storage
    assert storage is not None
    assert not Path(storage.path).is_relative_to(private)
    assert storage.filesystem == Host().mount_of(private).filesystem
    assert place.watch(run_dir).left() == []
    assert list((private / "data").iterdir()) == list((private / "tmp").iterdir()) == []


@pytest.mark.parametrize("umask", ["000", "077"])
def test_the_umask_does_not_matter(place: Place, umask: str) -> None:
    made = plan_of(
        suite_of({"a": embedded(place.storage / "new" / "one")}, workloads=("select-only",))
    )
    run_dir = place.new_run(made)
    prefix = ("sh", "-c", f'umask {umask} && exec "$@"', "sh")
    (record,) = run_apart(run_dir, prefix=prefix)
    assert measured(record)
    assert place.watch(run_dir).left() == []


def _mkfs(kind: str) -> str:
    path = f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"
    program = shutil.which(f"mkfs.{kind}", path=path)
    if program is None:
        pytest.skip(f"no mkfs.{kind} here")
    return program


@needs_root
@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_write_trials_start_from_a_clone_where_the_file_system_can(place: Place, kind: str) -> None:
    """On a loop device in a mount namespace of its own, so that it ends with the process."""
    program = _mkfs(kind)
    image = place.root / "image"
    with image.open("wb") as file:
        file.truncate(600 * 1024**2)
    subprocess.run([program, "-q", str(image)], check=True, capture_output=True)
    mount_point = place.root / "mount"
    mount_point.mkdir()
    made = plan_of(suite_of({"a": embedded(mount_point)}, repeats=2))
    run_dir = place.new_run(made)
    mount = f'mount -o loop "{image}" "{mount_point}" && exec "$@"'
    trial = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, "sh", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if trial.returncode != 0:
        pytest.skip(f"no private mounts of {kind} here: {trial.stderr.strip()}")
    records = run_apart(run_dir, prefix=("unshare", "-m", "sh", "-c", mount, "sh"))
    for record in records:
        assert measured(record)
        assert (record.provenance.reset or "").startswith("clone")
        assert record.provenance.storage is not None
        assert record.provenance.storage.filesystem == kind
    assert place.watch(run_dir).left() == []


def test_a_memory_file_system_cannot_clone() -> None:
    assert not places.can_clone(Path("/dev/shm"))
