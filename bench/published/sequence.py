"""The storage article's own way: one fresh database, then 4, 16, 32, 64 clients in that order.

No trial is repeated and nothing is reset, as in the article, whose every later figure hangs on the
trials before it. Its sizes are taken at 0.3: scale 1000, shared_buffers 4GB, 32 GiB of memory and
PostgreSQL's max_wal_size of 1GB become 300, 1200MB, 9.6 GiB and 300MB. The dataset is in the page
cache at the start, as it is after it was made.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fidelity.database import database
from bench.fidelity.workshop import MIB, Workshop
from bench.figures import MEMORY
from groundspeed.cli import session
from groundspeed.storage import catalogue
from groundspeed.targets import process
from groundspeed.targets.leases import LeaseFile

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENTS = (4, 16, 32, 64)
_SCALE = 300
_CACHE_BYTES = (9830 - 1200) * MIB
_SETTINGS = (
    ("shared_buffers", "1200MB"),
    ("wal_buffers", "64MB"),
    ("max_wal_size", "300MB"),
    ("max_connections", "200"),
    ("checkpoint_completion_target", "0.9"),
    ("checkpoint_timeout", "5min"),
    ("random_page_cost", "1.1"),
    ("autovacuum", "on"),
)


def tps_by_clients(profile: str, duration_s: int) -> dict[int, float]:
    """Measure TPS of tpcb-like on an emulated device, for each number of clients."""
    with session.signals_interrupt(), LeaseFile("published") as lease:
        shop = Workshop(lease=lease, account=process.unprivileged_account(), quick=False)
        with (
            database(shop, Path(MEMORY), scale=_SCALE, settings=_SETTINGS) as served,
            shop.device(
                catalogue.profile(profile),
                served.data_directory,
                cache_bytes=_CACHE_BYTES,
                account=shop.account,
            ) as device,
        ):
            _read_all(served.data_directory, device.variables)
            with served.running(device.variables):
                return {
                    clients: served.tps_per_s(
                        *("-c", str(clients), "-j", "2", "-T", str(duration_s))
                    )
                    for clients in CLIENTS
                }


def _read_all(directory: Path, variables: Mapping[str, str]) -> None:
    files = [path for path in (directory / "base").rglob("*") if path.is_file()]
    with Path(os.devnull).open("wb") as nowhere:
        subprocess.run(
            ["cat", *map(str, files)],  # noqa: S607
            stdout=nowhere,
            env={**os.environ, **variables},
            check=True,
        )
