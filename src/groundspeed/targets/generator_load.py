"""One load that several generators make at the same time, from the barrier to the sum.

Nothing of it goes on when a part of it fails: then the others are ended, and there is no sum.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.measurement import merged
from groundspeed.measurement.together import Part
from groundspeed.plan import Command, Trial
from groundspeed.ports import LoadResult, Progress
from groundspeed.targets import generator_messages as messages
from groundspeed.targets.generator_link import LinkLostError
from groundspeed.targets.load import Login
from groundspeed.tools import pgbench, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.stats.clock_offset import Offset
    from groundspeed.targets.generator_link import Link
    from groundspeed.targets.generator_messages import Told

# From the last word to the first transaction: generators have to read what they were told, and get
# ready. One that is late says so.
_LEAD_NS = 1_000_000_000
# All of them are looked at in turn, so often.
_LOOK_EVERY_S = 0.1
# A load tool is given five seconds to end after its time, and its log has to be read.
_OVERTIME_S = 60.0


class LoadOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of all generators together; `number` tells loads of one link apart."""

    number: int
    command: Command
    trial: Trial
    login: Login
    limit_s: float


class _Member:
    """What is known so far of one generator's part."""

    def __init__(self, link: Link, before: Offset) -> None:
        self.link = link
        self.before = before
        self.has_begun = False
        self.first_us: int | None = None
        self.progress: messages.ProgressTold | None = None
        self.ended: messages.LoadEnded | None = None

    @property
    def ahead_us(self) -> int:
        """How far its clock is ahead of ours."""
        return round(self.before.ahead_ns / 1000)

    @property
    def result(self) -> LoadResult:
        """What it left behind, once it ended, with times by our clock."""
        assert self.ended is not None  # noqa: S101 - asked for at the end
        return merged.shifted(self.ended.load, by_us=-self.ahead_us)

    def part(self) -> Part:
        """Tell of it what the sum depends on; its clock is asked once more.

        One that has gone by now has done its part all the same.
        """
        assert self.ended is not None  # noqa: S101 - asked for at the end
        try:
            after = self.link.clock()
        except (LinkLostError, TargetError):
            after = None
        return Part(
            name=self.link.who,
            node=self.link.node,
            began_s=(self.ended.started_ns - self.before.ahead_ns) / 1e9 + self._connecting_s(),
            before=self.before,
            after=after,
        )

    def _connecting_s(self) -> float:
        # pgbench begins when all of its clients are there; 13 does not say when that was, and one
        # that was cut short says nothing.
        result = self.result
        report = pgbench.parse(result.stdout) if result.returncode == 0 else None
        return 0.0 if report is None else report.initial_connection_s or 0.0


class JointLoad:
    """A load in parts."""

    def __init__(
        self, links: Sequence[Link], order: LoadOrder, on_progress: Callable[[Progress], None]
    ) -> None:
        """Measure their clocks. Raises LinkLostError."""
        self._order = order
        self._on_progress = on_progress
        self._members = tuple(_Member(link, link.clock()) for link in links)
        self._failed: _Member | None = None
        self._zero_is_told = False

    @property
    def has_failed(self) -> bool:
        """Whether a load tool failed somewhere; then the generators have to be ended."""
        return self._failed is not None

    def run(self) -> LoadResult:
        """Make it, and add up what came of it; of one that failed, tell where and why.

        Raises LinkLostError, and TargetError for what a generator could not do. After both the
        generators have to be ended.
        """
        self._tell_all()
        deadline_s = time.monotonic() + _LEAD_NS / 1e9 + self._order.limit_s + _OVERTIME_S
        while self._failed is None and (pending := self._pending()):
            for member in pending:
                for message in member.link.receive(_LOOK_EVERY_S / len(self._members)):
                    self._hear(member, message)
            for member in self._members:
                member.link.keep_alive()
            if time.monotonic() > deadline_s:
                raise LinkLostError(pending[0].link, "it did not end its load in time")
        if self._failed is not None:
            return self._failure(self._failed)
        return merged.merge_loads([member.result for member in self._members])

    def parts(self) -> tuple[Part, ...]:
        """Tell of all parts what the sum depends on; their clocks are asked once more."""
        return tuple(member.part() for member in self._members)

    def _pending(self) -> list[_Member]:
        return [member for member in self._members if member.ended is None]

    def _tell_all(self) -> None:
        order = self._order
        shares = spread.spread(order.command, len(self._members))
        start_ns = time.time_ns() + _LEAD_NS
        for member, share in zip(self._members, shares, strict=True):
            member.link.send(
                messages.LoadAsked(
                    number=order.number,
                    command=share,
                    trial=order.trial,
                    variables=order.login.variables,
                    secret_files=order.login.secret_files,
                    start_at_ns=start_ns + member.before.ahead_ns,
                    limit_s=order.limit_s,
                )
            )

    def _hear(self, member: _Member, message: Told) -> None:
        match message:
            case messages.Began():
                member.has_begun = True
                member.first_us = message.first_us
                self._tell_zero()
            case messages.ProgressTold():
                member.progress = message
                self._tell_progress()
            case messages.LoadEnded():
                member.ended = message
                # One that had to be ended after its time has not failed; the return code tells.
                if message.load.returncode and message.load.elapsed_s < self._order.limit_s:
                    self._failed = member
            case messages.Trouble():
                raise TargetError(f"{member.link.who}: {message.message}", message.hint)
            case _:
                pass

    def _tell_zero(self) -> None:
        """Once the log of each has begun, tell all of them the first moment of the first."""
        if not all(member.has_begun for member in self._members):
            return
        begun_us = [m.first_us - m.ahead_us for m in self._members if m.first_us is not None]
        if begun_us:
            for member in self._members:
                zero_us = min(begun_us) + member.ahead_us
                member.link.send(messages.ZeroTold(number=self._order.number, zero_us=zero_us))

    def _tell_progress(self) -> None:
        """Once each has told how it goes, pass on how all of them do."""
        told = [member.progress for member in self._members if member.progress is not None]
        if len(told) < len(self._members):
            return
        rates = [progress.tps_per_s for progress in told if progress.tps_per_s is not None]
        tails_s = [progress.p99_s for progress in told if progress.p99_s is not None]
        self._on_progress(
            Progress(
                elapsed_s=min(progress.elapsed_s for progress in told),
                tps_per_s=sum(rates) if len(rates) == len(told) else None,
                # That of all together is at most this; the record has it exactly.
                p99_s=max(tails_s, default=None),
            )
        )
        for member in self._members:
            member.progress = None

    def _failure(self, failed: _Member) -> LoadResult:
        """Say which of them failed, in words that are taken for its load tool's own."""
        results = [None if m.ended is None else m.ended.load for m in self._members]
        stderrs = ["" if result is None else result.stderr for result in results]
        told = failed.result
        code = told.returncode
        words = pgbench.error_line(told.stderr) or f"return code {code}"
        if code < 0:
            # As a shell has it: a signal of which nobody knows where it hit would hide the place.
            words, code = f"killed by signal {-code}", 128 - code
        return LoadResult(
            returncode=code,
            stdout=spread.join_reports(["" if r is None else r.stdout for r in results]),
            stderr=f"error: {failed.link.who}: {words}\n{spread.join_reports(stderrs)}",
            elapsed_s=told.elapsed_s,
        )
