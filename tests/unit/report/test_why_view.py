from __future__ import annotations

import msgspec

from groundspeed.analyse.diagnosis import CellKey, GuardFinding, GuardKind
from groundspeed.report.view import view
from groundspeed.report.why_view import Whys
from tests.evident import evident_findings, key_of
from tests.examples import AWKWARD, EMULATED, PIPED, example_findings


def make_guard(*cells: CellKey, code: str = "x") -> GuardFinding:
    return GuardFinding(kind=GuardKind.SANITY, code=code, message=f"of {code}", cells=cells)


def test_without_evidence_nothing_is_said() -> None:
    page = view(msgspec.structs.replace(example_findings(), guards=()))
    assert page.whys == page.scalings == page.timelines == ()
    assert page.guards.general == ()
    assert set(page.guards.by_verdict) == {()}
    assert {row.bottleneck for row in page.results.rows} == {""}


def test_cells_that_agree_share_a_row() -> None:
    rows = view(evident_findings()).whys
    assert [(r.workload, r.environment, r.cells, r.name) for r in rows] == [
        ("tpcb-like", PIPED, "1 and 8 clients", "likely lock-bound"),
        ("tpcb-like", AWKWARD, "1 and 8 clients", "CPU-bound"),
        ("tpcb-like", EMULATED, "1 and 8 clients", "WAL-sync-bound"),
        ("select-only", PIPED, "1 and 8 clients", "CPU-bound"),
        ("select-only", AWKWARD, "1 and 8 clients", "unknown"),
    ]
    assert rows[0].clues[0].startswith("83% to 91% of database time")
    assert rows[0].agreement == "15 of 17 trials"
    assert rows[1].agreement == ""
    # What they are not: the bottleneck that is named is not the next one too.
    assert (rows[0].others, rows[1].others) == ("", "lock-bound")


def test_cells_that_disagree_have_rows_of_their_own() -> None:
    findings = evident_findings()
    first, *rest = findings.diagnoses
    other = msgspec.structs.replace(
        first, diagnosis=msgspec.structs.replace(rest[1].diagnosis, clues=())
    )
    rows = view(msgspec.structs.replace(findings, diagnoses=(other, *rest))).whys
    mine = [r for r in rows if (r.environment, r.workload) == (PIPED, "tpcb-like")]
    assert [(r.cells, r.name) for r in mine] == [
        ("1 client", "WAL-sync-bound"),
        ("8 clients", "likely lock-bound"),
    ]


def test_the_remedy_of_several_cells_is_that_of_the_most_clients() -> None:
    findings = evident_findings()
    spoken = tuple(
        msgspec.structs.replace(
            d, diagnosis=msgspec.structs.replace(d.diagnosis, remedy=f"{d.clients} clients wait")
        )
        for d in findings.diagnoses
    )
    rows = view(msgspec.structs.replace(findings, diagnoses=spoken)).whys
    assert {row.remedy for row in rows} == {"8 clients wait"}


def test_every_row_of_the_tables_names_its_bottleneck() -> None:
    page = view(evident_findings())
    assert {r.bottleneck for r in page.results.rows if r.environment == EMULATED} == {
        "WAL-sync-bound"
    }
    assert {r.bottleneck for r in page.comparisons.rows if r.workload == "select-only"} == {
        "unknown"
    }


def test_a_guard_is_told_once_and_pointed_at_where_it_matters_again() -> None:
    page = view(evident_findings())
    told = [[(m.note.code, m.again) for m in here] for here in page.guards.by_verdict]
    assert told == [
        [("scale-below-clients", False), ("confounded", False)],
        [("confounded", True), ("did-not-measure-storage", False)],
    ]
    assert [note.code for note in page.guards.general] == ["cpu-credits"]
    numbers = [m.note.number for here in page.guards.by_verdict for m in here if not m.again]
    assert [*numbers, *(n.number for n in page.guards.general)] == [1, 2, 3, 4]


def test_a_guard_of_a_workload_without_a_verdict_is_general() -> None:
    cell = CellKey(environment="x", workload="gone", clients=1, threads=1, scale=1)
    findings = msgspec.structs.replace(example_findings(), guards=(make_guard(cell),))
    assert [note.number for note in view(findings).guards.general] == [1]


def test_marks_stand_at_the_cells_a_guard_touches() -> None:
    findings = example_findings()
    baseline = next(c for c in findings.cells if c.environment == PIPED and c.clients == 8)
    everywhere = CellKey(environment="", workload="select-only", clients=1, threads=1, scale=10)
    guarded = msgspec.structs.replace(
        findings, guards=(make_guard(key_of(baseline)), make_guard(everywhere, code="y"))
    )
    page = view(guarded)
    marked = {(r.environment, r.workload, r.clients): r.guards for r in page.results.rows}
    assert marked[PIPED, "tpcb-like", 8] == (1,)
    assert marked[AWKWARD, "tpcb-like", 8] == ()
    assert marked[AWKWARD, "select-only", 1] == (2,)
    # A doubt on the baseline is a doubt on what is compared to it.
    compared = {(r.environment, r.workload, r.clients): r.guards for r in page.comparisons.rows}
    assert compared[AWKWARD, "tpcb-like", 8] == (1,)
    assert compared[AWKWARD, "tpcb-like", 1] == ()


def test_marks_point_at_the_guards_as_they_are_ordered() -> None:
    findings = evident_findings()
    whys = Whys(findings)
    read = next(c for c in findings.cells if c.workload == "select-only")
    assert [whys.ordered[n - 1].code for n in whys.marks(read)] == ["did-not-measure-storage"]
