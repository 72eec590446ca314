"""Plans that stop when it is decided: rounds, slices, twins, and the time they say they take."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import pytest

from groundspeed import plan as plans
from groundspeed import presets, spec
from groundspeed.analyse.decisions import rule_for
from groundspeed.errors import SpecError

SUITE = """\
suite: s
environments:
  one: {target: embedded, storage: {directory: /a}}
  two: {target: embedded, storage: {directory: /b}}
  three: {target: embedded, storage: {directory: /c}}
clients: [1, 4, 8]
scale: 1
measure: {until: decided, at_most: 2h}
"""


def make(text: str = SUITE, *overrides: str) -> plans.Plan:
    suite = spec.load_suite(text, source="s.yaml", overrides=overrides)
    return plans.make_plan(
        suite, source="s.yaml", rng=Random(suite.seed), groundspeed_version="0", scripts={}
    )


def sequential(plan: plans.Plan) -> plans.Sequential:
    assert plan.sequential is not None
    return plan.sequential


def test_a_round_holds_every_combination_once_with_every_environment() -> None:
    plan = make()
    rounds = defaultdict(list)
    for trial in plan.trials:
        if not trial.twin:
            rounds[trial.repeat_index].append(trial.cell)
    assert sorted(rounds) == list(range(sequential(plan).round_count))
    for cells in rounds.values():
        assert Counter(cells) == Counter(rounds[0])
        assert len(cells) == len(set(cells)) == 3 * 3 * 3


def test_rounds_are_in_another_order_each() -> None:
    plan = make()
    orders = {
        tuple(t.cell for t in plan.trials if t.repeat_index == index and not t.twin)
        for index in range(sequential(plan).round_count)
    }
    assert len(orders) == sequential(plan).round_count


def test_slices_are_short_and_longer_where_they_write() -> None:
    lengths = {(t.cell.workload, t.duration_s) for t in make().trials}
    assert lengths == {("select-only", 1), ("simple-update", 2), ("tpcb-like", 2)}
    assert {t.duration_s for t in make(SUITE, "measure.slice=3s").trials} == {3}
    assert {t.warm_up_s for t in make().trials} == {0.0}
    assert {t.warm_up_s for t in make(SUITE, "measure.warm_up=1s").trials} == {1.0}


@pytest.mark.parametrize("comparisons", [1, 2, 12, 26, 39, 78, 400])
@pytest.mark.parametrize("rounds", [2, 4])
def test_the_first_look_is_that_of_the_rule(comparisons: int, rounds: int) -> None:
    """The plan is on a floor below the rule and says the same by itself."""
    first = plans.first_look(comparisons)
    assert rule_for(comparisons, margin_ratio=0.03, most_pairs=rounds * first).looks[0] == first


def test_the_family_are_the_comparisons_with_the_baseline() -> None:
    assert sequential(make()).family_count == 9 * 2
    assert sequential(make(SUITE, "measure.margin=1%")).margin_ratio == 0.01


@pytest.mark.parametrize(
    "overrides",
    [(), ("clients=[1]",), ("clients=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]",)],
)
def test_twins_of_the_baseline_are_spread_over_cells_and_rounds(overrides: tuple[str]) -> None:
    plan = make(SUITE, *overrides)
    first = sequential(plan).first_look_count
    twins = [t for t in plan.trials if t.twin]
    assert {t.cell.environment for t in twins} == {"one"}
    early = [t for t in twins if t.repeat_index < first]
    by_workload = Counter(t.cell.workload for t in early)
    cells_each = len({(t.cell.clients, t.cell.threads) for t in plan.trials})
    assert set(by_workload.values()) == {min(plans.AA_PAIRS, cells_each * first)}
    by_cell = Counter(t.cell for t in early)
    assert max(by_cell.values()) - min(by_cell.values()) <= 1
    by_round = Counter((t.repeat_index, t.cell.workload) for t in early)
    assert max(by_round.values()) - min(by_round.values()) <= 1 or cells_each == 1


def test_a_twin_stands_in_a_block_with_the_trial_it_is_a_twin_of() -> None:
    plan = make()
    for block in plans.blocks(plan.trials):
        assert len({t.block_index for t in block}) == 1
        for twin in (t for t in block if t.twin):
            (single,) = [t for t in block if t.cell == twin.cell and not t.twin]
            assert twin.trial_id == f"{single.trial_id}-twin"
            assert twin.random_seed == single.random_seed
    assert len({t.trial_id for t in plan.trials}) == len(plan.trials)


def test_twins_take_every_place_in_their_blocks() -> None:
    blocks = [b for b in plans.blocks(make().trials) if any(t.twin for t in b)]
    assert {[t.twin for t in block].index(True) for block in blocks} == {0, 1, 2, 3}


def test_a_time_too_short_to_decide_anything_is_refused_with_the_time_it_takes() -> None:
    with pytest.raises(SpecError) as caught:
        make(SUITE, "measure.at_most=1min")
    first = plans.first_look(18)
    assert caught.value.message.startswith(f"measure.at_most: {first} rounds take ")
    assert caught.value.message.endswith(" min, more than 60 s")
    assert "give at_most more than " in caught.value.hint


def test_what_is_asked_for_in_the_hint_is_enough() -> None:
    """Within the rounding of a message, the time it names is taken."""
    plan = make()
    assert plan.estimate.first_look_s is not None
    enough_s = plan.estimate.first_look_s * 1.05
    made = make(SUITE, f"measure.at_most={enough_s:.0f}s")
    assert made.estimate.wall_s == sequential(made).at_most_s == round(enough_s)


def test_the_estimate_is_bounded_by_the_time_there_is() -> None:
    long, short = make().estimate, make(SUITE, "measure.at_most=15min").estimate
    assert long.first_look_s == short.first_look_s
    assert short.wall_s == 900.0
    assert short.load_s < long.load_s < long.wall_s
    assert make(SUITE.replace("until: decided, at_most: 2h", "")).estimate.first_look_s is None


def test_a_plan_survives_its_file() -> None:
    plan = make()
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


def test_the_large_preset_can_be_decided_early() -> None:
    plan = make(presets.read("matrix-39"), "measure={until: decided, at_most: 90m}")
    assert sequential(plan).first_look_count == 12
    assert plan.estimate.first_look_s is not None
    assert plan.estimate.first_look_s < 5400


def test_what_was_saved_is_told_against_sixty_seconds_and_three_repeats() -> None:
    plan = make()
    tried = [t for t in plan.trials if t.repeat_index < 2]
    told = plans.saved(plan, [*tried, tried[0]])
    assert told is not None
    assert told.tried_count == len(tried)
    assert told.planned_count == len(plan.trials)
    assert told.round_count == 2
    assert told.fixed_load_s == 27 * 180
    assert told.load_s == sum(t.duration_s for t in tried) + tried[0].duration_s
    assert told.ratio == told.load_s / told.fixed_load_s
    # Pairs that all agree decide one of so many: 2**(1 - n) <= 5% / m, and not with one less.
    share = 0.05 / told.family_count
    assert 2.0 ** (1 - told.fewest_repeats) <= share < 2.0 ** (2 - told.fewest_repeats)
    assert told.fewest_load_s == told.fewest_repeats * sum(
        t.duration_s for t in plan.trials if t.repeat_index == 0 and not t.twin
    )
    assert plans.saved(make(SUITE.replace("until: decided, at_most: 2h", "")), tried) is None
