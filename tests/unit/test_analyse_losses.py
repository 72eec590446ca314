"""Tries of durability, added up and held against what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.losses import Kept, LossRow, loss_rows
from groundspeed.record.losses import Ending, Promise
from tests.unit.losses import A_SECOND, NO_BOUND, NOTHING, failed, gone, loss

if TYPE_CHECKING:
    from groundspeed.record.losses import LossRecord

CUT = Ending.POWER_CUT


def row_of(*records: LossRecord) -> LossRow:
    (row,) = loss_rows(records)
    return row


@pytest.mark.parametrize(
    ("records", "kept"),
    [
        ([loss()], Kept.KEPT),
        ([loss(missing=1, oldest_s=0.0)], Kept.BROKEN),
        # One broken try is enough.
        ([loss(), loss(attempt=2, missing=1, oldest_s=0.1), loss(attempt=3)], Kept.BROKEN),
        ([loss(promise=A_SECOND, ending=CUT, missing=9, oldest_s=1.0)], Kept.KEPT),
        ([loss(promise=A_SECOND, ending=CUT, missing=9, oldest_s=1.01)], Kept.BROKEN),
        # By another ending, the same promise allows nothing.
        ([loss(promise=A_SECOND, missing=9, oldest_s=0.2)], Kept.BROKEN),
        ([loss(promise=NO_BOUND, missing=1000, oldest_s=2.0)], Kept.NO_PROMISE),
        ([gone(promise=NO_BOUND)], Kept.NO_PROMISE),
        # What does not come back has lost all.
        ([gone()], Kept.BROKEN),
        ([gone(promise=A_SECOND, ending=CUT)], Kept.BROKEN),
        ([failed()], Kept.UNKNOWN),
        ([failed(promise=NO_BOUND)], Kept.UNKNOWN),
        ([failed(), loss(attempt=2)], Kept.KEPT),
    ],
)
def test_a_promise_is_kept_broken_or_was_not_tried(records: list[LossRecord], kept: Kept) -> None:
    assert row_of(*records).kept is kept


def test_tries_are_added_up_and_the_worst_is_told() -> None:
    row = row_of(
        loss(acknowledged=100, missing=5, oldest_s=0.2, recovery_s=1.0, promise=NO_BOUND),
        loss(acknowledged=300, missing=7, oldest_s=0.1, recovery_s=3.0, promise=NO_BOUND),
        loss(acknowledged=50, promise=NO_BOUND),
    )
    assert (row.try_count, row.acknowledged_count) == (3, 450)
    assert (row.missing_counts, row.missing_count) == ((5, 7, 0), 12)
    assert (row.oldest_missing_s, row.recovery_s) == (0.2, 3.0)
    assert row.lost_all_count == 0


def test_where_the_server_did_not_come_back_all_is_missing() -> None:
    row = row_of(loss(acknowledged=100, missing=5, oldest_s=0.2), gone(acknowledged=70))
    assert (row.missing_count, row.lost_all_count, row.missing_counts) == (75, 1, (5,))
    assert row.failures == ("did not come back: PANIC",)


def test_a_try_that_failed_before_its_end_counts_nowhere() -> None:
    row = row_of(loss(), failed())
    assert (row.try_count, row.acknowledged_count, row.missing_count) == (1, 1000, 0)
    assert row.lost_all_count == 0
    assert row.failures == ("the server does not start",)


def test_rows_come_in_the_order_they_were_first_tried() -> None:
    records = [
        loss(environment="b"),
        loss(environment="b", ending=CUT),
        loss(environment="a"),
        loss(environment="b"),
    ]
    assert [(row.environment, row.ending, row.try_count) for row in loss_rows(records)] == [
        ("b", Ending.KILLED, 2),
        ("b", CUT, 1),
        ("a", Ending.KILLED, 1),
    ]
    assert loss_rows([]) == ()


def test_a_promise_is_by_ending() -> None:
    promise = Promise(killed_s=0.0, power_cut_s=None, words="w")
    assert promise.after(Ending.KILLED) == 0
    assert promise.after(CUT) is None
    assert NOTHING.after(CUT) == 0
