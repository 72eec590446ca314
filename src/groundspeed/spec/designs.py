"""The designs of a run, and which keys of `measure` each takes: what it would ignore is refused.

A fixed design, one that stops when it is decided, and one that searches for the highest rate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from groundspeed.spec.quantities import PositiveDuration

if TYPE_CHECKING:
    from groundspeed.spec.models import Measure, Suite

DECIDED, CAPACITY = "decided", "capacity"
Until = Literal["decided", "capacity"]
# Servers stay warm between slices, and the connections of the measured load are new in any case.
SLICE_WARM_UP = "0s"
# A slice at a rate 5% too high is late by a twentieth of its length when it ends, which a bound
# that is longer would not see.
SLICE_OVER_BOUND = 20
# So that a hundredth of the transactions are more than one or two.
CAPACITY_SLICE_S = 5.0
# Keys, and the designs that take them; None is the fixed one.
_BELONG = {
    "duration": (None,),
    "repeats": (None,),
    "margin": (DECIDED,),
    "slice": (DECIDED, CAPACITY),
    "at_most": (DECIDED, CAPACITY),
    "bound": (CAPACITY,),
    "within": (CAPACITY,),
}
_INSTEAD = {"duration": "slice", "repeats": "at_most"}


class Bound(BaseModel):
    """What latency a rate has to hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    p99: PositiveDuration = Field(
        description="At most one transaction in a hundred takes longer, counted from the moment it"
        " was due."
    )

    @model_validator(mode="before")
    @classmethod
    def _names_its_percentile(cls, data: object) -> object:
        if not isinstance(data, dict):
            msg = "does not say of which percentile it is: write it as in {p99: 10ms}"
            raise ValueError(msg)  # noqa: TRY004 - pydantic takes a ValueError for a complaint
        return data


def of_one_design(data: dict[str, Any]) -> dict[str, Any]:
    """Refuse keys of `measure` that belong to another design; give slices their warm-up.

    Raises ValueError as pydantic takes it: what, a colon, what to write instead.
    """
    until = data.get("until")
    if until not in (None, DECIDED, CAPACITY):
        # It is complained of by itself.
        return data
    for key, designs in _BELONG.items():
        if key in data and until not in designs:
            raise ValueError(_misplaced(key, until, designs))
    if until == CAPACITY and data.get("bound") is None:
        msg = "needs a bound with until capacity: write bound: {p99: 10ms}"
        raise ValueError(msg)
    return data if until is None else {"warm_up": SLICE_WARM_UP, **data}


def _misplaced(key: str, until: str | None, designs: tuple[str | None, ...]) -> str:
    if designs == (None,):
        return f"takes no {key} with until: {_INSTEAD[key]} bounds it, leave {key} out"
    if until is None:
        asked = f"until: {designs[0]}"
        return f"takes {key} only with until: write {asked}, or leave {key} out"
    return f"takes {key} only with until {designs[0]}: leave it out"


def capacity_slice_s(measure: Measure) -> float:
    """Say how long a slice of a search is; long enough for its bound where it is auto.

    `measure` has a bound.
    """
    if measure.slice != "auto":
        return measure.slice
    return max(CAPACITY_SLICE_S, float(math.ceil(_least_slice_s(measure))))


def _least_slice_s(measure: Measure) -> float:
    return 0.0 if measure.bound is None else SLICE_OVER_BOUND * measure.bound.p99


def check_design(suite: Suite) -> None:
    """Refuse a design that the rest of a suite does not allow. Raises ValueError as above."""
    until = suite.measure.until
    if until == DECIDED and len(suite.environments) < 2:  # noqa: PLR2004 - a pair
        msg = "needs two environments to decide between: name another one"
        raise ValueError(msg)
    if until is not None:
        _refuse_restarts(suite)
    if until != CAPACITY:
        return
    least_s = _least_slice_s(suite.measure)
    if suite.engine != "postgres":
        msg = "takes until capacity only with engine postgres: its load tool takes a rate"
    elif suite.pgbench.rate is not None:
        msg = "takes no pgbench.rate with until capacity: the rate is what is searched"
    elif suite.pgbench.latency_limit is not None:
        msg = "takes no pgbench.latency_limit with until capacity: late transactions have to count"
    elif capacity_slice_s(suite.measure) < least_s - 1e-9:
        msg = (
            f"has a slice too short for its bound: an overload of 5% takes {least_s:g}s to be as"
            f" late as that, give measure.slice {math.ceil(least_s)}s or more"
        )
    else:
        return
    raise ValueError(msg)


def _refuse_restarts(suite: Suite) -> None:
    """Refuse servers that are started for each trial where trials are slices of seconds."""
    for name, asked in suite.environments.items():
        if getattr(asked, "one_at_a_time", False):
            msg = (
                f"takes one_at_a_time only without measure.until, see {name!r}: a slice is shorter"
                " than a start of its pod"
            )
            raise ValueError(msg)
