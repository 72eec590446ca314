"""Durability: a server on an emulated volume is killed in the middle of writing, five times.

It is started again without the emulation. Recovery must succeed, pgbench's tables must balance,
and no transaction that pgbench was told is committed may be missing. This shows that the shim
leaves order and completeness of real calls alone; it is no power cut, the kernel lives on.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fidelity.database import database
from bench.fidelity.line import Line
from bench.fidelity.workshop import MIB
from bench.figures import MEMORY
from groundspeed.errors import TargetError
from groundspeed.storage import catalogue
from groundspeed.targets import sql

if TYPE_CHECKING:
    from bench.fidelity.database import Database
    from bench.fidelity.workshop import Workshop

_KILLS = 5
_SCALE = 5
_CLIENTS = 8
_CACHE_BYTES = 1024 * MIB
_SUMS = """
SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers),
       (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history),
       (SELECT count(*) FROM pgbench_history)
"""


def measure(shop: Workshop) -> list[Line]:
    """Kill, recover and compare, five times on one cluster."""
    sound, lost, told, history, why = 0, 0, 0, 0, []
    with database(shop, Path(MEMORY), scale=_SCALE) as served:
        for number in range(_KILLS):
            acknowledged = _killed_while_writing(shop, served, number)
            told += acknowledged
            try:
                *sums, rows = _recovered(served)
            except TargetError as error:
                why.append(error.message)
                break
            # Of those that were in flight some are committed and not told.
            missing = max(0, acknowledged - (int(str(rows)) - history))
            lost += missing
            history = int(str(rows))
            if len(set(sums)) == 1 and not missing:
                sound += 1
            else:
                why.append(f"sums {sums}, {missing} lost")
    gp3 = "killed with -9 on emulated aws-gp3, recovered without emulation"
    return [
        Line(
            what=f"tpcb-like {gp3}: tables balance",
            asked=f"{_KILLS} of {_KILLS}",
            measured=f"{sound} of {_KILLS}" + "".join(f"; {reason}" for reason in why),
            error=f"{_KILLS - sound}",
            allowed="0",
            met=sound == _KILLS,
            raw={"sound_count": sound, "why": why},
        ),
        Line(
            what=f"tpcb-like {gp3}: acknowledged and lost",
            asked="0",
            measured=f"{lost} of {told:,} transactions",
            error=f"{lost}",
            allowed="0",
            met=lost == 0 and told > 0,
            raw={"acknowledged_count": told, "lost_count": lost},
        ),
    ]


def _killed_while_writing(shop: Workshop, served: Database, number: int) -> int:
    """Run pgbench and kill the server in it; how many transactions pgbench was told of."""
    prefix = f"told-{number}"
    with (
        shop.device(
            catalogue.profile("aws-gp3"),
            served.data_directory,
            cache_bytes=_CACHE_BYTES,
            account=shop.account,
        ) as device,
        served.running(device.variables) as server,
        served.load(
            "--no-vacuum", "-b", "tpcb-like", "-c", str(_CLIENTS), "-T", "60", "-l",
            f"--log-prefix={prefix}",
        ) as load,
    ):  # fmt: skip
        # Long enough to be in the middle, and never twice in the same place.
        select.select([], [], [], shop.dice.uniform(1.0, shop.choose(6, 2)))
        if server.pid is None or load.poll() is not None:
            raise SystemExit("the load ended before the server was killed")
        _kill_all(server.pid)
        load.communicate()
    return sum(path.read_bytes().count(b"\n") for path in served.home.glob(f"{prefix}.*"))


def _kill_all(postmaster: int) -> None:
    """Kill the postmaster and each of its children by its id, all of them our own."""
    listed = Path(f"/proc/{postmaster}/task/{postmaster}/children")
    # Stopped first: it starts no more children, and reaps none whose id could be another's then.
    os.kill(postmaster, signal.SIGSTOP)
    for pid in listed.read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    os.kill(postmaster, signal.SIGKILL)


def _recovered(served: Database) -> tuple[object, ...]:
    """Start the server without emulation and ask for the sums."""
    with served.running() as server:
        found = served.ask(_SUMS)
        sql.checkpoint(served.address)
        server.stop()
    return found
