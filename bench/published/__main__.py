"""Compares published curves with the same settings on emulated storage.

    python -m bench.published [gp3] [what-if] [longhorn] [redis] [--set NAME=VALUE]

Asked: each figure within 20% of the published one. Nothing is fitted to a single point; what is
missed is printed with its error. gp3 takes 6 minutes, what-if (the preset what-if-gp3) two hours,
longhorn 25 minutes and redis 5; --set measure.repeats=1 makes the two suites shorter. Results are
kept in bench/data/published.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import DATA, Figure, conclude
from bench.published import redis, sequence
from bench.published.sequence import Step
from groundspeed.probes.host import Host

HERE = Path(__file__).parent
ALLOWED = 0.20
_REDIS_REPEATS, _REDIS_REQUESTS = 6, 50_000
_ARTICLE_S = 60
_LONGHORN_PROFILES = {
    "local": "local-sata-plp",
    "longhorn-1r": "longhorn-1r",
    "longhorn-2r": "longhorn-2r",
}
# What select-only takes here, without a network: no part of the wait for it.
_STATEMENT_S = 90e-6


def run(suite: str, overrides: list[str]) -> list[dict[str, Any]]:
    """Run a suite and give its cells, as `groundspeed report --json` has them."""
    settings = [word for override in overrides for word in ("--set", override)]
    command = [sys.executable, "-m", "groundspeed.cli.main", "run"]
    with tempfile.TemporaryDirectory() as results:
        done = subprocess.run(
            [*command, suite, "--out", results, "--yes", "--json", *settings],
            stdout=subprocess.PIPE,
            env={**os.environ, "GROUNDSPEED_STATE_DIR": f"{results}/state"},
            text=True,
            check=True,
        )
    cells: list[dict[str, Any]] = json.loads(done.stdout)["cells"]
    return cells


def tps(cells: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """Give the median TPS by environment and clients."""
    return {
        (cell["environment"], str(cell["clients"])): cell["tps_per_s"]["median"] for cell in cells
    }


def line(name: str, published: float, measured: float, digits: int) -> Figure:
    """Compare one figure."""
    error = measured / published - 1
    return Figure(
        name=name,
        asked=f"{published:,.{digits}f} within {ALLOWED:.0%}",
        measured=f"{measured:,.{digits}f}",
        error=f"{error:+.1%}",
        met=abs(error) <= ALLOWED,
    )


def gp3(published: dict[str, Any], overrides: list[str]) -> tuple[list[Figure], Any]:
    """Compare TPS on gp3 with each published one, measured in the article's order."""
    del overrides
    asked = published["tps_per_s"]
    steps = tuple(Step(clients=int(clients), duration_s=_ARTICLE_S) for clients in asked)
    measured = sequence.tps_of_steps("aws-gp3", sequence.STORAGE_ARTICLE, steps)
    figures = [
        line(f"gp3, tpcb-like, {clients} clients, TPS", asked[clients], tps_per_s, 0)
        for clients, tps_per_s in zip(asked, measured, strict=True)
    ]
    return figures, dict(zip(asked, measured, strict=True))


def what_if(published: dict[str, Any], overrides: list[str]) -> tuple[list[Figure], Any]:
    """Tell TPS of the preset what-if-gp3; nobody has published what to compare it with."""
    del published
    cells = run("what-if-gp3", overrides)
    figures = [
        Figure(name=f"{environment}, tpcb-like, {clients} clients, TPS", measured=f"{value:,.0f}")
        for (environment, clients), value in tps(cells).items()
    ]
    return figures, cells


def longhorn(published: dict[str, Any], overrides: list[str]) -> tuple[list[Figure], Any]:
    """Compare TPS on Longhorn, relative to the local disk, with the published ratios."""
    del overrides
    asked = published["tps_per_s"]
    script = (HERE / "simple-update-over-network.sql").read_text()
    steps = [
        Step(
            clients=int(clients),
            duration_s=_ARTICLE_S,
            script=script.replace("WAIT", str(round((taken_s - _STATEMENT_S) * 1e6))),
        )
        for clients, taken_s in published["select_only_s"].items()
    ]
    # Its trials had others before them, whose checkpoint and write-back were under way.
    before = steps[len(steps) // 2]
    measured = {
        name: sequence.tps_of_steps(profile, sequence.BARE_METAL_ARTICLE, (before, *steps))[1:]
        for name, profile in _LONGHORN_PROFILES.items()
    }
    figures = [
        line(
            f"{name} / local, simple-update, {clients} clients",
            asked[name][clients] / asked["local"][clients],
            measured[name][place] / measured["local"][place],
            3,
        )
        for name in ("longhorn-1r", "longhorn-2r")
        for place, clients in enumerate(asked["local"])
    ]
    return figures, measured


def redis_ratio(published: dict[str, Any], overrides: list[str]) -> tuple[list[Figure], Any]:
    """Compare SETs a second on a local disk over those on replicas behind 1 Gbit/s."""
    del overrides
    if not redis.is_here():
        name = "redis, local / longhorn"
        missing = Figure(name=name, measured="redis-server is not installed", met=False)
        return [missing], None
    # In the order ABBA, so that a drift of the machine meets both alike.
    order = ["local", "longhorn", "longhorn", "local"] * (_REDIS_REPEATS // 2)
    values: dict[str, list[float]] = {"local": [], "longhorn": []}
    for name in order:
        values[name].append(redis.sets_per_s(name, _REDIS_REQUESTS))
    asked = published["sets_per_s"]
    measured = median(values["local"]) / median(values["longhorn"])
    ratio = line(
        "redis with AOF, SETs a second, local / longhorn",
        asked["local"] / asked["longhorn"],
        measured,
        2,
    )
    return [ratio], values


PARTS = {"gp3": gp3, "what-if": what_if, "longhorn": longhorn, "redis": redis_ratio}


def main() -> int:
    """Run what was asked for and keep the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    published = json.loads((HERE / "published.json").read_text())
    kept = DATA / "published.json"
    data = json.loads(kept.read_text()) if kept.exists() else {}
    settings = [f"--set {override}" for override in arguments.overrides]
    figures: list[Figure] = []
    for part in arguments.parts:
        lines, raw = PARTS[part](published.get(part, {}), arguments.overrides)
        figures += lines
        data[part] = {
            "command": " ".join(["python -m bench.published", part, *settings]),
            "cores": Host().cpu_count(),
            "figures": [
                {"name": f.name, "asked": f.asked, "measured": f.measured, "error": f.error}
                for f in lines
            ],
            "raw": raw,
        }
        kept.write_text(json.dumps(data, indent=1) + "\n")
    return conclude(figures)


if __name__ == "__main__":
    sys.exit(main())
