"""The database probe where an extension knows more; skipped where no server here has it."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.database import DatabaseSampler
from groundspeed.record.evidence import WaitGroup
from groundspeed.targets import installation
from tests.server import given as servers
from tests.server.watched_load import LOAD_S, TICKS_PER_SECOND, Load, drive, transactions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.given import Given

VERSIONS = (15, 16, 18)


def control(given: Given, version: int, *arguments: str) -> None:
    program = str(installation.find(version).bin_dir / "pg_ctl")
    subprocess.run(
        [*servers._as_nobody(), program, *arguments, "-w", "-D", str(given.home / "data")],
        check=True,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def version_with(extension: str) -> int:
    for found in installation.find_installations():
        if found.major in VERSIONS:
            told = subprocess.run(
                [found.bin_dir / "pg_config", "--sharedir"],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            if (Path(told.stdout.strip()) / "extension" / f"{extension}.control").exists():
                return found.major
    pytest.skip(f"no PostgreSQL here has {extension}")


@contextmanager
def serve_with(extension: str) -> Iterator[Load]:
    version = version_with(extension)
    with servers.serve(version) as given:
        given.execute(f"ALTER SYSTEM SET shared_preload_libraries = '{extension}'")
        # The server started anew is no child of the tests: it is ended by its data directory.
        control(given, version, "restart", "-l", str(given.home / "data" / "log"))
        try:
            given.execute(f"CREATE EXTENSION {extension}")
            load = Load(given, version)
            load.fill()
            yield load
        finally:
            control(given, version, "stop", "-m", "immediate")


def test_the_statements_that_took_longest_are_those_of_the_load() -> None:
    with serve_with("pg_stat_statements") as load:
        sampler = DatabaseSampler(load.points(), waits=True)
        try:
            sampler.begin()
            _, printed = drive(sampler, load.start(), {})
            part = sampler.end()
        finally:
            sampler.close()
    assert "statements" not in {absent.what for absent in part.absent}
    assert part.postgres is not None
    statements = part.postgres.statements
    assert len(statements) == 5
    assert statements[0].query.startswith("UPDATE pgbench_")
    assert statements[0].elapsed_s == max(statement.elapsed_s for statement in statements)
    assert {statement.call_count for statement in statements} == {transactions_of(printed)}
    assert all("probe" not in statement.query for statement in statements)


def test_pg_wait_sampling_is_the_source_where_it_samples_all() -> None:
    with serve_with("pg_wait_sampling") as load:
        samples_cpu = load.given.execute(
            "SELECT current_setting('pg_wait_sampling.sample_cpu', true)"
        )
        sampler = DatabaseSampler(load.points(), waits=True)
        try:
            sampler.begin()
            seconds, _ = drive(sampler, load.start(), {})
            part = sampler.end()
        finally:
            sampler.close()
    assert seconds
    locks = [w for w in part.waits if w.group is WaitGroup.CLIENT and w.wait_class == "Lock"]
    assert locks
    if samples_cpu == [("on",)]:
        assert part.wait_source == "pg_wait_sampling"
        # A hundred a second, as its collector gets to it.
        assert part.activity_sample_count > 2 * LOAD_S * TICKS_PER_SECOND
    else:
        assert part.wait_source == "pg_stat_activity"
        assert "pg-wait-sampling" in {absent.what for absent in part.absent}
