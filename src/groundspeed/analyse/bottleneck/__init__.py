"""The bottleneck of a trial, named: what held it back, by which figures, and what would change it.

Each rule says which share of the clients' time would not be spent without its bottleneck; the
precedence among them is one table, `suspects.EXPLAINS`. See docs/evidence.md. Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import (
    capped,
    checkpoints,
    client,
    device,
    locks,
    memory,
    persistence,
    processor,
    remedies,
    storage,
)
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.scene import look
from groundspeed.analyse.bottleneck.suspects import choose
from groundspeed.analyse.diagnosis import (
    Bottleneck,
    CellDiagnosis,
    Clue,
    Confidence,
    Diagnosis,
)
from groundspeed.plan import TRANSACTIONS
from groundspeed.record import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.analyse.bottleneck.scene import Scene
    from groundspeed.analyse.bottleneck.suspects import Suspect
    from groundspeed.analyse.diagnosis import Course
    from groundspeed.plan import Cell, Words
    from groundspeed.record import Record, Series

_RULES = (
    client.connection,
    processor.starved,
    checkpoints.bound,
    persistence.fork,
    capped.bound,
    locks.bound,
    storage.log_sync,
    persistence.stall,
    storage.reads,
    memory.bound,
    client.network,
    client.bound,
    processor.bound,
)
_CLUES = 3
# A rate that is reached within 3% is what the load asked for.
_RATE_REACHED_RATIO = 0.97


def diagnose(
    record: Record, *, series: Series, course: Course, words: Words = TRANSACTIONS
) -> Diagnosis:
    """Name what held one trial back.

    `series` are the per-second values of the probes, empty where there are none; `course` how its
    throughput went; `words` what is counted. A trial without a measurement or without evidence is
    UNKNOWN.
    """
    outcome = record.outcome
    if not isinstance(outcome, Measured):
        return _unknown(record, (), remedies.UNMEASURED)
    scene = look(record, outcome, series=series, course=course, words=words)
    if scene is None:
        return _unknown(record, (), remedies.UNSEEN)
    suspects = [s for s in (rule(scene) for rule in _RULES) if s is not None]
    choice = choose(suspects, sample_count=scene.evidence.activity_sample_count)
    others = tuple(dict.fromkeys((*_behind(scene, choice.named), *_names(choice.others))))
    if _reached_its_rate(record, outcome):
        return _unknown(record, _filled(scene, ()), remedies.RATE, others)
    if choice.named is None:
        strongest = choice.others[0].clues[:2] if choice.others else ()
        return _unknown(record, _filled(scene, strongest), remedies.SPREAD, others)
    named = choice.named
    return Diagnosis(
        trial_id=record.trial.trial_id,
        bottleneck=named.bottleneck,
        confidence=choice.confidence,
        clues=_filled(scene, named.clues),
        remedy=named.remedy,
        others=tuple(name for name in others if name is not named.bottleneck),
    )


def _names(suspects: Sequence[Suspect]) -> Iterator[Bottleneck]:
    return (suspect.bottleneck for suspect in suspects)


def _behind(scene: Scene, named: Suspect | None) -> Iterator[Bottleneck]:
    """Name what the holders of locks wait for: next in line once the locks are gone."""
    if named is None or named.bottleneck is not Bottleneck.LOCK:
        return
    if locks.holders_wait_for(scene, Place.LOG, Place.LOG_QUEUE) and device.log_share(scene):
        yield Bottleneck.WAL_SYNC


def _reached_its_rate(record: Record, outcome: Measured) -> bool:
    asked = record.trial.rate_per_s
    return asked is not None and outcome.tps_per_s >= _RATE_REACHED_RATIO * asked


def _unknown(
    record: Record, clues: tuple[Clue, ...], remedy: str, others: tuple[Bottleneck, ...] = ()
) -> Diagnosis:
    return Diagnosis(
        trial_id=record.trial.trial_id,
        bottleneck=Bottleneck.UNKNOWN,
        confidence=Confidence.WEAK,
        clues=clues,
        remedy=remedy,
        others=others,
    )


def _filled(scene: Scene, clues: tuple[Clue, ...]) -> tuple[Clue, ...]:
    """Three clues: the first of those there are, and what every trial has for those that miss."""
    return (*clues, *_general(scene))[:_CLUES]


def _general(scene: Scene) -> tuple[Clue, ...]:
    at_work = (1.0 - scene.share(Place.OUTSIDE)) * scene.clients
    general = [
        Clue(
            name=f"{scene.words.many} a second",
            value=scene.outcome.tps_per_s,
            unit="per_s",
            source=scene.tool,
        ),
        Clue(
            name="is the mean latency",
            value=scene.outcome.latency.mean_s,
            unit="s",
            source=scene.latency_source,
        ),
        Clue(name="clients", value=float(scene.clients), unit="count", source="the plan"),
    ]
    if scene.has_waits and scene.serving is None:
        name = f"of {scene.clients} clients are in the server at a time"
        source = scene.waits_source
        general.insert(0, Clue(name=name, value=at_work, unit="count", source=source))
    return tuple(general)


def diagnose_cells(
    trials: Sequence[tuple[Record, Diagnosis]],
) -> tuple[CellDiagnosis, ...]:
    """Name what held each cell back: what most of its trials agree in; in the order they come.

    The figures are those of the trial in the middle, by its first clue, of the ones that agree.
    Where as many trials say one thing as another, the surer one is taken, and a name before none.
    """
    groups: dict[Cell, list[Diagnosis]] = {}
    for record, diagnosis in trials:
        if isinstance(record.outcome, Measured):
            groups.setdefault(record.trial.cell, []).append(diagnosis)
    return tuple(_cell(cell, diagnoses) for cell, diagnoses in groups.items())


def _cell(cell: Cell, diagnoses: Sequence[Diagnosis]) -> CellDiagnosis:
    counts = Counter(d.bottleneck for d in diagnoses)

    def weight(bottleneck: Bottleneck) -> tuple[int, bool, int]:
        sure = sum(_SURENESS[d.confidence] for d in diagnoses if d.bottleneck is bottleneck)
        return counts[bottleneck], bottleneck is not Bottleneck.UNKNOWN, sure

    named = max(counts, key=weight)
    agreeing = sorted((d for d in diagnoses if d.bottleneck is named), key=_first_value)
    return CellDiagnosis(
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        diagnosis=agreeing[len(agreeing) // 2],
        agreeing_count=len(agreeing),
        trial_count=len(diagnoses),
    )


_SURENESS = {Confidence.SURE: 2, Confidence.LIKELY: 1, Confidence.WEAK: 0}


def _first_value(diagnosis: Diagnosis) -> float:
    return diagnosis.clues[0].value if diagnosis.clues else 0.0
