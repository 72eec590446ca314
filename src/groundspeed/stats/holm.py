"""How sure one comparison must be where many are made: Holm's steps, for answers with a direction.

Pure: no input, no output, no wording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def step_level(error_ratio: float, family_count: int, different_count: int) -> float:
    """Give the two-sided level of one step, after `different_count` were found to differ.

    Each comparison stands for two hypotheses, "not more" and "not less", each tested at half the
    level. Both are true where nothing differs, one where something does. So after r comparisons
    differ, at most 2 m - r hypotheses can still be true, and each may err with `error_ratio` over
    that number; one comparison alone has no more than all of it. This is slower than Holm's plain
    steps (m - r), which bound the error of "differs" but not that of the direction, nor that of
    "equivalent".

    Sources: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979); Shaffer, Modified sequentially rejective multiple test procedures, Journal
    of the American Statistical Association 81 (1986), for counting what can still be true.
    """
    return min(2 * error_ratio / (2 * family_count - different_count), error_ratio)


def reached_level(p_values: Sequence[float], family_count: int, error_ratio: float) -> float:
    """Take Holm's steps as far as they go and give the two-sided level that stands at their end.

    `p_values`: two-sided, of no difference, one for each comparison so far, whatever they have to
    do with each other; valid at any time if they are. `family_count` is how many there are or will
    be, at least as many. Whatever is tested at the level that is returned, in either direction
    and against any ratio, the chance of one wrong answer or more is at most `error_ratio`: see
    docs/statistics.md. Raises ValueError where the family is smaller than its p-values.
    """
    if family_count < max(len(p_values), 1):
        raise ValueError(f"{len(p_values)} comparisons in a family of {family_count}")
    different = -1
    found = 0
    level = 0.0
    # Rejecting raises the level, which can only reject more: it ends after m steps at the latest.
    while found > different:
        different = found
        level = step_level(error_ratio, family_count, different)
        found = sum(p_value <= level for p_value in p_values)
    return level
