from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.stats.holm import reached_level, step_level

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_the_first_step_is_that_of_bonferroni() -> None:
    assert step_level(0.05, 78, 0) == pytest.approx(0.05 / 78)


def test_what_differs_still_has_a_direction_to_be_wrong_in() -> None:
    assert step_level(0.05, 10, 10) == pytest.approx(0.05 / 5)


@pytest.mark.parametrize(
    ("values", "level"),
    [
        ([0.05], 0.05),
        ([0.06], 0.05),
        ([0.03, 0.03], 0.025),
        ([0.02, 0.03], 0.1 / 2),
        # The second one is within reach only after the first.
        ([0.025, 0.033, 1.0], 0.1 / 6),
        ([0.016, 0.0199, 1.0], 0.1 / 4),
    ],
)
def test_steps_go_on_as_long_as_something_is_found(values: list[float], level: float) -> None:
    assert reached_level(values, len(values), 0.05) == pytest.approx(level)


def test_comparisons_without_a_p_value_count_in_the_family() -> None:
    assert reached_level([0.04], 10, 0.05) == pytest.approx(0.005)
    assert reached_level([], 10, 0.05) == pytest.approx(0.005)


@given(p_values)
def test_the_order_does_not_matter_and_the_level_is_between_bonferroni_and_twice_that(
    values: list[float],
) -> None:
    level = reached_level(values, len(values), 0.05)

    assert level == reached_level(sorted(values), len(values), 0.05)
    assert 0.05 / len(values) <= level <= 2 * 0.05 / len(values)


@given(p_values, st.integers(0, 11), st.floats(0, 1))
def test_more_evidence_never_lowers_the_level(values: list[float], at: int, less: float) -> None:
    surer = [p * less if i == at else p for i, p in enumerate(values)]

    assert reached_level(surer, len(values), 0.05) >= reached_level(values, len(values), 0.05)


def test_a_family_smaller_than_its_members_is_refused() -> None:
    with pytest.raises(ValueError, match="2 comparisons in a family of 1"):
        reached_level([0.1, 0.2], 1, 0.05)
