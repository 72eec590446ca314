"""What a person sees while a run goes on: a live picture on a terminal, plain lines elsewhere.

Both are `ports.Listener`. They draw only when told something, about once a second: a thread that
repaints would take time from the load on a small machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from groundspeed.analyse.capacity.slices import outcome_of
from groundspeed.cli.printing import emulated_in, minutes
from groundspeed.record import Failed, Measured, Skipped
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import NOTHING, format_seconds, format_tps

if TYPE_CHECKING:
    from collections.abc import Container

    from groundspeed.plan import Plan, Trial
    from groundspeed.ports import Progress
    from groundspeed.record import Record

_LAST_RESULTS = 6
# Rides on nearly every record; counted here, it would hide the ones that tell trials apart. The
# report has it.
_EXPECTED_CAUTION = "closed-loop"


class _Extent:
    """How much there is to do: a number of trials, or a time where it stops when it is decided."""

    def __init__(self, plan: Plan) -> None:
        self._total_count = len(plan.trials)
        self._at_most_s = None if plan.stopping is None else plan.stopping.at_most_s

    def counter(self, number: int) -> str:
        """Say which trial it is, with the last one where there is one; alike in width."""
        width = len(str(self._total_count))
        return f"{number:>{width}}" + (f"/{self._total_count}" if self._at_most_s is None else "")

    def left(self, left_s: float) -> str:
        """Say how much time is left."""
        return f"{'' if self._at_most_s is None else 'at most '}{minutes(left_s)} left"

    def done_ratio(self, ended_count: int, left_s: float) -> float:
        """Say what share is done, 0 to 1."""
        if self._at_most_s is None:
            return ended_count / max(1, self._total_count)
        return min(1.0, max(0.0, 1 - left_s / self._at_most_s))


class PlainDisplay:
    """One line a trial, for logs and CI."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._extent = _Extent(plan)
        self._emulated = emulated_in(plan)
        self._bound_s = None if plan.search is None else plan.search.bound_s
        self._console = console
        self._number = 0
        self._left_s = 0.0

    def __enter__(self) -> Self:
        """Begin; nothing to set up."""
        return self

    def __exit__(self, *_: object) -> None:
        """End; nothing to take down."""

    def note(self, message: str) -> None:
        """Print the message."""
        self._print(Text(message))

    def trial_started(self, trial: Trial, *, number: int, left_s: float) -> None:
        """Keep the number for the line that comes at the end."""
        del trial
        self._number, self._left_s = number, left_s

    def phase(self, name: str) -> None:
        """Say nothing: a line a phase would bury the results."""

    def progress(self, progress: Progress) -> None:
        """Say nothing."""

    def trial_ended(self, record: Record) -> None:
        """Print the result of a trial."""
        # What is left now is what was left when it started, less what it took.
        left_s = max(0.0, self._left_s - record.elapsed_s)
        counter = self._extent.counter(self._number)
        text = Text(f"[{counter}] {_cell_text(record.trial, self._emulated)}  ")
        text.append_text(_outcome(record, self._bound_s))
        self._print(text.append(f"  ({self._extent.left(left_s)})"))

    def _print(self, text: Text) -> None:
        # Long lines stay whole: these lines are read by programs too.
        self._console.print(text, soft_wrap=True, highlight=False)


class LiveDisplay:
    """A picture in place: the trial that runs, its figures so far, the last results, time left."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._extent = _Extent(plan)
        self._emulated = emulated_in(plan)
        self._bound_s = None if plan.search is None else plan.search.bound_s
        self._trial: Trial | None = None
        self._number = 0
        self._left_s = plan.estimate.wall_s
        self._phase = ""
        self._note = ""
        # Of a search: where it stands, which is worth more than the trial at hand.
        self._standing = ""
        self._progress: Progress | None = None
        self._last: list[Record] = []
        self._ended = 0
        self._live = Live(self._picture(), console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        """Take over the lower part of the terminal."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back as it was."""
        self._live.stop()

    def note(self, message: str) -> None:
        """Show the message until a trial starts."""
        self._note, self._trial = message, None
        if self._bound_s is not None and self._ended:
            self._standing = message
        self._draw()

    def trial_started(self, trial: Trial, *, number: int, left_s: float) -> None:
        """Show the trial."""
        self._trial, self._number, self._left_s = trial, number, left_s
        self._phase, self._progress = "", None
        self._draw()

    def phase(self, name: str) -> None:
        """Show the phase; figures of the one before are forgotten."""
        self._phase, self._progress = name, None
        self._draw()

    def progress(self, progress: Progress) -> None:
        """Show the figures so far."""
        self._progress = progress
        self._draw()

    def trial_ended(self, record: Record) -> None:
        """Move the trial to the last results."""
        self._ended = self._number
        self._left_s = max(0.0, self._left_s - record.elapsed_s)
        self._last = [*self._last, record][-_LAST_RESULTS:]
        self._trial, self._note = None, ""
        self._draw()

    def _draw(self) -> None:
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> Group:
        bar = Table.grid(padding=(0, 1))
        left = self._extent.left(self._left_s)
        bar.add_row(
            ProgressBar(
                total=1.0, completed=self._extent.done_ratio(self._ended, self._left_s), width=40
            ),
            Text(f"{self._extent.counter(self._ended).strip()} trials, {left}"),
        )
        standing = [Text(self._standing)] if self._standing and self._trial is not None else []
        return Group(self._results(), Text(), self._now(), self._figures(), bar, *standing)

    def _results(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for record in self._last:
            table.add_row(
                Text(_cell_text(record.trial, self._emulated), style="dim"),
                _outcome(record, self._bound_s),
            )
        return table

    def _now(self) -> Text:
        if self._trial is None:
            return Text(self._note or "between trials", overflow="ellipsis", no_wrap=True)
        counter = self._extent.counter(self._number).strip()
        text = Text(f"trial {counter}  ", no_wrap=True, overflow="ellipsis")
        return text.append(_cell_text(self._trial, self._emulated), style="bold").append(
            f"  {self._phase}"
        )

    def _figures(self) -> Text:
        seen = self._progress
        if seen is None:
            return Text(f"TPS {NOTHING}   p99 {NOTHING}", style="dim")
        tps = NOTHING if seen.tps_per_s is None else format_tps(seen.tps_per_s)
        p99 = NOTHING if seen.p99_s is None else format_seconds(seen.p99_s)
        # Labelled: a figure in the middle of a trial is no result.
        return Text(f"TPS {tps}   p99 {p99}   so far, after {seen.elapsed_s:.0f} s", style="cyan")


def display_for(plan: Plan, console: Console) -> LiveDisplay | PlainDisplay:
    """Choose the display that suits the console."""
    return (LiveDisplay if console.is_terminal else PlainDisplay)(plan, console)


def _cell_text(trial: Trial, emulated: Container[str]) -> str:
    cell = trial.cell
    clients = f"{cell.clients} client{'s' if cell.clients > 1 else ''}"
    threads = f", {cell.threads} threads" if cell.threads > 1 else ""
    name = label_of(cell.environment, emulated)
    twin = " again" if trial.twin else ""
    rate = "" if trial.rate_per_s is None else f"  at {format_tps(trial.rate_per_s)}/s"
    return f"{name}  {cell.workload}  {clients}{threads}  #{trial.repeat_index + 1}{twin}{rate}"


def _outcome(record: Record, bound_s: float | None) -> Text:
    outcome = record.outcome
    slice_ = None if bound_s is None else outcome_of(record, bound_s)
    if isinstance(outcome, Measured):
        tps, p99 = format_tps(outcome.tps_per_s), format_seconds(outcome.latency.p99_s)
        cautions = sum(caution.code != _EXPECTED_CAUTION for caution in record.cautions)
        noted = f"  {cautions} caution{'s' if cautions > 1 else ''}" if cautions else ""
        text = Text(f"{tps} TPS  p99 {p99}")
        if slice_ is not None:
            text.append("  holds" if slice_.holds else "  breaks", style="bold")
        return text.append(noted)
    if isinstance(outcome, Skipped):
        return Text(f"skipped: {outcome.reason}", style="yellow")
    assert isinstance(outcome, Failed)  # noqa: S101 - the third of three
    return Text(f"failed: {outcome.reason}", style="red")
