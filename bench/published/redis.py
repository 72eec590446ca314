"""Redis with an append-only file of large values, on an emulated local disk and over a network.

The article's redis-benchmark: 50,000 SETs of 180,000 bytes by 20 clients, `appendonly yes`, default
`appendfsync everysec`. Both servers run on emulated devices by `groundspeed emulate`.
"""

from __future__ import annotations

import csv
import io
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MEMORY = "/dev/shm"  # noqa: S108 - a tmpfs is what is wanted
_DEVICES = {
    "local": ("local-sata-plp",),
    "longhorn": ("longhorn-2r", "--set", "link=1Gbit/s"),
}
_TRIES, _TRY_S = 600, 0.05
_LIMIT_S = 900


def sets_per_s(name: str, requests: int) -> float:
    """Measure SETs a second on one of the devices, "local" or "longhorn"."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        socket = Path(directory, "s")
        profile, *options = _DEVICES[name]
        emulate = [sys.executable, "-m", "groundspeed.cli.main", "emulate", profile, *options]
        place = ["--directory", directory, "--memory", "8GiB", "--"]
        # One save point that is never reached: the article's thresholds save one key, at no cost.
        server = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", directory]
        server += ["--appendonly", "yes", "--save", "3600 1 300 100 60 10000"]
        benchmark = ["redis-benchmark", "-s", str(socket), "-n", str(requests), "-c", "20"]
        benchmark += ["-d", "180000", "-k", "1", "-t", "set", "--csv"]
        with subprocess.Popen(
            [*emulate, *place, *server], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                _wait_until_it_answers(socket)
                done = subprocess.run(
                    benchmark,
                    capture_output=True,
                    text=True,
                    check=True,
                    timeout=_LIMIT_S,
                )
            finally:
                process.terminate()
        rows = list(csv.reader(io.StringIO(done.stdout)))
        return float(next(row for row in rows if row[0] == "SET")[1])


def _wait_until_it_answers(socket: Path) -> None:
    for _ in range(_TRIES):
        asked = subprocess.run(
            ["redis-cli", "-s", str(socket), "ping"],  # noqa: S607
            capture_output=True,
            check=False,
        )
        if asked.stdout.strip() == b"PONG":
            return
        select.select([], [], [], _TRY_S)
    raise SystemExit("redis-server does not answer")


def is_here() -> bool:
    """Tell whether the programs are installed."""
    return all(shutil.which(name) for name in ("redis-server", "redis-benchmark", "redis-cli"))
