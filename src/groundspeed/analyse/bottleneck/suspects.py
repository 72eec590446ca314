"""What each rule comes to, which suspect explains which, and how the one is chosen.

The table `EXPLAINS` is the whole of the precedence: docs/evidence.md gives it with its reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.diagnosis import Bottleneck, Clue, Confidence

if TYPE_CHECKING:
    from collections.abc import Sequence

# Below it more than half of the clients' time has nothing to do with a suspect: it is no bottleneck
# but one of several things that take time. Above this share, and nothing else above it, throughput
# could about double without it.
NAMED_SCORE = 0.5
# A suspect that leads by far is named with less, as a guess.
GUESSED_SCORE = 0.35
_LEAD = 1.5
# From here on it is worth telling beside the first.
OTHER_SCORE = 0.2
_SURE_SCORE = 0.65
# Two seconds at ten a second: fewer cannot tell a share of 50% from one of 30%.
_FEW_SAMPLES = 20


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """What may have held a trial back.

    `score` in 0..1 is the share of the clients' time that would not be spent without it. `clues`
    are the most telling first. `doubtful`: something that would prove it was not seen. `counted`:
    counters show it too, and not samples of waits alone.
    """

    bottleneck: Bottleneck
    score: float
    clues: tuple[Clue, ...]
    remedy: str
    doubtful: bool = False
    counted: bool = False


B = Bottleneck
# The left one makes the right ones: where it holds, they are its symptoms and never come first.
EXPLAINS: dict[Bottleneck, frozenset[Bottleneck]] = {
    # Who is stopped while holding a lock, a log or a connection stops all who wait for it.
    B.CPU_STARVED: frozenset(
        {
            *(B.CPU, B.LOCK, B.WAL_SYNC, B.CLIENT, B.NETWORK, B.CONNECTION, B.MEMORY),
            *(B.SINGLE_THREAD, B.FSYNC_STALL),
        }
    ),
    # A new session burns processors on both sides and goes over the network several times.
    B.CONNECTION: frozenset({B.CPU, B.CLIENT, B.NETWORK, B.SINGLE_THREAD}),
    # Its pages are what fills the device.
    B.CHECKPOINT: frozenset({B.WRITE_BANDWIDTH, B.IOPS_CAPPED, B.WAL_SYNC, B.LOCK}),
    # Requests that wait for their turn make every read and every sync long.
    B.IOPS_CAPPED: frozenset({B.WAL_SYNC, B.READ_IO, B.LOCK, B.MEMORY, B.FSYNC_STALL}),
    B.WRITE_BANDWIDTH: frozenset({B.WAL_SYNC, B.READ_IO, B.LOCK, B.MEMORY, B.FSYNC_STALL}),
    # The child's pages fill the device, its work a core, and what it holds has to be copied.
    B.FORK: frozenset(
        {B.WRITE_BANDWIDTH, B.IOPS_CAPPED, B.FSYNC_STALL, B.SINGLE_THREAD, B.CPU, B.MEMORY}
    ),
    # Finding a buffer, emptying it and copying a block into it is work.
    B.MEMORY: frozenset({B.CPU}),
}


class Choice(NamedTuple):
    """The suspect that is named, None where there is none; and those that came next."""

    named: Suspect | None
    confidence: Confidence
    others: tuple[Suspect, ...]


def choose(suspects: Sequence[Suspect], *, sample_count: int) -> Choice:
    """Choose what to name; `sample_count` is how often waits were looked at."""
    ranked = sorted(suspects, key=lambda suspect: -suspect.score)
    strong = [s for s in ranked if s.score >= NAMED_SCORE]
    explained = {b for s in strong for b in EXPLAINS.get(s.bottleneck, frozenset())}
    # A suspect that is both explained and explaining (no such ring is in the table) would go.
    free = [s for s in ranked if s.bottleneck not in explained]
    named = _first(free)
    rest = [s for s in ranked if s is not named and s.score >= OTHER_SCORE]
    if named is None:
        return Choice(None, Confidence.WEAK, tuple(rest))
    rival = max((s.score for s in free if s is not named), default=0.0)
    return Choice(named, _confidence(named, rival, sample_count), tuple(rest))


def _first(free: Sequence[Suspect]) -> Suspect | None:
    if not free:
        return None
    first, *others = free
    if first.score >= NAMED_SCORE:
        return first
    rival = others[0].score if others else 0.0
    leads = first.score >= GUESSED_SCORE and first.score >= _LEAD * rival
    return first if leads else None


def _confidence(named: Suspect, rival: float, sample_count: int) -> Confidence:
    steps = [Confidence.SURE, Confidence.LIKELY, Confidence.WEAK]
    step = 0 if named.score >= _SURE_SCORE and rival < named.score / 2 else 1
    if named.score < NAMED_SCORE:
        step = 2
    few = sample_count < _FEW_SAMPLES and not named.counted
    step += named.doubtful + (few or not sample_count)
    return steps[min(step, 2)]
