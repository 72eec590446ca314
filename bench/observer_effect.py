"""What groundspeed takes from the load it watches: TPS of a full trial over that of bare pgbench.

    python -m bench.observer_effect [--probes off,light,full] [--pairs N] [--duration S] [--quick]

A real run for each level of probes - session, store, lease, live display, warm-up, sampling
decision, log reader, probe process - whose only change is that its target runs a second, bare
pgbench beside every measured one: the same server in the same session, the same arguments without
-l, --log-prefix and --sampling-rate, the same user, socket and password, its output to files and
nobody awake. It is run before the measured one in every other pair and after it in the others
(ABBA), so that neither is always the later. Probes count while the measured one runs, and not while
the bare one does.

It refuses to compare two servers: what differs between the halves of a pair is groundspeed alone.
So levels are compared with bare pgbench and not with each other.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from rich.console import Console

from bench.figures import MEMORY, Figure, Server, conclude, interval, plan_of
from groundspeed import store
from groundspeed.cli import session
from groundspeed.cli.display import LiveDisplay
from groundspeed.probes.counting import WHOLE_PROCESS
from groundspeed.probes.host import Host
from groundspeed.probes.watching import ProcessWatcher
from groundspeed.record import Evidence, Measured
from groundspeed.record.evidence import ProbeLevel
from groundspeed.stats.median import median_interval
from groundspeed.targets import sql
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.plan import Command, Trial
    from groundspeed.ports import LoadResult, Progress, Seen, Watch, WatchPoints

ASKED_RATIO = 0.985
ASKED_PROBE_RATIO = 0.03
LOG_ARGUMENTS = ("-l", "--log-prefix", "--sampling-rate")
SUITE = """
suite: observer-effect
seed: 1
postgres: {{version: 16, settings: {{shared_buffers: 512MB}}}}
environments:
  memory: {{target: embedded, storage: {{directory: {directory}}}}}
workloads: [select-only]
clients: [10]
threads: [1, 2]
scale: 10
measure: {{duration: {duration_s}s, warm_up: 1s, repeats: {pairs}, probes: "{level}"}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What was seen beside a measured load: TPS of the bare one, and what groundspeed took itself.

    `own_cpu_ratio` is this process's processor time, as a share of all cores; that of the log
    reader is not in it (bench.log_reading has it).
    """

    bare_tps_per_s: float
    own_cpu_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A full trial and a bare pgbench on one warm server.

    `probe_ratio` is the processor time of the probe process as a share of one core; None where
    nothing was watched.
    """

    full_tps_per_s: float
    sampling_ratio: float
    beside: Beside
    probe_ratio: float | None

    @property
    def ratio(self) -> float:
        """Full over bare."""
        return self.full_tps_per_s / self.beside.bare_tps_per_s


class HandedWatch:
    """A watch that the run holds and the target lets count: around the measured load alone."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._seen: Seen | None = None

    def begin(self) -> None:
        """Leave it to the target, whose load may begin with a bare one."""

    def count(self) -> None:
        """Count from here, as a run would."""
        self._watch.begin()

    def stop(self) -> None:
        """Keep what was seen until the run asks."""
        self._seen = self._watch.end()

    def end(self) -> Seen:
        """Give what was seen of the measured load."""
        if self._seen is None:
            raise SystemExit("the measured load was not watched")
        return self._seen

    def close(self) -> None:
        """End it."""
        self._watch.close()


class HandingWatcher:
    """Makes the watches of a run and hands the last one to its target."""

    def __init__(self) -> None:
        self.watch: HandedWatch | None = None
        self._inner = ProcessWatcher(ProbeLevel.OFF)

    def at(self, level: ProbeLevel) -> HandingWatcher:
        """Stand in for `ProcessWatcher(level)`."""
        self._inner = ProcessWatcher(level)
        return self

    def open(self, points: WatchPoints) -> HandedWatch | None:
        """Open a real watch."""
        watch = self._inner.open(points)
        self.watch = None if watch is None else HandedWatch(watch)
        return self.watch


class PairedTarget(Server):
    """Runs a bare pgbench before or after each measured one and notes what it saw, by trial."""

    def __init__(
        self,
        beside: dict[str, Beside],
        watcher: HandingWatcher,
        *wiring: Any,  # noqa: ANN401 - as the session wires it
    ) -> None:
        super().__init__(*wiring)
        self._beside = beside
        self._watcher = watcher

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Run the load as groundspeed does, and beside a measured one the bare one."""
        watched = partial(super().load, command, trial, limit_s=limit_s, on_progress=on_progress)
        # Warm-ups are ended sooner than a trial may last.
        if trial is None or limit_s < trial.duration_s:
            return watched()
        bare_first = trial.repeat_index % 2 == 0
        bare_tps_per_s = self._bare(command) if bare_first else 0.0
        watch = self._watcher.watch
        if watch is not None:
            watch.count()
        begin_s = time.process_time()
        result = watched()
        own_cpu_ratio = (time.process_time() - begin_s) / result.elapsed_s / Host().cpu_count()
        if watch is not None:
            watch.stop()
        self._beside[trial.trial_id] = Beside(
            bare_tps_per_s=bare_tps_per_s if bare_first else self._bare(command),
            own_cpu_ratio=own_cpu_ratio,
        )
        return result

    def _bare(self, command: Command) -> float:
        sql.wait_for_clients_to_leave(self.address)
        arguments = [a for a in command.arguments if not a.startswith(LOG_ARGUMENTS)]
        report = pgbench.parse(self.bare_pgbench(arguments).stdout)
        sql.wait_for_clients_to_leave(self.address)
        return report.tps_per_s


def measure(level: ProbeLevel, pairs: int, duration_s: int) -> dict[int, list[Pair]]:
    """Measure the pairs of one level; give them by number of pgbench threads."""
    suite = SUITE.format(directory=MEMORY, duration_s=duration_s, pairs=pairs, level=level.value)
    plan = plan_of(suite)
    beside: dict[str, Beside] = {}
    watcher = HandingWatcher()
    with (
        TemporaryDirectory() as results,
        Path("/dev/null").open("w") as nowhere,
        patch.object(session, "EmbeddedTarget", partial(PairedTarget, beside, watcher)),
        patch.object(session, "ProcessWatcher", watcher.at),
    ):
        run_dir = store.create_run(Path(results), plan, "observer-effect")
        # A terminal's own work is the terminal's; the picture is drawn all the same.
        console = Console(file=nowhere, force_terminal=True, width=120, height=40)
        with LiveDisplay(plan, console) as display:
            session.run_plan(plan, run_dir, passwords={}, listener=display)
        records = store.read_run(run_dir).records
    found: dict[int, list[Pair]] = defaultdict(list)
    for record in records:
        outcome = record.outcome
        if not isinstance(outcome, Measured):
            raise SystemExit(f"{record.trial.trial_id}: {outcome}")
        found[record.trial.cell.threads].append(
            Pair(
                full_tps_per_s=outcome.tps_per_s,
                sampling_ratio=outcome.log_sampling_ratio,
                beside=beside[record.trial.trial_id],
                probe_ratio=probe_ratio(record.evidence),
            )
        )
    return found


def probe_ratio(evidence: Evidence | None) -> float | None:
    """Tell the probe process's share of one core. Raises SystemExit when it was lost."""
    if evidence is None:
        return None
    costs = [cost for cost in evidence.costs if cost.probe == WHOLE_PROCESS]
    if not costs:
        raise SystemExit(f"probes were lost: {evidence.absent}")
    return costs[0].cpu_s / evidence.elapsed_s


def figures(level: ProbeLevel, threads: int, pairs: Sequence[Pair]) -> list[Figure]:
    """Word the pairs of one level and number of threads."""
    ratios = [pair.ratio for pair in pairs]
    logged = [pair.sampling_ratio for pair in pairs]
    bare = [pair.beside.bare_tps_per_s for pair in pairs]
    own = [pair.beside.own_cpu_ratio for pair in pairs]
    probes = [pair.probe_ratio for pair in pairs if pair.probe_ratio is not None]
    middle = median_interval(ratios).median
    where = f"probes {level.value}, {threads} thread{'s' if threads > 1 else ''}"
    found = [
        Figure(
            name=f"{where}: full / bare TPS",
            asked=f">= {ASKED_RATIO}",
            measured=f"{middle:.4f}",
            error=interval(ratios, digits=4),
            met=middle >= ASKED_RATIO,
        ),
        Figure(
            name=f"{where}: bare TPS",
            measured=f"{median_interval(bare).median:,.0f}/s",
            error=interval(bare, digits=0, unit="/s"),
        ),
        Figure(
            name=f"{where}: share of transactions logged",
            measured=f"{median_interval(logged).median:.3f}",
            error=f"{min(logged):.3f} to {max(logged):.3f} (range)",
        ),
        Figure(
            name=f"{where}: groundspeed's own share of the cores",
            measured=f"{median_interval(own).median:.3%}",
            error=interval(own, 100, unit="%"),
        ),
    ]
    if probes:
        taken = median_interval(probes).median
        found.append(
            Figure(
                name=f"{where}: probe process's share of one core",
                asked=f"< {ASKED_PROBE_RATIO:.0%}",
                measured=f"{taken:.3%}",
                error=interval(probes, 100, unit="%"),
                met=taken < ASKED_PROBE_RATIO,
            )
        )
    return found


def levels_of(text: str) -> list[ProbeLevel]:
    """Read levels with commas between them."""
    return [ProbeLevel(word.strip()) for word in text.split(",")]


def main() -> int:
    """Measure the pairs of each level and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.observer_effect", description=__doc__)
    parser.add_argument("--probes", type=levels_of, default=list(ProbeLevel), help="levels")
    parser.add_argument("--pairs", type=int, default=20, help="for each number of threads")
    parser.add_argument("--duration", type=int, default=4, help="seconds of each half")
    parser.add_argument("--quick", action="store_true", help="8 pairs of 2 s")
    asked = parser.parse_args()
    pairs, duration_s = (8, 2) if asked.quick else (asked.pairs, asked.duration)
    print("select-only, 10 clients")
    found = {level: measure(level, pairs, duration_s) for level in asked.probes}
    return conclude(
        [
            figure
            for level, by_threads in found.items()
            for threads in sorted(by_threads)
            for figure in figures(level, threads, by_threads[threads])
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
