"""Emulated environments in findings: named so wherever they are named, and what devices did."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse import analyse
from tests.examples import (
    caution_messages,
    footnotes_of,
    make_measured,
    make_paired_records,
    make_provenance,
    make_record,
    make_run,
    make_storage,
    make_storage_work,
    make_trial,
    pool_runs,
)

if TYPE_CHECKING:
    from groundspeed.record import Record


def on_emulated(record: Record, **storage: object) -> Record:
    """The same record on an emulated device."""
    facts = msgspec.structs.replace(make_storage(label="aws-gp3", emulated=True), **storage)
    provenance = msgspec.structs.replace(record.provenance, storage=facts)
    return msgspec.structs.replace(
        record, provenance=provenance, storage_work=make_storage_work(credit_count=250.0)
    )


def pairs(ratio: float, count: int = 6, emulated: str = "b") -> list[Record]:
    return [
        on_emulated(r) if r.trial.cell.environment == emulated else r
        for r in make_paired_records([ratio] * count)
    ]


@pytest.mark.parametrize(("ratio", "count"), [(0.5, 6), (2.0, 6), (0.5, 3)])
def test_every_kind_of_verdict_says_what_is_emulated(ratio: float, count: int) -> None:
    [verdict] = analyse([make_run(pairs(ratio, count))]).verdicts
    assert "b (emulated)" in verdict.sentence
    assert "a (emulated)" not in verdict.sentence


def test_an_emulated_baseline_is_named_so() -> None:
    findings = analyse([make_run(pairs(0.5, emulated="a"))])
    assert "than a (emulated)" in findings.verdicts[0].sentence
    assert findings.comparisons[0].baseline_emulated
    assert not findings.comparisons[0].emulated


def test_an_emulated_environment_alone_is_named_so() -> None:
    [verdict] = analyse([make_run([on_emulated(make_record())])]).verdicts
    assert verdict.sentence.startswith("tpcb-like: a (emulated) reaches ")


def test_cells_and_comparisons_say_it_of_themselves() -> None:
    findings = analyse([make_run(pairs(0.5))])
    assert findings.emulated == ("b",)
    assert [(c.environment, c.emulated) for c in findings.cells] == [("a", False), ("b", True)]
    assert findings.comparisons[0].emulated


def test_the_work_of_devices_is_told_for_a_transaction_and_a_second() -> None:
    trial = make_trial(environment="e")
    # 5,000 transactions in 5 s.
    record = on_emulated(make_record(trial, make_measured(1000.0)))
    [work] = analyse([make_run([record])]).device_work
    assert (work.environment, work.clients, work.n) == ("e", 1, 1)
    assert work.sync_wait_s == pytest.approx(4.5 / 5000)
    assert work.read_wait_s == pytest.approx(0.2 / 5000)
    assert work.throttled_wait_s == pytest.approx(0.3 / 5000)
    assert work.reads_per_s == 60
    assert work.writes_per_s == 800
    assert work.syncs_per_s == 310
    assert work.write_bytes_per_s == 800 * 8192
    assert work.hit_ratio == 0.9
    assert (work.mean_depth_count, work.max_depth_count) == (1.25, 3.5)
    assert work.credits_left_ratio == 0.25


def test_the_work_of_a_cell_is_the_median_of_its_trials() -> None:
    records = [
        msgspec.structs.replace(
            on_emulated(make_record(make_trial(repeat_index=i), number=i)),
            storage_work=make_storage_work(sync_waited_s=waited_s, credit_count=left_count),
        )
        for i, (waited_s, left_count) in enumerate([(1.0, 900.0), (2.0, 100.0), (30.0, 500.0)])
    ]
    [work] = analyse([make_run(records)]).device_work
    assert work.sync_wait_s == pytest.approx(2.0 / 5000)
    assert work.credits_left_ratio == 0.1


def test_a_trial_without_transactions_or_reads_divides_by_nothing() -> None:
    idle = msgspec.structs.replace(make_storage_work(), hit_page_count=0, miss_page_count=0)
    record = make_record(outcome=make_measured(0.0))
    [work] = analyse(
        [make_run([msgspec.structs.replace(on_emulated(record), storage_work=idle)])]
    ).device_work
    assert math.isnan(work.sync_wait_s)
    assert math.isnan(work.hit_ratio)
    assert work.credits_left_ratio is None


def test_real_storage_has_no_device_work() -> None:
    assert analyse([make_run([make_record()])]).device_work == ()
    assert analyse([make_run([make_record()])]).emulated == ()


def test_the_memory_of_emulated_environments_is_what_differs() -> None:
    gib = 1024**3
    records = [
        on_emulated(
            make_record(make_trial(environment=name)), memory_bytes=size, cache_bytes=size // 2
        )
        for name, size in (("a", gib), ("b", 2 * gib))
    ]
    facts = {d.fact: dict(d.values) for d in analyse([make_run(records)]).differences}
    assert facts["emulated memory"] == {"a": "1.0 GiB", "b": "2.0 GiB"}
    assert facts["emulated page cache"] == {"a": "0.50 GiB", "b": "1.00 GiB"}


def test_other_figures_under_the_same_name_are_a_hidden_factor() -> None:
    findings = pool_runs(
        *(on_emulated(make_record(), profile=text) for text in ('{"read":1}', '{"read":2}'))
    )
    assert any("figures of the emulated device" in note for note in footnotes_of(findings))
    # Between environments it is no news: their labels differ.
    assert all("figures" not in d.fact for d in findings.differences)


def test_emulation_is_cautioned_once_for_each_environment() -> None:
    assert len(caution_messages(analyse([make_run(pairs(0.5))]), "emulated")) == 1
    provenance = make_provenance(storage=make_storage(emulated=True))
    assert caution_messages(analyse([make_run([make_record(provenance=provenance)])]), "emulated")
