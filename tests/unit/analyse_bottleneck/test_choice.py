"""Which suspect is named: causes before their symptoms, and nothing where nothing stands out."""

from __future__ import annotations

import itertools

import pytest

from groundspeed.analyse.bottleneck.places import Place, place_of
from groundspeed.analyse.bottleneck.suspects import EXPLAINS, Choice, Suspect, choose
from groundspeed.analyse.diagnosis import Bottleneck, Confidence

B, C = Bottleneck, Confidence


def suspect(bottleneck: Bottleneck, score: float, **more: bool) -> Suspect:
    return Suspect(bottleneck=bottleneck, score=score, clues=(), remedy="another", **more)


def chosen(*suspects: Suspect, samples: int = 600) -> Choice:
    return choose(suspects, sample_count=samples)


def name_of(choice: Choice) -> Bottleneck | None:
    return choice.named.bottleneck if choice.named is not None else None


PAIRS = [(cause, symptom) for cause in EXPLAINS for symptom in sorted(EXPLAINS[cause], key=str)]


@pytest.mark.parametrize(("cause", "symptom"), PAIRS)
def test_a_cause_comes_before_a_stronger_symptom(cause: Bottleneck, symptom: Bottleneck) -> None:
    choice = chosen(suspect(symptom, 0.95), suspect(cause, 0.6))
    assert name_of(choice) is cause
    assert [other.bottleneck for other in choice.others] == [symptom]
    # A cause that explains little is no cause of much.
    assert name_of(chosen(suspect(symptom, 0.95), suspect(cause, 0.3))) is symptom


def test_no_cause_is_its_own_symptom() -> None:
    for start in EXPLAINS:
        reached, todo = set(), list(EXPLAINS[start])
        while todo:
            name = todo.pop()
            if name not in reached:
                reached.add(name)
                todo += EXPLAINS.get(name, ())
        assert start not in reached


def test_the_order_of_the_rules_has_no_part_in_it() -> None:
    suspects = [
        suspect(B.WAL_SYNC, 0.9),
        suspect(B.WRITE_BANDWIDTH, 0.7),
        suspect(B.CHECKPOINT, 0.6),
        suspect(B.CPU, 0.1),
    ]
    found = {name_of(chosen(*order)) for order in itertools.permutations(suspects)}
    assert found == {B.CHECKPOINT}


@pytest.mark.parametrize(
    ("scores", "named", "confidence"),
    [
        ((0.9, 0.1), B.LOCK, C.SURE),
        ((0.9, 0.5), B.LOCK, C.LIKELY),  # something else counts too
        ((0.55, 0.1), B.LOCK, C.LIKELY),
        ((0.4, 0.1), B.LOCK, C.WEAK),  # a guess
        ((0.4, 0.35), None, C.WEAK),  # it leads by too little
        ((0.3, 0.1), None, C.WEAK),
    ],
)
def test_how_much_is_explained_decides_name_and_confidence(
    scores: tuple[float, float], named: Bottleneck | None, confidence: Confidence
) -> None:
    choice = chosen(suspect(B.LOCK, scores[0]), suspect(B.READ_IO, scores[1]))
    assert (name_of(choice), choice.confidence) == (named, confidence)


@pytest.mark.parametrize(
    ("flags", "samples", "confidence"),
    [
        ({"doubtful": True}, 600, C.LIKELY),
        ({}, 19, C.LIKELY),  # few samples, and nothing else shows it
        ({"counted": True}, 19, C.SURE),
        ({"counted": True}, 0, C.LIKELY),  # counters alone
        ({"doubtful": True}, 19, C.WEAK),
    ],
)
def test_doubts_take_steps_of_confidence(
    flags: dict[str, bool], samples: int, confidence: Confidence
) -> None:
    assert chosen(suspect(B.LOCK, 0.9, **flags), samples=samples).confidence is confidence


def test_without_suspects_there_is_no_name() -> None:
    assert chosen() == Choice(None, C.WEAK, ())


@pytest.mark.parametrize(
    ("wait", "place"),
    [
        ("CPU:", Place.PROCESSOR),
        ("IO:WALSync", Place.LOG),
        ("IO:WalInitSync", Place.LOG),
        ("LWLock:WALWrite", Place.LOG_QUEUE),
        ("LWLock:WALInsert", Place.LOG_QUEUE),
        ("IO:DataFileRead", Place.READ),
        ("IO:AioIoCompletion", Place.READ),
        ("LWLock:BufferIO", Place.READ),
        ("IPC:BufferIo", Place.READ),
        ("IO:DataFileExtend", Place.WRITE),
        ("IO:BuffileWrite", Place.SPILL),
        ("LWLock:BufferMapping", Place.BUFFER),
        ("LWLock:BufferContent", Place.LATCH),
        ("Lock:tuple", Place.LOCK),
        ("Client:ClientWrite", Place.ANSWER),
        ("IPC:SyncRep", Place.REPLICA),
        ("Timeout:PgSleep", Place.OTHER),
        ("Something:New", Place.OTHER),
    ],
)
def test_waits_have_their_places(wait: str, place: Place) -> None:
    wait_class, _, event = wait.partition(":")
    assert place_of(wait_class, event) is place
