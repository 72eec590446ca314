"""A run whose target emulates its storage: what it keeps and what it doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.plan import DATASET_BYTES_PER_SCALE
from groundspeed.record import StorageFacts, decode, encode
from tests.examples import make_storage_work
from tests.fakes import FakeTarget, failed_load
from tests.unit.test_run import World, plan_of

if TYPE_CHECKING:
    from groundspeed.ports import LoadResult
    from groundspeed.record import Record, StorageWork

FITS_BYTES = 3 * DATASET_BYTES_PER_SCALE * 2


def run(
    *,
    work: StorageWork | None = None,
    memory_bytes: int = FITS_BYTES,
    memory_assumed: bool = False,
    measure: LoadResult | None = None,
) -> Record:
    world = World(plan_of("e"))
    world.targets["e"] = FakeTarget(
        "e",
        world.journal,
        clock=world.clock,
        script={"measure": [measure]},
        storage=StorageFacts(
            label="aws-gp3",
            emulated=True,
            memory_bytes=memory_bytes,
            cache_bytes=memory_bytes // 2,
            memory_assumed=memory_assumed,
        ),
        storage_work=work or make_storage_work(),
    )
    world.execute()
    (record,) = world.store.records()
    return record


def codes(record: Record) -> set[str]:
    return {caution.code for caution in record.cautions}


def test_what_the_device_did_is_kept() -> None:
    record = run()
    assert record.storage_work == make_storage_work()
    assert decode(encode(record)) == record


def test_what_the_device_did_is_kept_of_a_failed_trial_too() -> None:
    assert run(measure=failed_load()).storage_work == make_storage_work()


def test_a_real_disk_that_was_too_slow_is_a_caution() -> None:
    assert "emulation-late" not in codes(run())
    assert "emulation-late" in codes(run(work=make_storage_work(late_s=1.0)))


def test_an_environment_without_emulation_has_no_work() -> None:
    world = World(plan_of("a"))
    world.execute()
    assert [record.storage_work for record in world.store.records()] == [None]


@pytest.mark.parametrize(("memory_bytes", "fits"), [(FITS_BYTES, True), (FITS_BYTES // 3, False)])
def test_what_fits_memory_is_asked_of_the_emulated_one(memory_bytes: int, *, fits: bool) -> None:
    record = run(memory_bytes=memory_bytes)
    assert ("cached-dataset" in codes(record)) == fits
    assert all("this machine's memory" not in c.message for c in record.cautions)


def test_an_assumed_memory_is_said_to_be_assumed() -> None:
    assert "assumed-memory" not in codes(run())
    assert "assumed-memory" in codes(run(memory_assumed=True))


def test_records_from_before_emulation_are_read() -> None:
    record = run()
    line = encode(record)
    for name in (b'"storage_work"', b'"memory_bytes"', b'"cache_bytes"', b'"memory_assumed"'):
        assert name in line
    old = msgspec.json.decode(line)
    del old["storage_work"]
    for name in ("profile", "memory_bytes", "cache_bytes", "memory_assumed"):
        del old["provenance"]["storage"][name]
    read = decode(msgspec.json.encode(old))
    assert read.storage_work is None
    assert read.provenance.storage == StorageFacts(label="aws-gp3", emulated=True)
