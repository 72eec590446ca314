"""Whether provoked bottlenecks are named, over and over, and whether the remedy that is told helps.

    python -m bench.provoked [--repeats N] [--only WORD] [--version N] [--no-relief]

The cases are those of tests/server/provoked, so this needs what the tests need. Each repeat runs
every case once as provoked and once relieved, as its remedy asks for; the ratio of their throughput
tells how much of the limit was named. Cases take turns, so that a bad minute of the machine is not
one case's alone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.figures import Figure, conclude, interval, save
from groundspeed.record import Measured
from tests.server.provoked import confusion
from tests.server.provoked.cases import PROVOCATIONS
from tests.server.provoked.driving import provoke
from tests.small_runs import make_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.server.provoked.cases import Provocation
    from tests.server.provoked.driving import Provoked

_HELPED_RATIO = 1.5


class Tally:
    """What came of one case so far."""

    def __init__(self, case: Provocation) -> None:
        self.case = case
        self.named: list[str] = []
        self.confidences: list[str] = []
        self.others: list[list[str]] = []
        self.gains: list[float] = []
        self.after: list[str] = []

    @property
    def right_count(self) -> int:
        """How often the case had one of its own names."""
        own = {bottleneck.value for bottleneck in self.case.named}
        return sum(name in own for name in self.named)

    def add(self, found: Provoked, relieved: Provoked | None) -> None:
        """Add one repeat."""
        self.named.append(found.diagnosis.bottleneck.value)
        self.confidences.append(found.diagnosis.confidence.value)
        self.others.append([b.value for b in found.diagnosis.others])
        if relieved is not None:
            self.gains.append(_tps_per_s(relieved) / _tps_per_s(found))
            self.after.append(relieved.diagnosis.bottleneck.value)

    def data(self) -> dict[str, Any]:
        """What is kept of it."""
        return {
            "provoked": confusion.provoked_name(self.case),
            "named": dict(Counter(self.named)),
            "confidences": dict(Counter(self.confidences)),
            "others": dict(Counter(name for names in self.others for name in names)),
            "relieved_over_provoked_tps_ratios": [round(gain, 3) for gain in self.gains],
            "named_when_relieved": dict(Counter(self.after)),
        }


def _tps_per_s(found: Provoked) -> float:
    outcome = found.record.outcome
    if not isinstance(outcome, Measured):
        raise SystemExit(f"{found.record.trial.trial_id}: {outcome}")
    return outcome.tps_per_s


def _run(case: Provocation, version: int, *, relieved: bool) -> Provoked:
    with make_place() as place:
        # Leases of its own: nothing of the campaign is swept by a groundspeed beside it.
        os.environ["GROUNDSPEED_STATE_DIR"] = str(place.state)
        return provoke(place, case, relieved=relieved, version=version)


def measure(
    cases: Sequence[Provocation], repeats: int, *, relief: bool, version: int
) -> list[Tally]:
    """Run all cases `repeats` times, one after the other."""
    tallies = [Tally(case) for case in cases]
    for repeat in range(repeats):
        for tally in tallies:
            case = tally.case
            found = _run(case, version, relieved=False)
            can_help = relief and (case.relieved is not None or case.arranged)
            tally.add(found, _run(case, version, relieved=True) if can_help else None)
            if tally.right_count <= repeat:
                print(f"{case.name}\n{confusion.story(found)}", file=sys.stderr, flush=True)
    return tallies


def figures(tally: Tally) -> list[Figure]:
    """Word one case: how often it was named, and what its remedy did."""
    name, count = tally.case.name, len(tally.named)
    found = [
        Figure(
            name=f"{name}: named {' or '.join(b.value for b in tally.case.named)}",
            asked=f"{count} of {count}",
            measured=f"{tally.right_count} of {count}",
            error=", ".join(f"{word} {n}" for word, n in Counter(tally.confidences).items()),
            met=tally.right_count == count,
        )
    ]
    if tally.gains:
        found.append(
            Figure(
                name=f"{name}: TPS with the remedy / without",
                asked=f"> {_HELPED_RATIO}",
                measured=f"{median(tally.gains):.2f}",
                error=interval(tally.gains, digits=2),
                met=median(tally.gains) > _HELPED_RATIO,
            )
        )
    return found


def main() -> int:
    """Run the campaign, print its tables and keep its data."""
    parser = argparse.ArgumentParser(prog="python -m bench.provoked", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="of each case")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--version", type=int, default=16, help="of PostgreSQL")
    parser.add_argument("--no-relief", action="store_true", help="only provoke")
    asked = parser.parse_args()
    cases = [case for case in PROVOCATIONS if asked.only in case.name]
    tallies = measure(cases, asked.repeats, relief=not asked.no_relief, version=asked.version)
    pairs = [(confusion.provoked_name(t.case), name) for t in tallies for name in t.named]
    print("\n".join(confusion.table(pairs)), end="\n\n")
    if not asked.only and not asked.no_relief:
        command = (
            "bench.provoked",
            "--repeats",
            str(asked.repeats),
            "--version",
            str(asked.version),
        )
        save("provoked.json", command, {"cases": {t.case.name: t.data() for t in tallies}})
    return conclude([figure for tally in tallies for figure in figures(tally)])


if __name__ == "__main__":
    sys.exit(main())
