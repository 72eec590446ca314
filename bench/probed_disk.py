"""Probes this disk, emulates it in memory and compares pgbench on both.

    python -m bench.probed_disk [DIRECTORY] [--time 60s]

Asked: TPS of simple-update on the emulated disk within 15% of the real one, at 1 and at 8 clients.
Both are environments of one run: interleaved in blocks, six pairs each. The profile and the figures
are kept in bench/data/.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figures import DATA, MEMORY, Figure, conclude

ALLOWED = 0.15
_GROUNDSPEED = (sys.executable, "-m", "groundspeed.cli.main")
_SUITE = """
suite: probed-disk
postgres: {version: 16, settings: {shared_buffers: 256MB}}
environments:
  disk: {target: embedded, storage: {directory: DISK}}
  emulated: {target: embedded, storage: {emulate: ./disk.yaml, directory: MEMORY}}
workloads: [simple-update]
clients: [1, 8]
threads: [1]
scale: 10
measure: {duration: 5s, warm_up: 1s, repeats: 6}
"""


def main() -> int:
    """Probe, run and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", nargs="?", type=Path, default=Path("data"))
    parser.add_argument("--time", default="60s")
    arguments = parser.parse_args()
    disk = arguments.directory.resolve()
    disk.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        profile, suite = Path(home, "disk.yaml"), Path(home, "suite.yaml")
        probe = ["probe", str(disk), "--time", arguments.time, "-o", str(profile)]
        subprocess.run([*_GROUNDSPEED, *probe], check=True)
        suite.write_text(_SUITE.replace("DISK", str(disk)).replace("MEMORY", MEMORY))
        done = subprocess.run(
            [*_GROUNDSPEED, "run", str(suite), "--out", f"{home}/runs", "--yes", "--json"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        comparisons = json.loads(done.stdout)["comparisons"]
        kept = {"profile": profile.read_text(), "comparisons": comparisons}
    (DATA / "probed_disk.json").write_text(json.dumps(kept, indent=1) + "\n")
    return conclude([_line(comparison) for comparison in comparisons])


def _line(comparison: dict[str, object]) -> Figure:
    ratio = comparison["tps_ratio"]
    assert isinstance(ratio, dict)  # noqa: S101 - for the type checker
    estimate = ratio["estimate"]
    return Figure(
        name=f"emulated / real disk, simple-update, {comparison['clients']} clients",
        asked=f"1 within {ALLOWED:.0%}",
        measured=f"{estimate:.3f}",
        error=f"{ratio['low']:.3f} to {ratio['high']:.3f}",
        met=abs(estimate - 1) <= ALLOWED,
    )


if __name__ == "__main__":
    sys.exit(main())
