"""What held a cell back is what most of its trials agree in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.bottleneck import diagnose_cells
from groundspeed.analyse.diagnosis import Bottleneck, Clue, Confidence, Diagnosis
from groundspeed.record import Failed
from tests.examples import make_measured, make_record, make_trial

if TYPE_CHECKING:
    from groundspeed.record import Record

B, C = Bottleneck, Confidence


def told(
    bottleneck: Bottleneck,
    value: float = 0.5,
    *,
    confidence: Confidence = C.SURE,
    repeat: int = 0,
    clients: int = 1,
) -> tuple[Record, Diagnosis]:
    trial = make_trial(repeat_index=repeat, clients=clients)
    diagnosis = Diagnosis(
        trial_id=trial.trial_id,
        bottleneck=bottleneck,
        confidence=confidence,
        clues=(Clue(name="of something", value=value, unit="ratio", source="a test"),),
        remedy="something else",
    )
    return make_record(trial, make_measured()), diagnosis


def test_most_trials_decide_and_the_one_in_the_middle_tells_the_figures() -> None:
    trials = [
        told(B.LOCK, 0.9, repeat=0),
        told(B.LOCK, 0.7, repeat=1),
        told(B.CPU, 0.4, repeat=2),
        told(B.LOCK, 0.8, repeat=3),
    ]
    [cell] = diagnose_cells(trials)
    assert cell.diagnosis == trials[3][1]
    assert (cell.agreeing_count, cell.trial_count) == (3, 4)
    assert (cell.environment, cell.workload, cell.clients, cell.scale) == ("a", "tpcb-like", 1, 10)


@pytest.mark.parametrize(
    "tied",
    [
        [told(B.UNKNOWN), told(B.CPU, confidence=C.WEAK)],  # a name before none
        [told(B.LOCK, confidence=C.LIKELY), told(B.CPU)],  # the surer one
    ],
)
def test_a_tie_has_an_answer_in_any_order(tied: list[tuple[Record, Diagnosis]]) -> None:
    for trials in (tied, tied[::-1]):
        [cell] = diagnose_cells(trials)
        assert cell.diagnosis.bottleneck is B.CPU
        assert (cell.agreeing_count, cell.trial_count) == (1, 2)


def test_cells_come_in_the_order_of_their_first_trials() -> None:
    trials = [told(B.CPU, clients=8), told(B.LOCK, clients=1), told(B.CPU, clients=8, repeat=1)]
    assert [(c.clients, c.trial_count) for c in diagnose_cells(trials)] == [(8, 2), (1, 1)]


def test_trials_without_a_measurement_do_not_count() -> None:
    failed = make_record(make_trial(repeat_index=1), Failed(reason="gone", retryable=True))
    trials = [told(B.CPU), (failed, told(B.UNKNOWN)[1])]
    [cell] = diagnose_cells(trials)
    assert (cell.diagnosis.bottleneck, cell.trial_count) == (B.CPU, 1)
    assert diagnose_cells(trials[1:]) == ()
