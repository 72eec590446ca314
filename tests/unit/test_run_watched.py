"""What a run does with a watch: when it counts, what is kept of it, and that it never costs."""

from __future__ import annotations

import pytest

from groundspeed.record import (
    Failed,
    Measured,
    Record,
    Series,
    ServerFacts,
    StorageFacts,
    decode,
    encode,
)
from groundspeed.record.evidence import Absent
from groundspeed.run import doubts
from tests.fakes import FakeWatcher, evidence, failed_load, target_error
from tests.unit.test_run import World, plan_of

SERIES = Series(columns=("second_index", "wal_bytes_per_s"), values=((0, 1), (None, 8192.0)))


def watched(*absent: Absent, repeats: int = 1) -> World:
    world = World(plan_of("a", repeats=repeats))
    world.watcher = FakeWatcher(world.journal, evidence=evidence(*absent), series=SERIES)
    return world


def absent_cautions(record: Record) -> list[str]:
    return [c.message for c in record.cautions if c.code == "absent-probes"]


def test_a_watch_is_open_before_the_warm_up_and_counts_the_load_alone() -> None:
    world = watched()
    world.execute()
    first, last = (world.journal.index(call) for call in ("a.checkpoint", "phase verify"))
    assert world.journal[first : last + 1] == [
        *("a.checkpoint", "watch.open"),
        *("phase warm up", "a.warm_up"),
        *("phase measure", "a.reset_statistics"),
        *("watch.begin", "a.measure", "progress 1", "watch.end", "watch.close"),
        "phase verify",
    ]
    assert [points.conninfo for points in world.watcher.points] == ["host=a"]


def test_what_was_seen_is_on_the_record_and_its_series_in_the_store() -> None:
    world = watched()
    world.execute()
    (record,) = world.store.records()
    assert record.evidence == evidence()
    assert decode(encode(record)) == record
    assert world.store.series == {(record.trial.trial_id, 1): SERIES}
    assert absent_cautions(record) == []


def test_without_a_watch_there_is_no_evidence_and_no_series() -> None:
    world = World(plan_of("a"))
    world.execute()
    (record,) = world.store.records()
    assert isinstance(record.outcome, Measured)
    assert record.evidence is None
    assert world.store.series == {}


def test_all_that_is_absent_is_one_caution_of_one_line() -> None:
    world = watched(
        Absent(what="memory", reason="no such\nfile"), Absent(what="activity", reason="denied")
    )
    world.execute()
    (record,) = world.store.records()
    assert absent_cautions(record) == ["not seen: memory (no such file); activity (denied)"]
    assert isinstance(record.outcome, Measured)


def told(what: str, storage: StorageFacts | None, version_num: int = 160004) -> bool:
    """Whether something absent becomes a caution."""
    server = ServerFacts(version="", version_num=version_num, settings=())
    seen = evidence(Absent(what=what, reason="whatever"))
    return bool(list(doubts.of_absent(seen, storage, server)))


DISK = StorageFacts(label="d", emulated=False, filesystem="ext4")
MEMORY = StorageFacts(label="m", emulated=False, filesystem="tmpfs")
EMULATED = StorageFacts(label="e", emulated=True, filesystem="ext4")


def test_what_is_absent_by_nature_is_in_the_evidence_and_no_caution() -> None:
    missing = Absent(what="statements", reason="the extension is not there")
    world = watched(missing)
    world.execute()
    (record,) = world.store.records()
    assert absent_cautions(record) == []
    assert record.evidence == evidence(missing)


@pytest.mark.parametrize("what", ["server-processes", "control-group", "disk"])
def test_only_of_a_given_server_the_machine_is_absent_by_nature(what: str) -> None:
    assert not told(what, None)
    assert told(what, DISK)


def test_only_memory_and_emulated_storage_have_no_disk_by_nature() -> None:
    assert [told("disk", storage) for storage in (DISK, MEMORY, EMULATED)] == [True, False, False]
    assert [told("wal-disk", storage) for storage in (DISK, MEMORY)] == [True, False]


@pytest.mark.parametrize(("what", "first"), [("io-statistics", 160000), ("wal-statistics", 140000)])
def test_only_an_older_version_does_not_tell_by_nature(what: str, first: int) -> None:
    assert told(what, DISK, first)
    assert not told(what, DISK, first - 1)


@pytest.mark.parametrize("what", ["probes", "machine", "database", "server", "background-waits"])
def test_what_broke_or_was_refused_is_always_told(what: str) -> None:
    assert told(what, DISK)
    assert told(what, None)


@pytest.mark.parametrize("call", ["warm_up", "reset_statistics", "measure"])
def test_a_watch_is_closed_when_its_trial_breaks_down(call: str) -> None:
    world = watched(repeats=2)
    world.script("a", **{call: [target_error("it broke")]})
    world.execute()
    assert world.outcomes() == [Failed, Measured]
    assert [watch.life for watch in world.watcher.watches] == ["closed", "closed"]
    assert [r.evidence for r in world.store.records()] == [None, evidence()]


@pytest.mark.parametrize("call", ["warm_up", "measure"])
def test_a_watch_is_closed_on_ctrl_c(call: str) -> None:
    world = watched()
    world.script("a", **{call: [KeyboardInterrupt()]})
    with pytest.raises(KeyboardInterrupt):
        world.execute()
    assert [watch.life for watch in world.watcher.watches] == ["closed"]
    assert world.journal.index("watch.close") < world.journal.index("a.remove")
    world.assert_nothing_is_left()


@pytest.mark.parametrize("call", ["begin", "end"])
def test_ctrl_c_while_a_watch_answers_closes_it(call: str) -> None:
    world = World(plan_of("a"))
    world.watcher = FakeWatcher(
        world.journal, evidence=evidence(), script={call: [KeyboardInterrupt()]}
    )
    with pytest.raises(KeyboardInterrupt):
        world.execute()
    assert [watch.life for watch in world.watcher.watches] == ["closed"]
    assert world.store.records() == ()


def test_a_server_that_is_not_fit_is_not_watched() -> None:
    world = watched()
    world.script("a", check=[target_error("wrong scale")])
    world.execute()
    assert world.watcher.watches == []


def test_what_was_seen_of_a_load_that_failed_is_kept() -> None:
    world = watched()
    world.script("a", measure=[failed_load()])
    world.execute()
    (record,) = world.store.records()
    assert isinstance(record.outcome, Failed)
    assert record.evidence == evidence()


def test_each_attempt_has_its_own_series() -> None:
    world = watched()
    world.script("a", measure=[failed_load()])
    world.execute()
    world.script("a")
    world.execute()
    assert [attempt for _, attempt in world.store.series] == [1, 2]
