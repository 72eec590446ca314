"""How many minutes it takes until a true difference of 5% or 10% is found, on recorded noise.

    python -m bench.verdict.patience [--comparisons N] [--save]

Simulated runs with everything that a real one has: the rounds and their time as the plan has them,
twins, the noise floor from them, looks, and the default time. Printed is the share that is decided
rightly after 5, 10 and 30 minutes, and when nine of ten are; where 30 minutes do not do, with two
hours. Asked is nine of ten of a comparison that has the run to itself. Seeded.
"""

from __future__ import annotations

import argparse
import math
import sys
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from bench.figures import Figure, conclude, plan_of
from bench.verdict.kept import DATA, provenance, write
from bench.verdict.noise import recorded
from bench.verdict.simulate import key
from groundspeed.analyse import Answer
from groundspeed.analyse.decisions import decide, rule_for
from groundspeed.plan import estimating
from groundspeed.stats.noise_floor import noise_floor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.decisions import Pair

ASKED_RATIO = 0.9
RATIOS = (1.05, 1.1)
AFTER_MINUTES = (5, 10, 30)
AT_MOST_S = 1800
# Where 30 minutes do not do, so long is tried before it is said that nothing does.
PATIENT_S = 2 * 3600
_MINUTE_S = 60
SUITE = """
suite: patience
postgres: {{version: 16}}
environments:
  one: {{target: embedded, storage: {{directory: /var/tmp}}}}
  other: {{target: embedded, storage: {{directory: /var/tmp}}}}
workloads: [{workload}]
clients: [{clients}]
scale: 10
measure: {{until: decided, at_most: {at_most_s}s, probes: "off"}}
"""


class Design(NamedTuple):
    """A plan's rounds: how long one is, how many there may be, how many the time holds."""

    workload: str
    slice_s: int
    family_count: int
    round_s: float
    # A/A pairs in a round, on average.
    twins: float
    set_up_s: float
    capped_count: int

    def rounds_in(self, span_s: float) -> int:
        """Count the rounds that fit into a span, set-up included."""
        return int((span_s - self.set_up_s) / self.round_s)


def design_of(workload: str, family_count: int) -> Design:
    """Take the design from the plan of a suite of so many comparisons."""
    clients = ", ".join(str(2 + n) for n in range(family_count))
    plan = plan_of(SUITE.format(workload=workload, clients=clients, at_most_s=AT_MOST_S))
    asked = plan.sequential
    assert asked is not None  # noqa: S101 - the suite asks for it
    walls_s = [
        estimating.slice_wall_s(
            trial.duration_s,
            clients=trial.cell.clients,
            scale=trial.cell.scale,
            writes=plan.workload(workload).writes,
        )
        for trial in plan.trials
    ]
    return Design(
        workload=workload,
        slice_s=plan.trials[0].duration_s,
        family_count=family_count,
        round_s=sum(walls_s) / asked.round_count,
        twins=sum(trial.twin for trial in plan.trials) / asked.round_count,
        set_up_s=asked.set_up_s,
        capped_count=asked.round_count,
    )


def draw(rng: Random, design: Design, count: int, ratio: float) -> tuple[list[Pair], list[Pair]]:
    """Measure pairs and twins of `count` rounds on one course of a machine.

    Each round is a block of its own stretch of time, and so is each twin's.
    """
    size, twin_count = design.slice_s, int(count * design.twins)
    other_s = max(0, round(design.round_s) - 2 * size)
    rates = recorded(design.workload)(rng, count * (2 * size + other_s))
    spare = recorded(design.workload)(rng, twin_count * 2 * size)
    pairs = [_pair(rng, rates, at, size) for at in range(0, len(rates), 2 * size + other_s)]
    twins = [_pair(rng, spare, at, size) for at in range(0, len(spare), 2 * size)]
    return [(ratio * a, b) for a, b in pairs], twins


def _pair(rng: Random, rates: Sequence[float], begin: int, size: int) -> Pair:
    halves = [fmean(rates[at : at + size]) for at in (begin, begin + size)]
    rng.shuffle(halves)
    return halves[0], halves[1]


def decided_after(
    rng: Random, design: Design, most: int, ratio: float
) -> tuple[int | None, Answer]:
    """Give after how many rounds one comparison is decided, and as what; None if it never is."""
    rule = rule_for(design.family_count, margin_ratio=0.03, most_pairs=most)
    pairs, twins = draw(rng, design, most, ratio)
    for look in rule.looks:
        floor = noise_floor(twins[: int(look * design.twins)])
        floors = {} if floor is None else {key(0).workload: floor}
        (decision,) = decide({key(0): pairs[:look]}, rule, floors)
        if decision.answer is not Answer.UNDECIDED:
            return look, decision.answer
    return None, Answer.UNDECIDED


def spans_s(design: Design, most: int, ratio: float, count: int) -> tuple[list[float], int]:
    """Give the time of each right answer (endless where there is none), and count wrong ones."""
    rng = Random(f"patience {design} {most} {ratio}")  # noqa: S311 - a simulation, no secret
    found: list[float] = []
    wrong_count = 0
    for number in range(count):
        # Faster and slower in turn.
        true_ratio, right = (ratio, Answer.FASTER) if number % 2 else (1 / ratio, Answer.SLOWER)
        rounds, answer = decided_after(rng, design, most, true_ratio)
        is_right = rounds is not None and answer is right
        wrong_count += rounds is not None and not is_right
        found.append(design.set_up_s + (rounds or 0) * design.round_s if is_right else math.inf)
    return found, wrong_count


def nine_of_ten(spans: Sequence[float]) -> str:
    """Say after how many minutes nine of ten are decided rightly."""
    span_s = sorted(spans)[math.ceil(ASKED_RATIO * len(spans)) - 1]
    return f"{span_s / _MINUTE_S:.0f} min" if math.isfinite(span_s) else "never"


def figures(design: Design, ratio: float, count: int) -> list[Figure]:
    """Word how a comparison fares in the default time, and with a lot of it where that fails."""
    what = f"{design.workload}, ratio {ratio} or 1/{ratio}, one of {design.family_count}"
    most = min(design.capped_count, design.rounds_in(AT_MOST_S))
    spans, wrong_count = spans_s(design, most, ratio, count)
    shares = [sum(s <= m * _MINUTE_S for s in spans) / count for m in AFTER_MINUTES]
    must = design.family_count == 1
    found = Figure(
        name=f"{what}, {most} rounds in {most * design.round_s / _MINUTE_S:.0f} min",
        asked=f">= {ASKED_RATIO:.0%} right" if must else "-",
        measured=f"{shares[-1]:.0%} right",
        error=", ".join(
            f"{m} min {share:.0%}" for m, share in zip(AFTER_MINUTES, shares, strict=True)
        )
        + f"; wrong {wrong_count / count:.1%}; nine of ten: {nine_of_ten(spans)}",
        met=shares[-1] >= ASKED_RATIO if must else None,
    )
    return [found] if shares[-1] >= ASKED_RATIO else [found, _patient(what, design, ratio, count)]


def _patient(what: str, design: Design, ratio: float, count: int) -> Figure:
    spans, _ = spans_s(design, design.rounds_in(PATIENT_S), ratio, max(count // 10, 10))
    found = sum(map(math.isfinite, spans)) / len(spans)
    return Figure(
        name=f"{what}, {PATIENT_S / _MINUTE_S:.0f} min",
        measured=f"{found:.0%} right",
        error=f"{len(spans)} comparisons; nine of ten: {nine_of_ten(spans)}",
    )


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.patience", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=100, metavar="N")
    parser.add_argument("--save", action="store_true", help="keep as data")
    asked = parser.parse_args()
    found = [
        figure
        for workload in ("select-only", "simple-update")
        for family_count in (1, 8)
        for ratio in RATIOS
        for figure in figures(design_of(workload, family_count), ratio, asked.comparisons)
    ]
    if asked.save:
        rows = [{"name": f.name, "measured": f.measured, "error": f.error} for f in found]
        command = ("bench.verdict.patience", *sys.argv[1:])
        write(DATA / "verdict-patience.json", {**provenance(command), "figures": rows})
    return conclude(found)


if __name__ == "__main__":
    sys.exit(main())
