"""What is counted has one name for each engine, and nothing false is said of another one."""

from __future__ import annotations

import msgspec
import pytest

from groundspeed.analyse import RunRecords, analyse
from groundspeed.plan import POSTGRES, REQUESTS, TRANSACTIONS, words_of
from groundspeed.record import Series
from groundspeed.record.evidence import ServingWork
from tests.unit.analyse_bottleneck.scenes import Case

OTHER = "another"
# What a sentence on another engine than PostgreSQL has no business with.
FALSE = ("transaction", "TPS", "pgbench", "PostgreSQL", "shared buffers", "checkpoint")


def run_of(engine: str, *, series: Series | None = None) -> RunRecords:
    """Two environments, each with one short trial that writes."""
    records = []
    for name in ("a", "b"):
        case = Case(
            {"CPU:": 0.5},
            serving=ServingWork(request_count=5000, main_busy_ratio=0.5, main_ready_ratio=0.01),
            trial={"environment": name, "workload": "set", "trial_id": f"{name}.set"},
            settings=(("appendonly", "yes", None),),
        )
        record = case.record()
        provenance = msgspec.structs.replace(record.provenance, engine=engine, tool="loader")
        records.append(msgspec.structs.replace(record, provenance=provenance))
    return RunRecords(
        run_id="r",
        suite_name="s",
        description="",
        planned_trial_count=2,
        environments=("a", "b"),
        workloads=("set",),
        records=tuple(records),
        seconds={},
        writing_workloads=("set",),
        pausing_workloads=(),
        vary=("storage",),
        series={} if series is None else {r.trial.trial_id: series for r in records},
        engine=engine,
    )


def test_engines_have_their_words() -> None:
    assert words_of(POSTGRES) is TRANSACTIONS
    assert words_of(OTHER) is REQUESTS


def test_another_engine_is_told_of_in_its_own_words() -> None:
    findings = analyse([run_of(OTHER)])
    said = [
        *(verdict.sentence for verdict in findings.verdicts),
        *(caution.message for caution in findings.cautions),
        *(note.message for note in findings.footnotes),
        *(guard.message for guard in findings.guards),
        *(fact.fact for fact in findings.differences),
        *(trial.diagnosis.remedy for trial in findings.trials),
        *(f"{c.name} {c.source}" for t in findings.trials for c in t.diagnosis.clues),
    ]
    assert said
    for sentence in said:
        assert not any(word in sentence for word in FALSE), sentence


def test_no_guard_takes_its_data_for_that_of_a_scale() -> None:
    for engine, is_guarded in ((POSTGRES, True), (OTHER, False)):
        reads = msgspec.structs.replace(run_of(engine), writing_workloads=())
        codes = {guard.code for guard in analyse([reads]).guards}
        assert ("did-not-measure-storage" in codes) is is_guarded


@pytest.mark.parametrize("gap", [None, 900.0])
def test_seconds_are_those_the_server_counted_where_there_is_no_log(gap: float | None) -> None:
    rates = (1000.0, gap, 800.0, None)
    columns = ("second_index", "requests_per_s")
    series = Series(columns=columns, values=((0.0, 1.0, 2.0, 3.0), rates))
    findings = analyse([run_of(OTHER, series=series)])
    counts = [row.count for row in findings.seconds[0].rows]
    # A second without an answer has the rate of the look that is over both.
    assert counts == [1000, 800 if gap is None else 900, 800]
    assert findings.words is REQUESTS
