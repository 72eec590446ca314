"""groundspeed durability on real servers: killed, deprived of power, started again and asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import yaml

from groundspeed.errors import ExitCode, TargetError
from groundspeed.record.losses import Ending, LossRecord
from groundspeed.store.losses import read_losses
from groundspeed.targets import emulation
from tests import leftovers
from tests.interrupted.driving import command, driven
from tests.server.power_cuts import PROFILE
from tests.small_runs import SETTINGS, needs

if TYPE_CHECKING:
    from tests.small_runs import Place

KILLED, CUT = Ending.KILLED, Ending.POWER_CUT
# In memory: a disk that others use is soon slower than the device, which is then refused.
STORAGE = {"emulate": yaml.safe_load(PROFILE), "directory": "/dev/shm"}


@pytest.fixture(autouse=True)
def emulated() -> None:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)


def durability(
    place: Place, suite: dict[str, object], *arguments: str
) -> tuple[int, dict[tuple[str, Ending], LossRecord]]:
    """Try all of a suite once, by the command; its exit code and what was found."""
    path = place.root / "suite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    results = place.root / "tries"
    typed = ("--tries", "1", "--out", str(results), "--format", "json", *arguments)
    with driven(command("durability", path, *typed), place.root) as run:
        code = run.finish()
    found = list(results.iterdir())
    assert found, run.output
    (run_dir,) = [each for each in found if each.is_dir()]
    assert leftovers.leases(place.state) == []
    assert leftovers.processes_of(str(place.root)) == []
    records = read_losses(run_dir)
    assert all(record.failure is None for record in records), records
    counts = Counter((record.environment, record.ending) for record in records)
    assert set(counts.values()) == {1}
    return code, {(record.environment, record.ending): record for record in records}


def test_what_postgresql_loses(place: Place) -> None:
    needs(16)
    one = {"target": "embedded", "memory": "256MiB", "storage": STORAGE}
    code, found = durability(
        place,
        {
            "suite": "promises",
            "postgres": {"version": 16, "settings": SETTINGS},
            "environments": {
                "commit-on": one,
                # It flushes once in ten seconds: what is acknowledged is not on the device.
                "commit-off": {
                    **one,
                    "settings": {"synchronous_commit": "off", "wal_writer_delay": "10s"},
                },
            },
            "workloads": ["simple-update"],
            "scale": 1,
        },
    )
    assert code == ExitCode.OK
    for ending in Ending:
        kept = found["commit-on", ending]
        assert kept.acknowledged_count > 0
        assert kept.missing_count == 0
        hurried = found["commit-off", ending]
        assert hurried.missing_count is not None
        assert 0 < hurried.missing_count <= hurried.acknowledged_count
        assert hurried.oldest_missing_s is not None
        assert hurried.oldest_missing_s <= hurried.written_s
        assert hurried.promise.killed_s == 30
    assert found["commit-off", CUT].dropped_bytes is not None


def test_what_redis_loses(place: Place) -> None:
    one = {"target": "embedded", "memory": "256MiB", "storage": STORAGE}
    modes = {"always": "aof always", "everysec": "aof everysec", "never": "aof no", "none": "none"}
    code, found = durability(
        place,
        {
            "suite": "promises",
            "engine": "redis",
            "environments": {
                name: {**one, "options": {"persistence": mode}} for name, mode in modes.items()
            },
            "workloads": [{"name": "set", "load": {"test": "set"}}],
        },
    )
    everysec = found["everysec", CUT]
    # It syncs once a second, as soon as a busy machine lets it.
    is_late = (everysec.oldest_missing_s or 0) > 1
    assert code == (ExitCode.PROMISE_BROKEN if is_late else ExitCode.OK)
    assert everysec.promise.power_cut_s == 1
    for name in ("always", "everysec", "never"):
        # What a process has handed to the kernel outlives it.
        assert found[name, KILLED].missing_count == 0
    assert found["always", CUT].missing_count == 0
    never = found["never", CUT]
    assert never.missing_count == never.acknowledged_count > 0
    assert never.dropped_bytes
    for ending in Ending:
        gone = found["none", ending]
        assert gone.missing_count == gone.acknowledged_count > 0


def test_a_replica_is_asked_when_its_primary_is_killed(place: Place) -> None:
    one = {"target": "embedded", "memory": "256MiB", "storage": STORAGE}
    replica = {
        "storage": STORAGE,
        "memory": "256MiB",
        "options": {"persistence": "rdb", "save": "60 1000"},
    }
    code, found = durability(
        place,
        {
            "suite": "split",
            "engine": "redis",
            "environments": {"alone": one, "split": {**one, "replica": replica}},
            "workloads": [{"name": "set", "load": {"test": "set"}}],
        },
        "--ending",
        "killed",
    )
    assert code == ExitCode.OK
    alone, split = found["alone", KILLED], found["split", KILLED]
    assert alone.missing_count == alone.acknowledged_count > 0
    # Nothing bounds what it had not received; that is far from all.
    assert split.missing_count is not None
    assert split.missing_count < split.acknowledged_count / 2
    assert split.promise.killed_s is None
