"""Why cells are as fast as they are, and what may fool a reader, as rows of text."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from groundspeed.report.evidence_shapes import GuardMention, GuardNote, GuardNotes, WhyRow
from groundspeed.report.evidence_words import clues_text, diagnosis_name
from groundspeed.report.facts import label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.analyse import CellSummary, Comparison, Findings
    from groundspeed.analyse.diagnosis import CellDiagnosis, CellKey, Diagnosis, GuardFinding
    from groundspeed.analyse.findings import TrialEvidence

    InCell = CellDiagnosis | CellKey | CellSummary | Comparison | TrialEvidence

Place = tuple[str, str, int, int, int]


def place_of(thing: InCell) -> Place:
    """Give the cell of whatever has one."""
    return thing.environment, thing.workload, thing.clients, thing.threads, thing.scale


class Whys:
    """What is said of each cell; empty texts and no marks where there is no evidence."""

    def __init__(self, findings: Findings) -> None:
        """Index the diagnoses and the guards by cell."""
        self._diagnoses = {place_of(d): d for d in findings.diagnoses}
        self._guards: dict[Place, list[int]] = defaultdict(list)
        # Listed beneath the verdicts in this order, so that the first number is read first.
        self.ordered = _ordered(findings)
        for number, guard in enumerate(self.ordered, 1):
            for cell in dict.fromkeys(guard.cells):
                self._guards[place_of(cell)].append(number)

    def diagnosis(self, thing: InCell) -> Diagnosis | None:
        """Find what held a cell back; None where there is no evidence."""
        found = self._diagnoses.get(place_of(thing))
        return None if found is None else found.diagnosis

    def name(self, thing: InCell) -> str:
        """Name the bottleneck of a cell."""
        found = self.diagnosis(thing)
        return "" if found is None else diagnosis_name(found)

    def marks(self, thing: InCell, *more: str) -> tuple[int, ...]:
        """List the guards that touch a cell, or the same cell of environments named further."""
        t = thing
        # A guard's cell without an environment stands for all of them.
        names = (t.environment, *more, "")
        places = [(name, t.workload, t.clients, t.threads, t.scale) for name in names]
        return tuple(sorted({n for place in places for n in self._guards.get(place, ())}))

    def marks_of(self, cells: Iterable[InCell]) -> tuple[int, ...]:
        """List the guards that touch any of these cells."""
        return tuple(sorted({number for cell in cells for number in self.marks(cell)}))


def _ordered(findings: Findings) -> tuple[GuardFinding, ...]:
    """Order guards by the first verdict they stand beneath; the general ones are last."""
    order = {verdict.workload: index for index, verdict in enumerate(findings.verdicts)}

    def place(guard: GuardFinding) -> int:
        return min((order.get(name, len(order)) for name in _workloads(guard)), default=len(order))

    return tuple(sorted(findings.guards, key=place))


def _workloads(guard: GuardFinding) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.workload for cell in guard.cells))


def guard_notes(findings: Findings, whys: Whys) -> GuardNotes:
    """Put each guard beneath the verdicts it touches; what touches no cell of its own is general.

    It is told in full once, and pointed at where it matters again.
    """
    told: set[int] = set()
    by_verdict: list[tuple[GuardMention, ...]] = []
    notes = tuple(
        (GuardNote(number=number, code=guard.code, text=guard.message), _workloads(guard))
        for number, guard in enumerate(whys.ordered, 1)
    )
    for verdict in findings.verdicts:
        here = [note for note, workloads in notes if verdict.workload in workloads]
        by_verdict.append(tuple(GuardMention(note=n, again=n.number in told) for n in here))
        told |= {note.number for note in here}
    general = tuple(note for note, _ in notes if note.number not in told)
    return GuardNotes(by_verdict=tuple(by_verdict), general=general)


def why_rows(findings: Findings, whys: Whys) -> tuple[WhyRow, ...]:
    """Give one row for cells of an environment and workload that have the same bottleneck."""
    groups: dict[tuple[str, str, str], list[CellDiagnosis]] = {}
    # By workload first, as all tables of the report are.
    workloads = list(dict.fromkeys(d.workload for d in findings.diagnoses))
    for found in sorted(findings.diagnoses, key=lambda d: workloads.index(d.workload)):
        key = (found.workload, found.environment, diagnosis_name(found.diagnosis))
        groups.setdefault(key, []).append(found)
    threads_vary = len({d.threads for d in findings.diagnoses}) > 1
    scale_varies = len({d.scale for d in findings.diagnoses}) > 1
    return tuple(
        WhyRow(
            environment=environment,
            label=label_of(environment, findings.emulated),
            workload=workload,
            cells=cells_text(group, threads_vary=threads_vary, scale_varies=scale_varies),
            name=name,
            agreement=_agreement(group),
            clues=_clues(group),
            # It may speak of the number of clients: the most of them need it most.
            remedy=max(group, key=lambda d: d.clients).diagnosis.remedy,
            others=_others(group),
            guards=whys.marks_of(group),
        )
        for (workload, environment, name), group in groups.items()
    )


def cells_text(
    cells: Sequence[CellDiagnosis | CellKey], *, threads_vary: bool, scale_varies: bool
) -> str:
    """Name cells by their factors: "1 and 8 clients, scale 10"."""
    parts = [_counted([c.clients for c in cells], "client")]
    if threads_vary:
        parts.append(_counted([c.threads for c in cells], "thread"))
    if scale_varies:
        scales = sorted({c.scale for c in cells})
        parts.append(f"scale {' and '.join(f'{scale:,}' for scale in scales)}")
    return ", ".join(parts)


def _counted(numbers: Iterable[int], noun: str) -> str:
    known = sorted(set(numbers))
    *first, last = (f"{number:,}" for number in known)
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{listed} {noun}{'' if known == [1] else 's'}"


def _agreement(group: Sequence[CellDiagnosis]) -> str:
    agreeing = sum(d.agreeing_count for d in group)
    trials = sum(d.trial_count for d in group)
    return "" if agreeing == trials else f"{agreeing:,} of {trials:,} trials"


def _others(group: Sequence[CellDiagnosis]) -> str:
    named = {d.diagnosis.bottleneck for d in group}
    others = (b for d in group for b in d.diagnosis.others if b not in named)
    return ", ".join(dict.fromkeys(b.value for b in others))


def _clues(group: Sequence[CellDiagnosis]) -> tuple[str, ...]:
    """Word the clues that all cells of a group have, by their place in the first of them."""
    texts: list[str] = []
    for clue in group[0].diagnosis.clues:
        same = [
            other
            for d in group
            for other in d.diagnosis.clues
            if (other.name, other.unit) == (clue.name, clue.unit)
        ]
        if len(same) == len(group):
            texts.append(clues_text(same))
    return tuple(texts)
