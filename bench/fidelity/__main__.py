"""Measures how right the storage emulation is and prints the table.

    python -m bench.fidelity [--only caps,latency,burst,cache,kernel,cost,durability] [--quick]

It ends with exit code 1 when a line is missed. A full run writes bench/data/fidelity.json; with
--only the other groups in it stay as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from bench.fidelity import burst, cache, caps, cost, durability, fio, kernel, latency
from bench.fidelity.line import Line, not_possible, print_table
from bench.fidelity.workshop import Workshop
from bench.figures import DATA, save
from groundspeed.errors import GroundspeedError
from groundspeed.targets import process
from groundspeed.targets.leases import LeaseFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_FILE = "fidelity.json"
GROUPS: dict[str, Callable[[Workshop], list[Line]]] = {
    "caps": caps.measure,
    "latency": latency.measure,
    "burst": burst.measure,
    "cache": cache.measure,
    "kernel": kernel.measure,
    "cost": cost.measure,
    "durability": durability.measure,
}
_WITHOUT_FIO = frozenset({"cost", "durability"})


def _groups(text: str) -> list[str]:
    asked = text.split(",")
    unknown = [name for name in asked if name not in GROUPS]
    if unknown:
        msg = f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}"
        raise argparse.ArgumentTypeError(msg)
    return asked


def _interrupt(number: int, _frame: FrameType | None) -> None:
    # Only once: what is being removed is removed to its end.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _measure(shop: Workshop, name: str) -> list[Line]:
    if name not in _WITHOUT_FIO and not fio.is_here():
        return [not_possible(name, "fio is missing (Debian, Ubuntu: apt-get install fio)")]
    shop.say(f"== {name}")
    return GROUPS[name](shop)


def _keep(found: dict[str, list[Line]], command: Sequence[str]) -> None:
    """Write the data; what other runs measured of other groups stays."""
    path = DATA / _FILE
    kept: dict[str, Any] = json.loads(path.read_text())["groups"] if path.exists() else {}
    for name, lines in found.items():
        kept[name] = [line.as_data() for line in lines]
    save(_FILE, command, {"groups": kept})


def main() -> int:
    """Measure what was asked for, print the table, keep the data."""
    parser = argparse.ArgumentParser(prog="python -m bench.fidelity", description=__doc__)
    parser.add_argument("--only", type=_groups, default=list(GROUPS), help="groups, by comma")
    parser.add_argument("--quick", action="store_true", help="minutes, rough, and not kept")
    asked = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    found: dict[str, list[Line]] = {}
    try:
        with LeaseFile(f"fidelity-{os.getpid()}") as lease:
            account = process.unprivileged_account()
            shop = Workshop(lease=lease, account=account, quick=asked.quick)
            for name in asked.only:
                found[name] = _measure(shop, name)
    except GroundspeedError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    code = print_table([line for lines in found.values() for line in lines])
    if not asked.quick:
        _keep(found, ["bench.fidelity", *sys.argv[1:]])
    return code


if __name__ == "__main__":
    sys.exit(main())
