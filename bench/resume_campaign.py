"""Ends a run at random moments and resumes it, until each of its 78 trials is measured once.

    python -m bench.resume_campaign [--kills 10] [--seed N]

The run is the preset matrix-39 on its two environments, with short trials at a small scale. Half of
the endings are kill -9, the others Ctrl-C and SIGTERM. Asked: the planned trial ids, once each, in
the end; and nothing of the run but its results.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from groundspeed import store
from groundspeed.record import Measured

_SMALL = ("--set", "measure.duration=2s", "--set", "scale=5", "--set", "measure.repeats=1")
_ENDINGS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
# Longer than setting up takes, so that most endings meet a trial; short enough for ten of them.
_EARLIEST_S, _LATEST_S = 2.0, 40.0


def groundspeed(arguments: list[str], directory: Path) -> subprocess.Popen[bytes]:
    """Start a command of groundspeed in `directory`, with leases of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "groundspeed.cli.main", *arguments],
        cwd=directory,
        env={**os.environ, "GROUNDSPEED_STATE_DIR": str(directory / "state")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def measured_of(run_dir: Path) -> Counter[str]:
    """Count the measurements of each trial."""
    records = store.read_run(run_dir).records
    return Counter(r.trial.trial_id for r in records if isinstance(r.outcome, Measured))


def campaign(directory: Path, kills: int, rng: random.Random) -> Path:
    """Run, end, resume, and so on; returns the run directory once the run has ended by itself."""
    arguments = ["run", "matrix-39", *_SMALL, "--yes"]
    for number in range(kills + 1):
        process = groundspeed(arguments, directory)
        if number < kills:
            after_s, ending = rng.uniform(_EARLIEST_S, _LATEST_S), rng.choice(_ENDINGS)
            try:
                process.wait(after_s)
            except subprocess.TimeoutExpired:
                process.send_signal(ending)
            process.wait()
        else:
            process.wait()
        (run_dir,) = (directory / "runs").glob("*-matrix-39")
        done = sum(measured_of(run_dir).values())
        what = f"{ending.name} after {after_s:.0f} s" if number < kills else "left alone"
        print(f"{what}: exit {process.returncode}, {done} measured", flush=True)
        arguments = ["resume", str(run_dir)]
    return run_dir


def leftovers(directory: Path, run_id: str) -> list[str]:
    """What is left of the run outside its results."""
    places = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"), directory / "data")  # noqa: S108
    found = [str(p) for place in places if place.is_dir() for p in place.glob(f"*{run_id}*")]
    return found + [str(p) for p in (directory / "state").glob("*.lease")]


def main() -> int:
    """Run the campaign; 1 when a trial is missing or there twice, or anything is left."""
    parser = argparse.ArgumentParser(prog="python -m bench.resume_campaign", description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        directory = Path(name)
        run_dir = campaign(directory, asked.kills, random.Random(asked.seed))  # noqa: S311
        planned = [trial.trial_id for trial in store.read_plan(run_dir).trials]
        measured = measured_of(run_dir)
        left = leftovers(directory, run_dir.name)
    once = sum(measured[trial_id] == 1 for trial_id in planned)
    unplanned = sorted(set(measured) - set(planned))
    print(
        json.dumps(
            {
                "planned": len(planned),
                "measured_once": once,
                "measured_more_often": [t for t, count in measured.items() if count > 1],
                "unplanned": unplanned,
                "left": left,
                "elapsed_s": round(time.monotonic() - started_s),
            },
            indent=2,
        )
    )
    return 0 if once == len(planned) == len(measured) and not left else 1


if __name__ == "__main__":
    sys.exit(main())
