"""A storage comparison whose data lie in memory says at its reads that it measured none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.record.machine import GroupWork
from tests.examples import make_provenance, make_server, make_storage, make_storage_work
from tests.unit.guarded import GIB, MIB, codes, evidence, guarded, host_work, side_by_side, sizes

if TYPE_CHECKING:
    from groundspeed.record import Evidence, Provenance

SAID = "this did not measure storage"


def on(label: str, buffers_pages: int = 16384, *more: tuple[str, str, str | None]) -> Provenance:
    """An environment on a disk of that name; shared buffers in pages of 8 KiB."""
    return make_provenance(
        server=make_server(settings=[("shared_buffers", str(buffers_pages), "8kB"), *more]),
        storage=make_storage(label=label),
    )


def disks(**seen: object) -> dict[str, Evidence]:
    one = evidence(sizes(**seen), host_work())
    return {"a": one, "b": one}


def test_the_published_baseline_fits_its_shared_buffers() -> None:
    """Scale 100 is 1.5 GB, under shared_buffers of 1.9 GB: two storages were never compared."""
    pages = 1945 * MIB // 8192
    buffers = 1945 * MIB
    records = side_by_side(
        {"a": on("longhorn", pages), "b": on("local", pages)},
        workloads=("select-only", "tpcb-like"),
        clients=(1, 10),
        seen=disks(touched_bytes=1500 * MIB, shared_buffers_bytes=buffers),
    )
    [found] = [f for f in guarded(records) if f.kind.value == "dataset"]
    assert found.code == "did-not-measure-storage"
    assert found.message == f"the data of 1.46 GiB fit in shared buffers of 1.90 GiB: {SAID}"
    cells = [(c.environment, c.workload, c.clients) for c in found.cells]
    assert cells == [(e, "select-only", c) for c in (1, 10) for e in ("a", "b")]
    assert found.environments == ("a", "b")


def test_without_evidence_the_size_is_estimated_and_said_to_be() -> None:
    records = side_by_side({"a": on("x", 32768), "b": on("y", 32768)}, scale=10)
    [found] = guarded(records)
    assert found.message == (
        "the data of about 150 MiB (estimated from the scale) fit in shared buffers of 256 MiB:"
        f" {SAID}"
    )


def test_data_larger_than_memory_measure_storage() -> None:
    records = side_by_side({"a": on("x"), "b": on("y")}, seen=disks(touched_bytes=17 * GIB))
    assert guarded(records) == ()


def test_the_page_cache_holds_what_shared_buffers_do_not() -> None:
    records = side_by_side({"a": on("x"), "b": on("y")}, seen=disks(touched_bytes=2 * GIB))
    [found] = guarded(records)
    assert found.message == f"the data of 2.00 GiB fit in the page cache of 15.9 GiB: {SAID}"


@pytest.mark.parametrize(
    "host",
    [
        host_work(group=GroupWork(version=2, memory_limit_bytes=2 * GIB)),
        host_work(available_bytes=GIB),
    ],
    ids=["control group", "others"],
)
def test_memory_that_is_not_there_caches_nothing(host: object) -> None:
    one = msgspec.structs.replace(evidence(sizes(touched_bytes=2 * GIB)), host=host)
    records = side_by_side({"a": on("x"), "b": on("y")}, seen={"a": one, "b": one})
    assert guarded(records) == ()


def test_only_the_environment_whose_cache_holds_the_data_is_named() -> None:
    def emulated(cache_bytes: int) -> Provenance:
        storage = msgspec.structs.replace(
            make_storage(label="gp3", emulated=True),
            memory_bytes=cache_bytes + 128 * MIB,
            cache_bytes=cache_bytes,
        )
        return make_provenance(storage=storage)

    records = side_by_side(
        {"a": emulated(2 * GIB), "b": emulated(64 * MIB)},
        seen=disks(touched_bytes=1500 * MIB),
    )
    # The same device, only the memory differs: no storage comparison.
    assert "did-not-measure-storage" not in codes(guarded(records, vary=("memory",)))
    [found] = guarded(records, vary=("storage", "memory"))
    fits = "the data of 1.46 GiB fit in the emulated page cache of 2.00 GiB"
    assert found.message == f"{fits}: {SAID}"
    assert found.environments == ("a",)


def test_reads_that_waited_for_an_emulated_device_measured_it() -> None:
    work = make_storage_work(read_waited_s=4.0, sync_waited_s=0.0)
    records = side_by_side(
        {"a": on("x", 262144), "b": on("y", 262144)},
        scale=10,
        work={"b": work},
    )
    [found] = guarded(records)
    assert found.environments == ("a",)


def test_environments_on_one_storage_compare_something_else() -> None:
    records = side_by_side(
        {"a": on("x", 262144), "b": on("x", 262144, ("jit", "off", None))}, scale=10
    )
    assert guarded(records) == ()


@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit"])
def test_writes_that_wait_for_no_log_measure_no_storage_either(setting: str) -> None:
    off = (setting, "off", None)
    cached = {"a": on("x", 262144, off), "b": on("y", 262144, off)}
    [found] = guarded(side_by_side(cached, workloads=("tpcb-like",), scale=10))
    assert f"and {setting} is off: {SAID}" in found.message
    synced = {"a": on("x", 262144), "b": on("y", 262144)}
    assert guarded(side_by_side(synced, workloads=("tpcb-like",), scale=10)) == ()


def test_one_trial_that_did_not_fit_speaks_for_its_cell() -> None:
    one, other = evidence(sizes(touched_bytes=100 * MIB)), evidence(sizes(touched_bytes=17 * GIB))
    records = side_by_side({"a": on("x"), "b": on("y")}, seen={"a": one, "b": one})
    grown = msgspec.structs.replace(records[-1], evidence=other)
    [found] = guarded([*records[:-1], grown])
    assert found.environments == ("a",)


def test_a_given_server_is_judged_by_its_shared_buffers_alone() -> None:
    given = {name: msgspec.structs.replace(on("unknown"), storage=None) for name in ("a", "b")}
    seen = disks(touched_bytes=1500 * MIB)
    assert guarded(side_by_side(given, seen=seen), vary=("storage",)) == ()
    seen = disks(touched_bytes=100 * MIB)
    [found] = guarded(side_by_side(given, seen=seen), vary=("storage",))
    assert "shared buffers of 128 MiB" in found.message
