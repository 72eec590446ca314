"""Which comparisons are decided, and as what: the answers of a whole family, at any time.

It knows pairs of numbers alone: not how they were measured, nor in which run. The same rule answers
while a run is under way, which may then leave out what is decided, and afterwards from its records.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.findings import Answer
from groundspeed.stats.holm import reached_level, step_level
from groundspeed.stats.paired_ratio import paired_ratio
from groundspeed.stats.sequential import (
    Rule,
    always_valid_interval,
    always_valid_tails,
    least_pairs,
    one_look,
    pairs_to_tell,
    rule_for,
    scatter_of,
)
from groundspeed.stats.signed_rank import log_ratios

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "MARGIN_RATIO",
    "ComparisonKey",
    "Decision",
    "Rule",
    "decide",
    "decide_once",
    "rule_for",
]

Pair = tuple[float, float]
# Within it two environments are equivalent, unless the suite says otherwise.
MARGIN_RATIO = 0.03
CONTRADICTION = "the looks contradict each other: the ratio changed meanwhile"
# What would take more than ten times the time spent is no plan.
_MOST_MORE_RATIO = 10


class ComparisonKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared: an environment with the baseline, in cells alike in all else."""

    workload: str
    clients: int
    threads: int
    scale: int
    baseline: str
    environment: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one comparison.

    `ratio` is the environment's TPS over the baseline's from all pairs so far, NaN without one.
    `low` and `high` hold at every look at once, with 1 - error_ratio for this comparison by itself;
    None before the first look that can give them. `p_value` is two-sided, that of no difference,
    valid at any time, before the number of comparisons is allowed for; `answer` allows for it.
    `more_pairs_count` is how many more pairs would tell if the scatter stays as it is, None where
    decided, unknown, or more than ten times those there are. `why` says in a few words why it is
    not decided.
    """

    workload: str
    clients: int
    threads: int
    scale: int
    baseline: str
    environment: str
    answer: Answer
    ratio: float
    low: float | None
    high: float | None
    pair_count: int
    p_value: float
    more_pairs_count: int | None
    why: str

    @property
    def key(self) -> ComparisonKey:
        """What was compared."""
        return ComparisonKey(
            workload=self.workload,
            clients=self.clients,
            threads=self.threads,
            scale=self.scale,
            baseline=self.baseline,
            environment=self.environment,
        )


def decide(
    pairs: Mapping[ComparisonKey, Sequence[Pair]],
    rule: Rule,
    floors: Mapping[str, float] | None = None,
) -> tuple[Decision, ...]:
    """Answer every comparison from its pairs so far, in the order given.

    Pairs are (environment, baseline) in the order of measurement, finite and above 0. `floors` maps
    a workload to its noise floor, as a ratio less 1: 0.01 allows no verdict within 1/1.01 to 1.01.
    Raises ValueError for more comparisons than the rule's family has.
    """
    return _answers(pairs, dict.fromkeys(pairs, rule), rule, floors or {})


def decide_once(
    pairs: Mapping[ComparisonKey, Sequence[Pair]],
    *,
    margin_ratio: float = MARGIN_RATIO,
    error_ratio: float = 1 - CONFIDENCE_RATIO,
    floors: Mapping[str, float] | None = None,
) -> tuple[Decision, ...]:
    """Answer the comparisons of a fixed design: one look, when all is measured.

    The family are the comparisons with enough pairs to be decided if they stood alone: how many
    pairs were planned says nothing of how they came out. Else as `decide`.
    """
    able = sum(len(values) >= least_pairs(error_ratio) for values in pairs.values())

    def rule(pair_count: int) -> Rule:
        return one_look(
            pair_count, max(able, 1), margin_ratio=margin_ratio, error_ratio=error_ratio
        )

    rules = {key: rule(len(values)) for key, values in pairs.items()}
    return _answers(pairs, rules, rule(0), floors or {})


class _Tested(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of one comparison, with the bounds they are tested against, as logarithms."""

    key: ComparisonKey
    pairs: tuple[Pair, ...]
    logs: tuple[float, ...]
    rule: Rule
    floor: float
    # Two-sided p-value of no difference, valid at any time.
    p_value: float

    @property
    def centre(self) -> float:
        """The log ratio that is the estimate; NaN without a pair."""
        return math.log(paired_ratio(self.pairs).ratio) if self.pairs else math.nan

    @property
    def margin(self) -> float:
        return math.log1p(self.rule.margin_ratio)

    def above(self, bound: float) -> float:
        """Say how surely the log ratio is above a bound: a two-sided p-value."""
        return 2 * always_valid_tails(self.logs, self.rule, bound).above

    def below(self, bound: float) -> float:
        """Say how surely it is below one."""
        return 2 * always_valid_tails(self.logs, self.rule, bound).below


def _answers(
    pairs: Mapping[ComparisonKey, Sequence[Pair]],
    rules: Mapping[ComparisonKey, Rule],
    family: Rule,
    floors: Mapping[str, float],
) -> tuple[Decision, ...]:
    tested = [
        _tested(key, tuple(values), rules[key], math.log1p(floors.get(key.workload, 0.0)))
        for key, values in pairs.items()
    ]
    fewest = least_pairs(family.error_ratio)
    able = [t.p_value for t in tested if len(t.logs) >= fewest]
    level = reached_level(able, family.family_count, family.error_ratio)
    # Of a fixed design with more pairs, all comparisons would be in the family.
    different = sum(p_value <= level for p_value in able)
    all_count = max(family.family_count, len(tested))
    ahead = step_level(family.error_ratio, all_count, different)
    # Those outside of the family get no answer, however far the steps of the others go.
    return tuple(_decision(t, level if len(t.logs) >= fewest else 0.0, ahead) for t in tested)


def _tested(key: ComparisonKey, pairs: tuple[Pair, ...], rule: Rule, floor: float) -> _Tested:
    logs = log_ratios(pairs)
    return _Tested(
        key=key,
        pairs=pairs,
        logs=logs,
        rule=rule,
        floor=floor,
        p_value=always_valid_tails(logs, rule).two_sided,
    )


def _decision(tested: _Tested, level: float, ahead: float) -> Decision:
    answer, why = _answer(tested, level)
    low, high = always_valid_interval(tested.pairs, tested.rule, tested.rule.error_ratio)
    return Decision(
        workload=tested.key.workload,
        clients=tested.key.clients,
        threads=tested.key.threads,
        scale=tested.key.scale,
        baseline=tested.key.baseline,
        environment=tested.key.environment,
        answer=answer,
        ratio=math.exp(tested.centre),
        low=low,
        high=high,
        pair_count=len(tested.pairs),
        p_value=tested.p_value,
        more_pairs_count=_more_pairs(tested, ahead) if answer is Answer.UNDECIDED else None,
        why=why,
    )


def _answer(tested: _Tested, level: float) -> tuple[Answer, str]:
    """Answer one comparison at the two-sided level that its family leaves it.

    Equivalent goes first: a difference that is sure and smaller than the margin is none to anybody.
    A difference is tested against none, and its size against the floor. To ask that its whole
    interval is clear of the floor would count the noise twice: the floor is the far end of an
    interval itself, and takes four times the pairs.
    """
    floor, margin = tested.floor, tested.margin
    above, below = tested.above(0.0) <= level, tested.below(0.0) <= level
    if above and below:
        return Answer.UNDECIDED, CONTRADICTION
    if floor <= margin and tested.above(-margin) <= level and tested.below(margin) <= level:
        return Answer.EQUIVALENT, ""
    if above and tested.centre >= floor:
        return Answer.FASTER, ""
    if below and tested.centre <= -floor:
        return Answer.SLOWER, ""
    return Answer.UNDECIDED, _why(tested, level)


def _why(tested: _Tested, level: float) -> str:
    rule = tested.rule
    too_few = _too_few(tested, level)
    if too_few:
        return too_few
    if tested.p_value <= level:
        return f"the difference is below the noise floor of {math.expm1(tested.floor):.1%}"
    if tested.p_value <= rule.error_ratio:
        return f"sure by itself, but not as one of {rule.family_count} comparisons"
    if tested.floor > tested.margin:
        return f"the noise floor of {math.expm1(tested.floor):.1%} is above the margin"
    return "the interval includes 1"


def _too_few(tested: _Tested, level: float) -> str:
    """Say how many pairs it takes before any could decide; nothing where there are as many."""
    rule, count = tested.rule, len(tested.pairs)
    alone = least_pairs(rule.error_ratio)
    needed = max(rule.looks[0], alone)
    if count >= needed:
        needed = least_pairs(level * max(rule.shares))
    if count >= needed:
        return ""
    pairs = "1 pair" if count == 1 else f"{count} pairs"
    if needed == alone:
        return f"{pairs}, {needed} are needed for a {1 - rule.error_ratio:.0%} interval"
    family = rule.family_count
    what = f"to decide one of {family} comparisons" if family > 1 else "for a first look"
    return f"{pairs}, {needed} are needed {what}"


def _more_pairs(tested: _Tested, level: float) -> int | None:
    """Foretell how many more pairs would tell, whether of a difference or of equivalence."""
    count, scatter = len(tested.pairs), scatter_of(tested.logs)
    if scatter is None:
        return None
    centre = tested.centre
    # Below the floor no number of pairs tells of a difference, as long as that stays what it is.
    distances = [abs(centre)] if abs(centre) >= tested.floor else []
    if tested.floor <= tested.margin:
        distances.append(tested.margin - abs(centre))
    found = [
        pairs_to_tell(distance, scatter, tested.rule, level, seen_count=count)
        for distance in distances
    ]
    more = min((total - count for total in found if total is not None), default=None)
    return None if more is None or more > _MOST_MORE_RATIO * count else more
