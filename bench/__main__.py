"""Runs every benchmark of groundspeed itself.

    python -m bench [--quick]

A benchmark prints a table of figures - what was asked, what was measured, how sure that is - and
ends with exit code 1 when one is missed. It refuses to be a test: its figures hold for a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from bench.figures import MISSED

# Name, arguments of a full run, arguments of a quick one; the short ones first.
BENCHMARKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "log_reading": ((), ("--lines", "4000000", "--rounds", "3")),
    "interface": ((), ("--quick",)),
    "log_cost": ((), ("--quick",)),
    "audit": ((), ("--quick",)),
    "memory_bound": ((), ("--quick",)),
    "observer_effect": ((), ("--quick",)),
    "dead_time": ((), ("--quick",)),
    "reset_cost": ((), ("--quick",)),
    "resume_campaign": ((), ("--kills", "2")),
}


def main() -> int:
    """Run them all, one after the other; 1 when one of them missed a figure."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="minutes instead of most of an hour")
    quick = parser.parse_args().quick
    missed = []
    for name, (full_arguments, quick_arguments) in BENCHMARKS.items():
        print(f"\n== {name}", flush=True)
        arguments = quick_arguments if quick else full_arguments
        done = subprocess.run([sys.executable, "-m", f"bench.{name}", *arguments], check=False)
        if done.returncode != 0:
            missed.append(name)
    print(f"\nmissed or failed: {', '.join(missed)}" if missed else "\nall figures met")
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
