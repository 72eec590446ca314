"""The life of a try of durability, on targets that keep the rules of real ones."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed import plan as plans
from groundspeed import spec
from groundspeed.errors import TargetError
from groundspeed.record.losses import Ending
from groundspeed.run.losses import LossCrew, LossTry, tries
from tests.fakes import FakeClock, FakeDurableTarget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.record.losses import LossRecord

SUITE = """\
suite: s
environments:
  waiting: {target: embedded, storage: {emulate: slow}}
  hurried: {target: embedded, storage: {emulate: slow}, settings: {synchronous_commit: off}}
"""
PLAN = plans.make_plan(
    spec.load_suite(SUITE, source="s"),
    source="s",
    rng=Random(1),
    groundspeed_version="0",
    scripts={},
)


class Lives:
    """All targets of the tries of a test, and what happened to them in order."""

    def __init__(
        self,
        *,
        lost: Mapping[str, frozenset[str]] | None = None,
        script: Mapping[str, Sequence[BaseException | None]] | None = None,
    ) -> None:
        self.journal: list[str] = []
        self.notes: list[str] = []
        self.made: list[FakeDurableTarget] = []
        self._clock = FakeClock()
        self._lost = lost
        self._script = script

    def _make(self, environment: plans.EnvironmentPlan) -> FakeDurableTarget:
        made = FakeDurableTarget(
            environment.name,
            self.journal,
            clock=self._clock,
            lost=self._lost,
            script=self._script,
        )
        self.made.append(made)
        return made

    def run(self, *asked: LossTry) -> list[LossRecord]:
        crew = LossCrew(make=self._make, clock=self._clock, note=self.notes.append)
        return list(tries(PLAN, crew, asked))


def one(
    environment: str = "waiting", ending: Ending = Ending.KILLED, *, attempt: int = 1
) -> LossTry:
    return LossTry(environment=environment, ending=ending, attempt=attempt, write_s=2.0)


def test_it_is_written_killed_started_again_and_asked() -> None:
    lives = Lives()
    (record,) = lives.run(one())
    assert [call.partition(".")[2] for call in lives.journal] == [
        *("provide", "prepare 1", "initialise", "start", "open", "write_for", "kill", "close"),
        *("start", "present", "remove"),
    ]
    assert (record.acknowledged_count, record.missing_count) == (20, 0)
    assert record.oldest_missing_s is None
    assert record.written_s == pytest.approx(2.0)
    assert record.recovery_s == 0
    assert record.failure is None
    assert record.server_version == "16.4"
    assert record.promise.killed_s == 0
    assert record.dropped_bytes is None


def test_a_power_cut_comes_after_the_kill_and_before_the_start() -> None:
    lost = frozenset({"0:17", "0:18", "0:19"})
    lives = Lives(lost={"power-cut": lost})
    killed, cut = lives.run(one("hurried"), one("hurried", Ending.POWER_CUT))
    assert killed.missing_count == 0
    assert (cut.missing_count, cut.dropped_bytes) == (3, 4096)
    # To the last one that was acknowledged.
    assert cut.oldest_missing_s == pytest.approx(0.2)
    assert cut.promise.power_cut_s == pytest.approx(0.6)
    calls = [call.partition(".")[2] for call in lives.journal]
    at = calls.index("cut_power")
    assert calls[at - 2 : at + 2] == ["kill", "close", "cut_power", "start"]


def test_an_entry_in_the_middle_that_is_missing_is_counted() -> None:
    (record,) = Lives(lost={"killed": frozenset({"0:9"})}).run(one())
    assert record.missing_count == 1
    assert record.oldest_missing_s == pytest.approx(1.0)


def test_a_server_that_does_not_come_back_has_no_count() -> None:
    refusal = TargetError("PANIC: no checkpoint record", "see its log")
    (record,) = Lives(script={"start": [None, refusal]}).run(one())
    assert (record.acknowledged_count, record.missing_count) == (20, None)
    assert record.failure == "did not come back: PANIC: no checkpoint record"


def test_one_that_comes_back_without_an_answer_has_no_count_either() -> None:
    refusal = TargetError("its table cannot be read", "the files are damaged")
    (record,) = Lives(script={"present": [refusal]}).run(one())
    assert record.missing_count is None
    assert record.recovery_s is not None
    assert record.failure == "did not come back: its table cannot be read"


@pytest.mark.parametrize(
    "call", ["provide", "initialise", "start", "open", "write_for", "kill", "close", "cut_power"]
)
def test_a_failure_before_the_end_says_nothing_of_losses(call: str) -> None:
    lives = Lives(script={call: [TargetError("it broke", "mend it")]})
    (record,) = lives.run(one("hurried", Ending.POWER_CUT))
    assert record.failure == "it broke"
    assert record.missing_count is None
    assert record.acknowledged_count == 0
    assert lives.journal[-1] == "hurried.remove"


def test_each_try_has_a_server_of_its_own_that_is_removed() -> None:
    lives = Lives(script={"provide": [TargetError("it broke", "mend it")]})
    lives.run(one("waiting"), one("hurried"), one("waiting", attempt=2))
    assert len(lives.made) == 3
    assert [target.life for target in lives.made] == ["absent"] * 3
    assert lives.notes == ["waiting: killed, 1", "hurried: killed, 1", "waiting: killed, 2"]


@pytest.mark.parametrize("call", ["prepare 1", "write_for", "present"])
def test_an_interruption_leaves_nothing(call: str) -> None:
    lives = Lives(script={call: [KeyboardInterrupt()]})
    with pytest.raises(KeyboardInterrupt):
        lives.run(one("waiting"), one("hurried"))
    assert [target.life for target in lives.made] == ["absent"]
