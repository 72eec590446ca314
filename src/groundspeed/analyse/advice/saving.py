"""What it saved to stop when it was decided, in one sentence that says what it is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.advice.wording import counted
from groundspeed.analyse.confidence import TRIALS_NEEDED
from groundspeed.analyse.findings import Answer
from groundspeed.analyse.guards.wording import span_text

if TYPE_CHECKING:
    from groundspeed.analyse.findings import Findings
    from groundspeed.plan import Saved


def saving_sentence(findings: Findings) -> str:
    """Say what was decided by how much load, and what two fixed designs would have taken.

    One of them is what is usual; the other one the shortest that can decide as much, which nobody
    knows beforehand to be enough. Empty where a run does not stop by itself.
    """
    saved = findings.saved
    if saved is None or not saved.tried_count:
        return ""
    return f"{_spent(findings, saved)} {_usual(saved)} {_shortest(findings, saved)}"


def _spent(findings: Findings, saved: Saved) -> str:
    """Say what was decided; a run that was broken off has not come to its end."""
    total = max(saved.family_count, len(findings.comparisons))
    decided = sum(c.answer is not Answer.UNDECIDED for c in findings.comparisons)
    tried = findings.measured_count + findings.failed_count + findings.skipped_count
    after = (
        f"after {span_text(saved.load_s)} of load in {counted(saved.round_count, 'round')} of short"
        " trials"
    )
    if tried < findings.planned_trial_count:
        return f"So far {decided} of {counted(total, 'comparison')} decided {after}."
    if decided == total:
        return f"Stopped when decided: {counted(total, 'comparison')} {after}."
    open_ = "the other one stays" if total - decided == 1 else "the others stay"
    why = f"no time was left of {span_text(saved.at_most_s)} for another look"
    if findings.rule is not None and saved.round_count >= findings.rule.looks[-1]:
        why = "these were all rounds of the plan"
    return f"{decided} of {counted(total, 'comparison')} decided {after}; {open_} open: {why}."


def _usual(saved: Saved) -> str:
    times = saved.fixed_load_s / saved.load_s
    more = f", {times:.2g} times as much" if times > 1 else ""
    few = (
        f", and its {counted(saved.fixed_repeats, 'pair')} a cell could have decided none"
        if saved.fixed_repeats < TRIALS_NEEDED
        else ""
    )
    return (
        f"A fixed design of {saved.fixed_duration_s} s x {counted(saved.fixed_repeats, 'repeat')}"
        f" would have taken {span_text(saved.fixed_load_s)} of load{more}{few}."
    )


def _shortest(findings: Findings, saved: Saved) -> str:
    lengths = sorted({trial.duration_s for trial in findings.figures})
    slices = " or ".join(f"{length} s" for length in lengths) or "that length"
    return (
        f"The shortest that can decide any, {saved.fewest_repeats} trials of {slices} in each cell,"
        f" takes {span_text(saved.fewest_load_s)}; one does not know beforehand that it is enough."
    )
