"""What the emulator itself takes: of TPS with a null profile, of calls that owe nothing.

Two servers with the same data, one on the null device, are measured in ABBA order. Each block
starts both anew and changes which of the two data directories is on the device: where pages and
code happen to lie differs from start to start by more than what is looked for.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.fidelity.database import NATIVE, database
from bench.fidelity.line import Line, Unit, below, not_possible
from bench.fidelity.pairs import abba
from bench.fidelity.workshop import MIB, fill
from bench.figures import MEMORY, interval
from groundspeed.stats.median import median_interval
from groundspeed.storage import catalogue
from groundspeed.targets import process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.fidelity.database import Database
    from bench.fidelity.workshop import Workshop

_ALLOWED_RATIO = 0.01
_ALLOWED_CALL_S = 100e-9
_CACHE_BYTES = 2048 * MIB
_SCALE = 10
_CLIENTS = 10
_NS = Unit(word=" ns", scale=1e9, digits=1)
_SOURCE = Path(__file__).parent.parent / "shim_cost.c"
_FILE_BYTES = 64 * MIB
_CALLS = (
    "cached read of 8 KiB, of 512 KiB",
    "cached read of 8 KiB, of 64 MiB",
    "read or write of a pipe",
)


def measure(shop: Workshop) -> list[Line]:
    """Measure transactions and calls."""
    return [
        _transactions(shop, "data in shared buffers", "512MB", judged=True),
        _transactions(shop, "data in the page cache, shared buffers 16 MB", "16MB", judged=False),
        *_calls(shop),
    ]


def _transactions(shop: Workshop, where: str, shared_buffers: str, *, judged: bool) -> Line:
    settings = (("shared_buffers", shared_buffers),)
    with (
        database(shop, Path(MEMORY), scale=_SCALE, settings=settings) as first,
        database(shop, Path(MEMORY), scale=_SCALE, settings=settings) as second,
    ):
        blocks = []
        for number in range(shop.choose(12 if judged else 6, 2)):
            servers = (first, second) if number % 2 == 0 else (second, first)
            blocks.append(_block(shop, *servers))
    ratios = [sum(emulated) / sum(native) for native, emulated in blocks]
    lost = 1 - median_interval(ratios).median
    return Line(
        what=f"null profile: TPS of select-only, {_CLIENTS} clients, {where}",
        asked=f"{median([tps for native, _ in blocks for tps in native]):,.0f} TPS without",
        measured=f"ratio {interval(ratios, digits=4)}",
        error=f"{-lost:+.2%}",
        allowed=f"-{_ALLOWED_RATIO:.0%}" if judged else "not judged",
        met=lost <= _ALLOWED_RATIO if judged else None,
        raw={"blocks": [[list(native), list(emulated)] for native, emulated in blocks]},
    )


def _block(
    shop: Workshop, native: Database, emulated: Database
) -> tuple[Sequence[float], Sequence[float]]:
    """Measure ABBA on two servers that were just started and filled."""
    with ExitStack() as stack:
        device = stack.enter_context(
            shop.device(
                catalogue.profile("null"),
                emulated.data_directory,
                cache_bytes=_CACHE_BYTES,
                account=shop.account,
            )
        )
        for server, variables in ((native, NATIVE), (emulated, device.variables)):
            stack.enter_context(server.running(variables))
            server.warm()
            _tps_per_s(server, 1)
        duration_s = shop.choose(3, 2)
        return abba(lambda shimmed: _tps_per_s(emulated if shimmed else native, duration_s))


def _tps_per_s(server: Database, duration_s: int) -> float:
    return server.tps_per_s("-b", "select-only", "-c", str(_CLIENTS), "-T", str(duration_s))


def _calls(shop: Workshop) -> list[Line]:
    what = "null profile: time added to a"
    with shop.directory(Path(os.environ.get("TMPDIR", "/tmp"))) as built, shop.directory() as root:  # noqa: S108
        program = built / "shim_cost"
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, "-O2", "-std=gnu11", "-o", str(program), str(_SOURCE)]
        try:
            subprocess.run(command, check=True)
        except OSError:
            return [not_possible(f"{what} call", f"no C compiler ({compiler[0]})")]
        file = fill(root / "a", _FILE_BYTES)
        with shop.device(catalogue.profile("null"), root, cache_bytes=4 * _FILE_BYTES) as device:
            argv: list[str | Path] = [program, file, str(shop.choose(1_000_000, 200_000))]
            pairs = []
            for _ in range(shop.choose(20, 6)):
                native, emulated = abba(
                    lambda shimmed: _ns_a_call(argv, device.variables if shimmed else NATIVE)
                )
                pairs.append((native, emulated))
    # Of the two halves of a way the quicker one: being interrupted only adds.
    return [
        below(
            f"{what} {call}",
            _ALLOWED_CALL_S,
            [
                (min(e[index] for e in emulated) - min(n[index] for n in native)) * 1e-9
                for native, emulated in pairs
            ],
            unit=_NS,
            asked=f"{median([n[index] for native, _ in pairs for n in native]):.0f} ns without",
        )
        for index, call in enumerate(_CALLS)
    ]


def _ns_a_call(argv: Sequence[str | Path], variables: Mapping[str, str]) -> tuple[float, ...]:
    done = process.run(argv, account=None, environment=variables)
    if done.returncode != 0:
        raise SystemExit(f"{argv[0]}: exit code {done.returncode} {done.stderr}")
    return tuple(map(float, done.stdout.split()))
