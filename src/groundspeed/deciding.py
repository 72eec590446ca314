"""Which trials of a plan still want to be measured, as far as its records decide that.

A pure function of plan and records: a run that goes on after a crash, a list of runs and a report
come to the same answer, and no file says what was left out. How a comparison is decided is in
`analyse.decisions`; nothing is run here. See docs/sequential.md.
"""

from __future__ import annotations

import functools
import itertools
import math
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.capacity.searching import next_slices, open_environments, without
from groundspeed.analyse.decisions import ComparisonKey, Decision, decide, rule_for
from groundspeed.analyse.findings import Answer
from groundspeed.analyse.pairs import (
    halves_by_cell,
    key_of,
    measured_trials,
    noise_floors,
    usable,
)
from groundspeed.plan import Cell
from groundspeed.record import Failed, Skipped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from groundspeed.analyse.decisions import Pair, Rule
    from groundspeed.analyse.pairs import RunTrial
    from groundspeed.plan import CapacitySearch, Plan, Sequential, Trial
    from groundspeed.record import Record

_NONE: frozenset[str] = frozenset()
_PATIENCE_RATIO = 1.2
# Bringing back the dataset of a slow emulated device took up to 110 s.
_LONGEST_REST_S = 120.0


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided after some rounds. `opened` are the comparisons that go on.

    `given_up` counts those of environments without any measurement: they are in neither.
    """

    round_count: int
    decisions: tuple[Decision, ...]
    opened: frozenset[ComparisonKey]
    given_up_count: int

    @property
    def comparison_count(self) -> int:
        """All comparisons that can be decided at all."""
        return len(self.decisions)

    @property
    def decided_count(self) -> int:
        """Those that are."""
        return len(self.decisions) - len(self.opened)


def rule_of(plan: Plan) -> Rule:
    """Give the rule by which a plan that stops early decides. Raises ValueError for another."""
    asked = _sequential(plan)
    return rule_for(
        asked.family_count, margin_ratio=asked.margin_ratio, most_pairs=asked.round_count
    )


def remaining(
    plan: Plan, records: Sequence[Record], given_up: Collection[str] = _NONE
) -> tuple[Trial, ...]:
    """Trials that still want a measurement, in order; those until the next look where one looks.

    A trial is done when it has a record that is no retryable failure; of a search, when it has any.
    `given_up` are ids of trials that are not tried again now although they have none.
    """
    done = {
        record.trial.trial_id
        for record in records
        if not (isinstance(record.outcome, Failed) and record.outcome.retryable)
    }
    over = done.union(given_up)
    if plan.stopping is None:
        return tuple(trial for trial in plan.trials if trial.trial_id not in over)
    if time_is_over(plan, records):
        return ()
    if plan.search is not None:
        return without(next_slices(plan, records), given_up)
    for wanted in _stages(plan, records):
        if todo := tuple(trial for trial in wanted if trial.trial_id not in over):
            return todo
    return ()


def environments_wanted(plan: Plan, records: Sequence[Record]) -> frozenset[str]:
    """Name the environments that a run needs from here on, of later looks among them."""
    todo = remaining(plan, records)
    wanted = frozenset(trial.cell.environment for trial in todo)
    if todo and plan.search is not None:
        return wanted | open_environments(plan, records)
    if not todo or plan.sequential is None:
        return wanted
    start = max((e for e in (0, *rule_of(plan).looks) if e <= todo[0].repeat_index), default=0)
    if start == 0:
        return frozenset(trial.cell.environment for trial in plan.trials)
    opened = standing(plan, records, start).opened
    return wanted | {name for key in opened for name in (key.environment, key.baseline)}


def standing(plan: Plan, records: Sequence[Record], round_count: int) -> Standing:
    """Say what is decided by the records of the first rounds; what once was stays so.

    Comparisons look when they have as many pairs as the rule says: one that lost a pair to a
    failure looks later than the others. The baseline is the first environment with a measurement,
    as in reports.
    """
    rule = rule_of(plan)
    kept: dict[ComparisonKey, Decision] = {}
    for look in (*(look for look in rule.looks if look < round_count), round_count):
        trials = measured_trials(r for r in records if r.trial.repeat_index < look)
        for decision in decide(_pairs(plan, trials), rule, noise_floors(trials)):
            earlier = kept.get(decision.key)
            if earlier is None or earlier.answer is Answer.UNDECIDED:
                kept[decision.key] = decision
    return Standing(
        round_count=round_count,
        decisions=tuple(kept.values()),
        opened=frozenset(k for k, d in kept.items() if d.answer is Answer.UNDECIDED),
        given_up_count=_sequential(plan).family_count - len(kept),
    )


def _pairs(plan: Plan, trials: Sequence[RunTrial]) -> dict[ComparisonKey, tuple[Pair, ...]]:
    measured = {trial.record.trial.cell.environment for trial in trials}
    baseline = next((e.name for e in plan.environments if e.name in measured), "")
    found = {
        key_of(cell, baseline): usable((a.outcome.tps_per_s, b.outcome.tps_per_s) for a, b in pair)
        for cell, pair in halves_by_cell(trials, baseline).items()
    }
    return {key: pairs for key, pairs in found.items() if pairs}


def time_is_over(plan: Plan, records: Sequence[Record]) -> bool:
    """Say whether a plan that stops early has used up its time.

    Until the first look it may take a fifth longer: where trials take longer than the plan took
    them to, a run would otherwise end with nothing decided at all.
    """
    asked = _stopping(plan)
    begun = max((record.trial.repeat_index for record in records), default=-1) + 1
    waits = plan.sequential is not None and begun <= asked.first_look_count
    patience_ratio = _PATIENCE_RATIO if waits else 1.0
    return spent_s(plan, records) >= patience_ratio * asked.at_most_s


def spent_s(plan: Plan, records: Sequence[Record]) -> float:
    """Add up the time of a run as far as plan and records know it; see `plan.Sequential`.

    What lies between two trials counts as it was by their clock, where a dataset was brought back
    or a device written to the end; but no longer than that takes, as a run may be interrupted.
    """
    asked = _stopping(plan)
    tried = [record for record in records if not isinstance(record.outcome, Skipped)]
    rests_s = sum(
        min(max(_gap_s(one, other), asked.between_s), _LONGEST_REST_S)
        for one, other in itertools.pairwise(tried)
    )
    last_s = asked.between_s if tried else 0.0
    return asked.set_up_s + sum(record.elapsed_s for record in tried) + rests_s + last_s


def _taken_s(record: Record, asked: Sequential | CapacitySearch) -> float:
    return 0.0 if isinstance(record.outcome, Skipped) else record.elapsed_s + asked.between_s


def _gap_s(one: Record, other: Record) -> float:
    """Seconds from a trial's end to the next one's start; below 0 where a clock jumped."""
    return _wall_s(other.started_at) - _wall_s(one.started_at) - one.elapsed_s


# Asked for again before each block, of every record so far.
@functools.lru_cache(maxsize=1 << 16)
def _wall_s(started_at: str) -> float:
    return datetime.fromisoformat(started_at).timestamp()


def _stopping(plan: Plan) -> Sequential | CapacitySearch:
    if plan.stopping is None:
        raise ValueError("only a plan that stops by itself has an end of time")
    return plan.stopping


def _sequential(plan: Plan) -> Sequential:
    if plan.sequential is None:
        raise ValueError("only a plan that stops when it is decided has rounds")
    return plan.sequential


def _stages(plan: Plan, records: Sequence[Record]) -> Iterator[tuple[Trial, ...]]:
    """Give the trials wanted from each look to the next, measured ones among them."""
    looks = rule_of(plan).looks
    # Of an environment that is not to be had, one record for each cell says why.
    skipped = {r.trial.cell for r in records if isinstance(r.outcome, Skipped)}
    for start, end in zip((0, *looks), looks, strict=False):
        trials = [t for t in plan.trials if start <= t.repeat_index < end and t.cell not in skipped]
        if start == 0:
            yield tuple(trials)
            continue
        cells = _cells_in_time(plan, records, standing(plan, records, start), end)
        yield tuple(t for t in trials if t.cell in cells)


def _cells_in_time(
    plan: Plan, records: Sequence[Record], at_look: Standing, end: int
) -> frozenset[Cell]:
    """Choose what is measured on until the next look, at round `end`.

    All cells of comparisons that are open, with those of their baseline. Where the time that is
    left does not reach to the next look for all of them, those go first that are nearest to an
    answer: a round more or less decides nothing. Choosing by what was seen breaks no error rate,
    as every comparison keeps its own at any time.
    """
    start = at_look.round_count
    earlier = [r for r in records if r.trial.repeat_index < start]
    left_s = _sequential(plan).at_most_s - spent_s(plan, earlier)
    price_s = _mean_s(plan, earlier)
    chosen: set[Cell] = set()
    for block in sorted(_open_blocks(at_look), key=_nearness):
        cells = {side for decision in block for side in _sides(decision)}
        cost_s = (end - start) * sum(price_s.get(cell, 0.0) for cell in cells)
        if cost_s <= left_s:
            chosen |= cells
            left_s -= cost_s
    return frozenset(chosen)


def _open_blocks(at_look: Standing) -> tuple[list[Decision], ...]:
    blocks: dict[tuple[str, int, int, int], list[Decision]] = {}
    for decision in at_look.decisions:
        if decision.key in at_look.opened:
            place = (decision.workload, decision.clients, decision.threads, decision.scale)
            blocks.setdefault(place, []).append(decision)
    return tuple(blocks.values())


def _nearness(block: Sequence[Decision]) -> float:
    """How many pairs the nearest comparison of a block is said to lack."""
    lacking = (d.more_pairs_count for d in block)
    return min(math.inf if count is None else float(count) for count in lacking)


def _sides(decision: Decision) -> tuple[Cell, Cell]:
    def side(environment: str) -> Cell:
        return Cell(
            environment=environment,
            workload=decision.workload,
            clients=decision.clients,
            threads=decision.threads,
            scale=decision.scale,
        )

    return side(decision.environment), side(decision.baseline)


def _mean_s(plan: Plan, records: Sequence[Record]) -> Mapping[Cell, float]:
    """Average what a round takes of each cell, twins included."""
    asked = _sequential(plan)
    sums: dict[Cell, float] = {}
    rounds: dict[Cell, set[int]] = {}
    for record in records:
        cell = record.trial.cell
        sums[cell] = sums.get(cell, 0.0) + _taken_s(record, asked)
        rounds.setdefault(cell, set()).add(record.trial.repeat_index)
    return {cell: total / len(rounds[cell]) for cell, total in sums.items()}
