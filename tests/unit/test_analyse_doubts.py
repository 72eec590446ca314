from __future__ import annotations

import msgspec
import pytest

from groundspeed.analyse import RunRecords, analyse
from groundspeed.record import Caution, Record
from tests.examples import (
    caution_codes,
    caution_messages,
    footnotes_of,
    make_host,
    make_paired_records,
    make_provenance,
    make_record,
    make_run,
    make_server,
    make_storage,
    make_trial,
    pool_runs,
)

# Runs pooled, hidden factors


def test_runs_are_pooled_as_repeats() -> None:
    findings = pool_runs(make_record(), make_record())

    assert findings.cells[0].tps_per_s.n == 2
    assert findings.cells[0].run_ids == ("run-1", "run-2")
    assert findings.cells[0].trial_ids == (
        "run-1/a.tpcb-like-c1-j1.r1",
        "run-2/a.tpcb-like-c1-j1.r1",
    )
    assert footnotes_of(findings) == []


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (
            make_record(provenance=make_provenance(server=make_server(version="17.0"))),
            "trials differ in PostgreSQL: 16.4, 17.0",
        ),
        (
            make_record(provenance=make_provenance(host=make_host(kernel="6.8"))),
            "trials differ in kernel: 6.1.0-example, 6.8",
        ),
        (
            make_record(provenance=make_provenance(storage=make_storage(filesystem="xfs"))),
            "trials differ in filesystem: ext4, xfs",
        ),
        (
            make_record(provenance=make_provenance(reset="none")),
            "trials differ in reset: vacuum: the tables are vacuumed before each trial, none",
        ),
        (make_record(make_trial(duration_s=60)), "trials differ in duration: 5 s, 60 s"),
        (make_record(make_trial(rate_per_s=500.0)), "trials differ in rate: none, 500/s"),
        (make_record(make_trial(protocol="simple")), "trials differ in protocol: prepared, simple"),
    ],
)
def test_a_hidden_factor_is_footnoted(other: Record, note: str) -> None:
    assert note in footnotes_of(pool_runs(make_record(), other))


def test_a_hidden_factor_inside_one_run_is_footnoted_as_well() -> None:
    records = [
        make_record(
            make_trial(repeat_index=i), provenance=make_provenance(host=make_host(kernel=k))
        )
        for i, k in enumerate(("6.1", "6.2"))
    ]

    findings = analyse([make_run(records)])
    assert footnotes_of(findings) == ["trials differ in kernel: 6.1, 6.2"]
    assert findings.footnotes[0].count == 2
    assert findings.environments[0].notes == ("kernel varied: 6.1, 6.2",)


def test_a_setting_left_at_its_default_differs_from_one_that_was_set() -> None:
    settings = [("shared_buffers", "16384", "8kB"), ("synchronous_commit", "off", None)]
    other = make_record(provenance=make_provenance(server=make_server(settings=settings)))

    assert footnotes_of(pool_runs(make_record(), other)) == [
        "trials differ in setting synchronous_commit: default, off"
    ]


def test_settings_that_only_name_places_hide_nothing() -> None:
    def at(port: str) -> Record:
        settings = [("port", port, None), ("data_directory", f"/srv/{port}", None)]
        return make_record(provenance=make_provenance(server=make_server(settings=settings)))

    assert footnotes_of(pool_runs(at("5432"), at("5433"))) == []


def test_differences_between_environments_are_named() -> None:
    settings = [("shared_buffers", "131072", "8kB"), ("work_mem", "65536", "kB")]
    big = make_provenance(server=make_server(settings=settings))
    findings = analyse(
        [
            make_run(
                [
                    make_record(make_trial(environment="small")),
                    make_record(make_trial(environment="big"), provenance=big),
                ]
            )
        ]
    )

    assert {d.fact: dict(d.values) for d in findings.differences} == {
        "setting shared_buffers": {"small": "128MB", "big": "1GB"},
        "setting work_mem": {"small": "default", "big": "64MB"},
    }


# Cautions


def run_of_cells(count: int, repeats: int = 6) -> RunRecords:
    records: list[Record] = []
    for clients in range(1, count + 1):
        records += make_paired_records([1.5] * repeats, clients=clients, first_block=len(records))
    return make_run(records)


def test_the_number_of_comparisons_that_answers_allow_for_is_said() -> None:
    assert caution_messages(analyse([run_of_cells(1)]), "many-comparisons") == []
    assert caution_messages(analyse([run_of_cells(10, repeats=3)]), "many-comparisons") == []
    [said] = caution_messages(analyse([run_of_cells(10)]), "many-comparisons")

    assert said == (
        "the answers allow for 10 comparisons (Holm); each interval is at 95% by itself"
    )


def test_a_rate_is_cautioned() -> None:
    assert "paced" not in caution_codes(analyse([make_run([make_record()])]))
    paced = make_record(make_trial(rate_per_s=100.0))
    assert "paced" in caution_codes(analyse([make_run([paced])]))


@pytest.mark.parametrize(
    ("workload", "duration_s", "writing", "cautioned"),
    [
        ("tpcb-like", 5, None, True),
        ("tpcb-like", 10, None, False),
        ("select-only", 5, None, False),
        ("mine", 5, None, True),
        ("mine", 5, (), False),
        ("mine", 5, ("mine",), True),
    ],
)
def test_short_writes_are_cautioned(
    workload: str, duration_s: int, writing: tuple[str, ...] | None, *, cautioned: bool
) -> None:
    run = make_run([make_record(make_trial(workload=workload, duration_s=duration_s))])
    findings = analyse([msgspec.structs.replace(run, writing_workloads=writing)])

    assert ("short-writes" in caution_codes(findings)) == cautioned


def test_emulated_storage_is_cautioned_by_name() -> None:
    storage = make_storage(label="cloud-volume", emulated=True)
    record = make_record(make_trial(environment="e"), provenance=make_provenance(storage=storage))

    [message] = caution_messages(analyse([make_run([record])]), "emulated")
    assert message.startswith("e runs on emulated storage (cloud-volume)")


def test_cautions_of_reading_are_passed_on() -> None:
    torn = Caution(code="torn-line", message="torn")

    assert "torn-line" in caution_codes(analyse([make_run([], cautions=(torn,))]))
