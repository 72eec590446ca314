"""The articles' own way: one fresh database, then one number of clients after the other.

No trial is repeated and nothing is reset, as in the articles, whose every later figure hangs on the
trials before it: on the checkpoint and the write-back that they left behind.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One load of a sequence. `script` is None for pgbench's tpcb-like."""

    clients: int
    duration_s: int
    script: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The server that an article had: `cache_bytes` is its memory less its shared buffers."""

    scale: int
    cache_bytes: int
    settings: tuple[tuple[str, str], ...]


# "Your PostgreSQL Is Only As Fast As Its Storage" at 0.3 of its size: scale 1000, shared_buffers
# 4GB, 32 GiB of memory and PostgreSQL's max_wal_size of 1GB become 300, 1200MB, 9.6 GiB and 300MB.
STORAGE_ARTICLE = Setting(
    scale=300,
    cache_bytes=(9830 - 1200) * MIB,
    settings=(
        ("shared_buffers", "1200MB"),
        ("wal_buffers", "64MB"),
        ("max_wal_size", "300MB"),
        ("max_connections", "200"),
        ("checkpoint_completion_target", "0.9"),
        ("checkpoint_timeout", "5min"),
        ("random_page_cost", "1.1"),
        ("autovacuum", "on"),
    ),
)
# "Bare Metal vs. AWS RDS": 8 GiB of memory, its data of 1.5 GB under shared buffers of 1.9 GB.
BARE_METAL_ARTICLE = Setting(
    scale=100,
    cache_bytes=(8192 - 1900) * MIB,
    settings=(
        ("shared_buffers", "1900MB"),
        ("max_wal_size", "1GB"),
        ("max_connections", "200"),
        ("checkpoint_completion_target", "0.9"),
        ("checkpoint_timeout", "5min"),
        ("autovacuum", "on"),
    ),
)


def tps_of_steps(profile: str, setting: Setting, steps: tuple[Step, ...]) -> list[float]:
    """Measure TPS of each step on an emulated device, one after another.

    The dataset is in the page cache at the start, as it is after it was made.
    """
    with ExitStack() as stack:
        stack.enter_context(session.signals_interrupt())
        lease = stack.enter_context(LeaseFile("published"))
        shop = Workshop(lease=lease, account=process.unprivileged_account(), quick=False)
        served = stack.enter_context(
            database(shop, Path(MEMORY), scale=setting.scale, settings=setting.settings)
        )
        device = stack.enter_context(
            shop.device(
                catalogue.profile(profile),
                served.data_directory,
                cache_bytes=setting.cache_bytes,
                account=shop.account,
            )
        )
        _read_all(served.data_directory, device.variables)
        stack.enter_context(served.running(device.variables))
        scripts = Path(stack.enter_context(TemporaryDirectory()))
        scripts.chmod(0o755)
        return [served.tps_per_s(*_arguments(step, scripts)) for step in steps]


def _arguments(step: Step, scripts: Path) -> list[str]:
    arguments = ["-c", str(step.clients), "-j", str(min(2, step.clients))]
    arguments += ["-T", str(step.duration_s)]
    if step.script is not None:
        path = scripts / "script.sql"
        path.write_text(step.script)
        path.chmod(0o644)
        arguments += ["-f", str(path)]
    return arguments


def _read_all(directory: Path, variables: Mapping[str, str]) -> None:
    files = [path for path in (directory / "base").rglob("*") if path.is_file()]
    with Path(os.devnull).open("wb") as nowhere:
        subprocess.run(
            ["cat", *map(str, files)],  # noqa: S607
            stdout=nowhere,
            env={**os.environ, **variables},
            check=True,
        )
