"""What it costs to bring a dataset back to its first state, and how nearly each way does.

    python -m bench.reset_cost [--scales 10 100] [--rounds R] [--save] [--quick]

Every round starts each way from a byte-for-byte copy of the initialised cluster, writes to it with
tpcb-like, and then times the way back until all of it is on the storage (CHECKPOINT, or a sync of
the file system after copying files). What all ways share - stopping and starting the server - is
not counted. Then the server is started anew, its buffers are filled as groundspeed does, and the
load is repeated: the throughput of its first second is compared with that after a full copy of the
same round, which is the fresh state by construction.

Reflink clones need btrfs or XFS: both are made in a file and mounted in a private mount namespace,
where this machine can. It refuses to guess: a way that cannot be measured is named and left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bench.figures import Figure, Server, conclude, interval, save, standing_server
from groundspeed.targets import places, sql
from groundspeed.targets.local import DATABASE, SUPERUSER
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Way = Callable[[Server, Path], float]

DISK = "/var/tmp"  # noqa: S108 - on a disk, and everybody may enter
TEMPLATE = "pristine"
IMAGE_BYTES = 24 * 1024**3
IN_NAMESPACE = "GROUNDSPEED_BENCH_NAMESPACE"
SETTINGS = (("shared_buffers", "1GB"), ("max_connections", "200"))
FULL_COPY = "full copy"
MAKE_FILESYSTEM = {"btrfs": ("mkfs.btrfs", "-q"), "xfs": ("mkfs.xfs", "-q", "-m", "reflink=1")}


def execute(server: Server, database: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements one by one; give the rows of the last if it has any."""
    with sql.connect(server.address.at(database)) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def timed(action: Callable[[], object]) -> float:
    """Seconds that an action takes."""
    started_s = time.monotonic()
    action()
    return time.monotonic() - started_s


def copy_files(source: Path, copy: Path) -> None:
    """Copy a directory block by block, and sync its file system."""
    # Said expressly: cp shares blocks of its own accord where it can.
    subprocess.run(["cp", "-a", "--reflink=never", source, copy], check=True)  # noqa: S607
    subprocess.run(["sync", "-f", copy], check=True)  # noqa: S607


def by_vacuum(server: Server, pristine: Path) -> float:
    """VACUUM, TRUNCATE of the history, CHECKPOINT."""
    del pristine

    def back() -> None:
        sql.vacuum(server.address)
        sql.checkpoint(server.address)

    return timed(back)


def by_late_vacuum(server: Server, pristine: Path) -> float:
    """The same after a stop and a start: pages are logged in full, and the buffers are cold."""
    server.stop()
    server.start()
    return by_vacuum(server, pristine)


def by_template(strategy: str, server: Server, pristine: Path) -> float:
    """Drop the database and create it from a template."""
    del pristine
    return timed(
        lambda: execute(
            server,
            SUPERUSER,
            f"DROP DATABASE {DATABASE} WITH (FORCE)",
            f"CREATE DATABASE {DATABASE} TEMPLATE {TEMPLATE} STRATEGY {strategy}",
            "CHECKPOINT",
        )
    )


def by_copy(server: Server, pristine: Path) -> float:
    """Copy all files of the stopped server."""
    server.stop()

    def back() -> None:
        shutil.rmtree(server.data_directory)
        copy_files(pristine, server.data_directory)

    return timed(back)


def by_clone(server: Server, pristine: Path) -> float:
    """Share all blocks of the files of the stopped server."""
    server.stop()

    def back() -> None:
        shutil.rmtree(server.data_directory)
        places.clone(pristine, server.data_directory)
        subprocess.run(["sync", "-f", server.data_directory], check=True)  # noqa: S607

    return timed(back)


DISK_WAYS: dict[str, Way] = {
    FULL_COPY: by_copy,
    "vacuum": by_vacuum,
    "vacuum after a restart": by_late_vacuum,
    "template, file_copy": partial(by_template, "file_copy"),
    "template, wal_log": partial(by_template, "wal_log"),
}
CLONING_WAYS: dict[str, Way] = {FULL_COPY: by_copy, "reflink clone": by_clone, "vacuum": by_vacuum}


def first_second_tps(stderr: str) -> float:
    """Throughput of the first second, from pgbench's own progress."""
    lines = map(pgbench.parse_progress, stderr.splitlines())
    return next(line.tps_per_s for line in lines if line is not None)


def load_arguments(server: Server, duration_s: int) -> list[str]:
    """Arguments of the load, the same before and after."""
    return ["-n", "-c", "8", "-j", "2", "-T", str(duration_s), "-P", "1", "-b", "tpcb-like",
            "--random-seed=1", server.conninfo]  # fmt: skip


def state(server: Server) -> dict[str, int]:
    """Bytes of the tables with their indexes, and dead rows as the statistics have them."""
    ((size, dead),) = execute(
        server,
        DATABASE,
        "SELECT pg_stat_force_next_flush()",
        "SELECT sum(pg_total_relation_size(relid))::bigint, sum(n_dead_tup)::bigint"
        " FROM pg_stat_user_tables",
    )
    return {"table_bytes": size, "dead_rows_count": dead}


def one_way(server: Server, way: Way, pristine: Path, scale: int, load_s: int) -> dict[str, float]:
    """Dirty the dataset, bring it back one way, and see how it is then."""
    server.stop()
    shutil.rmtree(server.data_directory)
    copy_files(pristine, server.data_directory)
    server.start()
    # Each must find the same, so also those have it that do not need it.
    sql.fill_buffers(server.address, scale)
    if isinstance(way, partial):
        execute(server, SUPERUSER, f"CREATE DATABASE {TEMPLATE} TEMPLATE {DATABASE}", "CHECKPOINT")
    server.bare_pgbench(load_arguments(server, load_s))
    sql.wait_for_clients_to_leave(server.address)
    cost_s = way(server, pristine)
    server.stop()
    server.start()
    found = state(server)
    sql.fill_buffers(server.address, scale)
    sql.checkpoint(server.address)
    again = server.bare_pgbench(load_arguments(server, 3))
    return {
        "cost_s": cost_s,
        **found,
        "first_second_tps_per_s": first_second_tps(again.stderr),
    }


def measure(
    directory: Path, ways: dict[str, Way], *, scale: int, rounds: int, load_s: int
) -> dict[str, list[dict[str, float]]]:
    """Give what each round found, by way."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with standing_server(directory, scale=scale, settings=SETTINGS) as server:
        pristine = server.data_directory.with_name("pristine")
        copy_files(server.data_directory, pristine)
        for number in range(rounds):
            # Another one is first in every round.
            names = [*ways][number % len(ways) :] + [*ways][: number % len(ways)]
            for name in names:
                print(f"scale {scale}, round {number + 1}: {name}", file=sys.stderr)
                found[name].append(one_way(server, ways[name], pristine, scale, load_s))
    return found


@contextmanager
def filesystem(kind: str, directory: Path) -> Iterator[Path]:
    """Make a file system in a file and mount it. Raises OSError or CalledProcessError."""
    image, mounted = directory / f"{kind}.image", directory / kind
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    mounted.mkdir()
    subprocess.run([*MAKE_FILESYSTEM[kind], str(image)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)  # noqa: S607
    try:
        mounted.chmod(0o755)
        yield mounted
    finally:
        subprocess.run(["umount", mounted], check=True)  # noqa: S607
        image.unlink()


def enter_private_namespace() -> None:
    """Start again where mounts are nobody else's; returns where that is not allowed."""
    if os.environ.get(IN_NAMESPACE) or os.geteuid() != 0 or shutil.which("unshare") is None:
        return
    os.environ[IN_NAMESPACE] = "1"
    program = ["unshare", "--mount", "--propagation", "private", sys.executable]
    os.execvp("unshare", [*program, "-m", "bench.reset_cost", *sys.argv[1:]])  # noqa: S606, S607


def measure_all(
    scales: list[int], rounds: int, load_s: int
) -> dict[tuple[str, int], dict[str, list[dict[str, float]]]]:
    """Give what was found, by storage and scale, then by way."""
    found = {}
    with TemporaryDirectory(dir=DISK) as name:
        directory = Path(name)
        directory.chmod(0o755)
        settings = {"rounds": rounds, "load_s": load_s}
        for scale in scales:
            found["disk", scale] = measure(directory, DISK_WAYS, scale=scale, **settings)
        for kind in MAKE_FILESYSTEM:
            if IN_NAMESPACE not in os.environ:
                print(f"{kind}: left out, mounting needs root and unshare", file=sys.stderr)
                continue
            try:
                with filesystem(kind, directory) as mounted:
                    for scale in scales:
                        key = f"{kind} in a file", scale
                        found[key] = measure(mounted, CLONING_WAYS, scale=scale, **settings)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{kind}: left out, {error}", file=sys.stderr)
    return found


def figures(storage: str, scale: int, ways: dict[str, list[dict[str, float]]]) -> Iterator[Figure]:
    """Word what was found on one storage at one scale."""
    fresh = ways[FULL_COPY]
    for way, rounds in ways.items():
        costs = [each["cost_s"] for each in rounds]
        growth = [
            each["table_bytes"] / first["table_bytes"]
            for each, first in zip(rounds, fresh, strict=True)
        ]
        tps = [
            each["first_second_tps_per_s"] / first["first_second_tps_per_s"]
            for each, first in zip(rounds, fresh, strict=True)
        ]
        where = f"{storage}, scale {scale}, {way}"
        yield Figure(
            name=f"{where}: cost",
            measured=f"{median(costs):.2f} s",
            error=interval(costs, digits=2, unit=" s"),
        )
        yield Figure(
            name=f"{where}: first second / fresh",
            measured=f"{median(tps):.3f}",
            error=interval(tps),
        )
        yield Figure(
            name=f"{where}: size / fresh",
            measured=f"{median(growth):.4f}",
            error=f"dead rows: at most {max(each['dead_rows_count'] for each in rounds):,.0f}",
        )


def main() -> int:
    """Measure and print the table; nothing is asked, so nothing can be missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.reset_cost", description=__doc__)
    parser.add_argument("--scales", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--load", type=int, default=8, help="seconds of writing before a reset")
    parser.add_argument("--save", action="store_true", help="write bench/data/reset-cost.json")
    parser.add_argument("--quick", action="store_true", help="scale 10, 2 rounds")
    asked = parser.parse_args()
    enter_private_namespace()
    scales, rounds, load_s = asked.scales, asked.rounds, asked.load
    if asked.quick:
        scales, rounds, load_s = [10], 2, 3
    found = measure_all(scales, rounds, load_s)
    if asked.save:
        save(
            "reset-cost.json",
            ["bench.reset_cost", *sys.argv[1:]],
            {
                "settings": dict(SETTINGS),
                "load": {"workload": "tpcb-like", "clients": 8, "threads": 2, "duration_s": load_s},
                "results": [
                    {"storage": storage, "scale": scale, "way": way, "rounds": rounds}
                    for (storage, scale), ways in found.items()
                    for way, rounds in ways.items()
                ],
            },
        )
    return conclude([f for (storage, scale), ways in found.items()
                     for f in figures(storage, scale, ways)])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
