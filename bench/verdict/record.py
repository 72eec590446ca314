"""Records the noise of a real machine: transactions in each second of long loads.

    python -m bench.verdict.record NAME [--duration S] [--count N] [--directory DIR]

pgbench on a warm embedded server, built-in workloads in turn, nothing changed meanwhile: what
varies is the machine. It need not be quiet; noise is what is wanted. Kept in bench/data/noise/.
It refuses to judge: `size` and `power` do.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bench.figures import MEMORY, Server, save, standing_server
from bench.verdict.noise import NOISE
from groundspeed.tools import pgbench

SCALE, CLIENTS, THREADS = 10, 8, 2
WORKLOADS = ("select-only", "simple-update")


def record(server: Server, workload: str, duration_s: int) -> list[float]:
    """Load the server and give the transactions a second, second by second."""
    arguments = ["-n", "-M", "prepared", "-b", workload, "-c", str(CLIENTS), "-j", str(THREADS)]
    arguments += ["-P", "1", "-T", str(duration_s), server.conninfo]
    done = server.bare_pgbench(arguments)
    lines = [pgbench.parse_progress(line) for line in done.stderr.splitlines()]
    return [line.tps_per_s for line in lines if line is not None]


def main() -> int:
    """Record and keep."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict.record", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--duration", type=int, default=120, metavar="S")
    parser.add_argument("--count", type=int, default=3, metavar="N")
    parser.add_argument("--directory", default=MEMORY)
    asked = parser.parse_args()
    series: list[dict[str, Any]] = []
    with standing_server(asked.directory, scale=SCALE) as server:
        server.start()
        for number in range(asked.count):
            for workload in WORKLOADS:
                print(f"{workload} {number + 1} of {asked.count}", file=sys.stderr)
                rates = record(server, workload, asked.duration)
                series.append({"workload": workload, "tps_per_s": rates})
        server.stop()
    NOISE.mkdir(exist_ok=True)
    loaded = {"scale": SCALE, "clients": CLIENTS, "threads": THREADS}
    save(
        f"noise/{asked.name}.json",
        ("bench.verdict.record", *sys.argv[1:]),
        loaded | {"series": series},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
