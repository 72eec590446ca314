from __future__ import annotations

from random import Random

import msgspec
import pytest

from groundspeed.analyse.step import CREDITS_RAN_OUT, STEAL_ROSE, find_step
from groundspeed.record import CreditsLeft, Series, StorageSecond, StorageWork
from groundspeed.record.evidence import EventKind, ServerEvent
from tests.examples import make_storage_work
from tests.made_seconds import seconds

BURST = [3.0] * 40 + [1.0] * 80


def rates(shape: list[float]) -> list[float]:
    return seconds(Random(1), shape, 0.3)


def work(left: float, throttled_s: list[float]) -> StorageWork:
    return msgspec.structs.replace(
        make_storage_work(),
        credits=(CreditsLeft(tier="device", of="requests", on="all", left=left, capacity=1000),),
        seconds=tuple(
            StorageSecond(
                index=at,
                read_request_count=10,
                write_request_count=10,
                bytes=8192,
                depth_count=1.0,
                throttled_s=value,
            )
            for at, value in enumerate(throttled_s)
        ),
    )


def test_a_burst_that_ends_tells_the_size_of_its_bucket() -> None:
    found = find_step(rates(BURST), (), None, None)

    assert found is not None
    assert found.at_s == pytest.approx(40, abs=1)
    assert found.before_per_s == pytest.approx(3000, rel=0.05)
    assert found.after_per_s == pytest.approx(1000, rel=0.05)
    assert found.bucket_count == pytest.approx(2000 * 40, rel=0.1)
    assert found.cause == ""


def test_long_trials_are_looked_at_in_windows() -> None:
    found = find_step(rates([3.0] * 900 + [1.0] * 1000), (), None, None)

    assert found is not None
    assert found.at_s == pytest.approx(900, abs=4)
    assert found.bucket_count == pytest.approx(2000 * 900, rel=0.05)


@pytest.mark.parametrize(
    "shape",
    [
        [1.0] * 120,
        [1.0] * 40 + [3.0] * 80,
        [2.0 - at / 120 for at in range(120)],  # a slow decline
        [3.0] * 40 + [1.0] * 60 + [3.0] * 20,  # it recovers
        [3.0] * 5 + [1.0] * 3,
        [3.0],
        [],
    ],
)
def test_what_is_no_step_down_for_good(shape: list[float]) -> None:
    assert find_step(rates(shape), (), None, None) is None


@pytest.mark.parametrize("elapsed_s", [78.0, None])
def test_a_checkpoint_under_all_of_it_is_no_step(elapsed_s: float | None) -> None:
    event = ServerEvent(kind=EventKind.CHECKPOINT, at_s=40.5, elapsed_s=elapsed_s)

    assert find_step(rates(BURST), (event,), None, None) is None


def test_checkpoints_before_and_after_explain_nothing() -> None:
    events = tuple(
        ServerEvent(kind=EventKind.CHECKPOINT, at_s=at, elapsed_s=4.0) for at in range(0, 120, 5)
    )

    assert find_step(rates(BURST), events, None, None) is not None


@pytest.mark.parametrize(
    ("left", "throttled_s", "cause"),
    [
        (3.0, [0.0] * 40 + [2.0] * 80, CREDITS_RAN_OUT),
        (3.0, [], CREDITS_RAN_OUT),
        (700.0, [0.0] * 40 + [2.0] * 80, ""),
        # Empty, but no more held back than before.
        (3.0, [2.0] * 40 + [1.0] * 80, ""),
    ],
)
def test_emulated_credits(left: float, throttled_s: list[float], cause: str) -> None:
    found = find_step(rates(BURST), (), None, work(left, throttled_s))

    assert found is not None
    assert found.cause == cause


@pytest.mark.parametrize(("after", "cause"), [(0.4, STEAL_ROSE), (0.01, ""), (None, "")])
def test_steal_that_rises_is_said(after: float | None, cause: str) -> None:
    series = Series(columns=("steal_ratio",), values=((0.0,) * 40 + (after,) * 80,))
    found = find_step(rates(BURST), (), series, None)

    assert found is not None
    assert found.cause == cause
