"""What a line of its transaction log costs pgbench: processor time for each transaction.

    python -m bench.log_cost [--rounds R] [--save] [--quick]

A script without SQL is run without a log, with one, and with a sampled one (1%), in the order
a b c c b a, so that a drift of the machine falls on all alike. Then the same with select-only, by
10 clients: between two lines pgbench does other things there, so its caches forget, and a line
costs more. Only pgbench's own user and system time is counted, as the kernel does it (wait4), so a
neighbour that takes the core costs little.
All three print progress (-P 1), as every trial does: it makes pgbench look at the clock after each
transaction, which then is no cost of the log. The log is in memory, where groundspeed has it.

The result decides when groundspeed samples: LOG_LINE_COST_S of groundspeed.tools.pgbench. It
refuses to say what a log costs on a disk.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

from bench.figures import (
    MEMORY,
    POSTGRES_VERSION,
    Figure,
    Server,
    conclude,
    interval,
    save,
    standing_server,
)
from groundspeed.stats.median import median_interval
from groundspeed.tools import pgbench

MODES = {
    "no log": (),
    "log": ("-l", "--log-prefix=transactions"),
    "sampled log": ("-l", "--log-prefix=transactions", "--sampling-rate=0.01"),
}
SCALE = 1
SCRIPT = "\\set x 1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What pgbench does between two lines, and how many transactions a client does in a run.

    `decides`: the constant is held against it. Beside SQL a line is lost in the noise of what
    else pgbench does, so that interval only shows whether it contradicts.
    """

    name: str
    decides: bool
    arguments: tuple[str, ...]
    clients: int
    transactions: int


def loads(share: float) -> tuple[Load, Load]:
    """Return both loads; a `share` below 1 makes them shorter."""
    return (
        Load(
            name="no SQL",
            decides=True,
            arguments=("-f", "script.sql"),
            clients=1,
            transactions=round(2_000_000 * share),
        ),
        Load(
            name="select-only",
            decides=False,
            arguments=("-b", "select-only", "-M", "prepared"),
            clients=10,
            transactions=round(10_000 * share),
        ),
    )


def cost_s(server: Server, load: Load, log: tuple[str, ...]) -> float:
    """Run a load and give the processor time of pgbench for each transaction; seconds."""
    script = server.load_directory / "script.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    script.chmod(0o644)
    counts = ("-c", str(load.clients), "-j", "1", "-t", str(load.transactions))
    arguments = ("-n", *counts, "-P", "1", *load.arguments, *log, server.conninfo)
    done = server.bare_pgbench(arguments)
    for path in server.load_directory.glob("transactions.*"):
        path.unlink()
    return done.cpu_s / (load.transactions * load.clients)


def measure(server: Server, load: Load, rounds: int) -> dict[str, list[float]]:
    """Give the cost of a transaction in each round, by mode; each is the mean of two runs."""
    costs: dict[str, list[float]] = {mode: [] for mode in MODES}
    for log in MODES.values():
        cost_s(server, load, log)
    for number in range(rounds):
        print(f"{load.name}: round {number + 1} of {rounds}", file=sys.stderr)
        order = [*MODES, *reversed(MODES)]
        seen = [(mode, cost_s(server, load, MODES[mode])) for mode in order]
        for mode, kept in costs.items():
            kept.append(sum(cost for name, cost in seen if name == mode) / 2)
    return costs


def extra(costs: dict[str, list[float]], mode: str) -> list[float]:
    """Give what a mode costs more than no log, by round; seconds a transaction."""
    return [cost - bare for cost, bare in zip(costs[mode], costs["no log"], strict=True)]


def figures(load: Load, costs: dict[str, list[float]]) -> list[Figure]:
    """Word what a load cost in each mode."""
    assumed = pgbench.LOG_LINE_COST_S
    line, sampled, bare = extra(costs, "log"), extra(costs, "sampled log"), costs["no log"]
    return [
        Figure(
            name=f"{load.name}: a transaction without a log",
            measured=f"{median_interval(bare).median * 1e6:.3f} us",
            error=interval(bare, 1e6, unit=" us"),
        ),
        Figure(
            name=f"{load.name}: a line of the log on top",
            asked=f"<= {assumed * 1e6:.2f} us" if load.decides else "-",
            measured=f"{median_interval(line).median * 1e6:.3f} us",
            error=interval(line, 1e6, unit=" us"),
            # The constant must err to the safe side: below it lies the whole interval.
            met=(median_interval(line).high or max(line)) <= assumed if load.decides else None,
        ),
        Figure(
            name=f"{load.name}: a sampled log (1%) on top, a transaction",
            measured=f"{median_interval(sampled).median * 1e6:.3f} us",
            error=interval(sampled, 1e6, unit=" us"),
        ),
    ]


def as_data(load: Load, costs: dict[str, list[float]]) -> dict[str, Any]:
    """Give a load and its costs as data, every round of them."""
    line = median_interval(extra(costs, "log"))
    return {
        "load": load.name,
        "clients": load.clients,
        "transactions_per_client": load.transactions,
        "log_line_cost_s": {
            "median": line.median,
            "low": line.low,
            "high": line.high,
            "confidence_ratio": line.confidence_ratio,
        },
        "cpu_s_per_transaction": costs,
    }


def main() -> int:
    """Measure both loads and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.log_cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--save", action="store_true", help="write bench/data/log-cost.json")
    parser.add_argument("--quick", action="store_true", help="6 rounds, each a quarter")
    asked = parser.parse_args()
    rounds = 6 if asked.quick else asked.rounds
    with standing_server(MEMORY, scale=SCALE) as server:
        server.start()
        chosen = loads(0.25 if asked.quick else 1.0)
        found = [(load, measure(server, load, rounds)) for load in chosen]
    if asked.save:
        save(
            "log-cost.json",
            ["bench.log_cost", *sys.argv[1:]],
            {
                "version": POSTGRES_VERSION,
                "results": [as_data(load, costs) for load, costs in found],
            },
        )
    return conclude([figure for load, costs in found for figure in figures(load, costs)])


if __name__ == "__main__":
    sys.exit(main())
