"""A PostgreSQL of somebody else: measured, and left as it was found."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from groundspeed.cli.main import main
from groundspeed.errors import ExitCode, GroundspeedError, TargetError
from groundspeed.record import Measured
from tests import leftovers, small_runs
from tests.small_runs import Listening, plan_of, suite_of

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.record import Record
    from tests.server.given import Given
    from tests.small_runs import Place

AWKWARD = "we\"ird <b>'db' & x"


def server(dsn: str, **more: str) -> dict[str, str]:
    return {"target": "server", "dsn": dsn, **more}


def measured(record: Record) -> Measured:
    assert isinstance(record.outcome, Measured), record.outcome
    return record.outcome


def fingerprint(given: Given) -> list[tuple[object, ...]]:
    """Everything of the server that is not groundspeed's: its databases and our own rows."""
    rows = given.execute(
        "SELECT datname, pg_get_userbyid(datdba), datacl::text,"
        " shobj_description(oid, 'pg_database') FROM pg_database ORDER BY 1"
    )
    rows += given.execute("SELECT md5(string_agg(t::text, ',' ORDER BY n)) FROM t", AWKWARD)
    return rows + given.execute("SELECT rolname FROM pg_roles ORDER BY 1")


@pytest.fixture(scope="module", autouse=True)
def _precious(given: Given) -> None:
    given.create_database(AWKWARD)
    given.execute("CREATE TABLE t AS SELECT n FROM generate_series(1, 500) n", AWKWARD)


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_only_a_database_of_our_own_is_made_and_dropped(
    place: Place, given: Given, host: str | None
) -> None:
    before = fingerprint(given)
    made = plan_of(
        suite_of(
            {AWKWARD: server(given.dsn(host=host, dbname=AWKWARD))},
            workloads=("tpcb-like", "select-only"),
        )
    )
    seen = set()
    listener = Listening(hooks={"measure": lambda: seen.update(given.databases())})
    records = place.measure(made, listener=listener, passwords={AWKWARD: given.password})
    assert [measured(r).failed_count for r in records] == [0, 0]
    assert len([name for name in seen if str(name).startswith("groundspeed_")]) == 1
    assert fingerprint(given) == before
    assert {r.provenance.storage for r in records} == {None}
    assert records[0].provenance.server is not None
    assert records[0].provenance.server.version.startswith("16.")


def test_a_wrong_password_is_one_clear_line(place: Place, given: Given) -> None:
    made = plan_of(suite_of({"a": server(given.dsn(dbname="postgres"))}))
    with pytest.raises(TargetError) as caught:
        place.measure(made, passwords={"a": "open-sesame"})
    error = caught.value
    assert error.exit_code == ExitCode.TARGET
    assert 'password authentication failed for user "owner"' in error.message
    assert "\n" not in error.message
    assert "open-sesame" not in error.message + error.hint
    assert "password_env" in error.hint


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"port": "1"}, "Connection refused"),
        ({"dbname": "no such <db>"}, 'database "no such <db>" does not exist'),
        ({"user": "nobody_here"}, "password authentication failed"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_clear_line(
    place: Place, given: Given, change: dict[str, str], told: str
) -> None:
    parameters = {"host": "127.0.0.1", "dbname": "postgres", **change}
    port = parameters.pop("port", None)
    dsn = given.dsn(**parameters)
    dsn = dsn.replace(f"port={given.port}", f"port={port}") if port else dsn
    with pytest.raises(TargetError, match=told) as caught:
        place.measure(plan_of(suite_of({"a": server(dsn)})), passwords={"a": given.password})
    assert "\n" not in caught.value.message
    assert given.password not in caught.value.message


def test_a_user_without_rights_is_told_which(place: Place, given: Given) -> None:
    password = given.create_user("humble", "NOSUPERUSER NOCREATEDB")
    made = plan_of(suite_of({"a": server(given.dsn(user="humble", dbname="postgres"))}))
    with pytest.raises(TargetError, match="permission denied to create database") as caught:
        place.measure(made, passwords={"a": password})
    assert "grant" in caught.value.hint


def test_a_user_who_may_only_create_databases_measures_with_cautions(
    place: Place, given: Given
) -> None:
    password = given.create_user("maker", "CREATEDB")
    before = given.databases()
    made = plan_of(suite_of({"a": server(given.dsn(user="maker", dbname="postgres"))}, repeats=2))
    records = place.measure(made, passwords={"a": password})
    for record in records:
        assert measured(record)
        codes = {c.code for c in record.cautions}
        assert {"no-checkpoint", "statistics-not-reset"} <= codes
    assert given.databases() == before


def test_the_clients_of_others_are_left_alone(place: Place, given: Given) -> None:
    with given.connect(AWKWARD) as other:
        other.execute("BEGIN")
        place.measure(
            plan_of(suite_of({"a": server(given.dsn(dbname=AWKWARD))}, workloads=("select-only",))),
            passwords={"a": given.password},
        )
        assert other.execute("SELECT 1").fetchone() == (1,)


# -- the password


def _files_with(secret: str, *roots: Path) -> list[Path]:
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if secret.encode() in path.read_bytes()]


def _spied_on(command: list[str], secret: str, environment: dict[str, str], cwd: Path) -> str:
    """Run a command, look for the secret in every other process meanwhile; gives its output."""
    sightings, looked = [], 0
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=small_runs.variables(**environment),
        cwd=cwd,
    ) as process:
        assert process.stdout is not None
        chunks = []
        while True:
            if select.select([process.stdout], [], [], 0.1)[0]:
                chunk = os.read(process.stdout.fileno(), 65536)
                if not chunk:
                    break
                chunks.append(chunk)
            for pid, cmdline in leftovers.processes_of(secret):
                looked += 1
                # A child between fork and exec is still a copy of its parent.
                if pid != process.pid and cmdline != " ".join(command):
                    sightings.append(cmdline)
    assert sightings == []
    assert looked or not environment
    output = b"".join(chunks).decode()
    assert process.returncode == 0, output
    return output


@pytest.mark.parametrize("way", ["variable", "dsn"])
def test_the_password_is_nowhere(
    place: Place, given: Given, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn = given.dsn(host="127.0.0.1", dbname="postgres")
    environment: dict[str, str] = {}
    if way == "variable":
        environment["THE_SECRET"] = given.password
        asked = server(dsn, password_env="THE_SECRET")
    else:
        asked = server(f"{dsn} password={given.password}")
    suite = place.root / "suite.yaml"
    suite.write_text(suite_of({"given <b>": asked}, workloads=("select-only",)))
    groundspeed = [sys.executable, "-m", "groundspeed.cli.main"]
    output = _spied_on(
        [*groundspeed, "run", str(suite), "--out", str(place.results), "--yes"],
        given.password,
        environment,
        place.root,
    )
    (run_dir,) = (path for path in place.results.iterdir() if path.is_dir())
    for form in ("terminal", "md", "html", "json", "csv"):
        assert main(["report", str(run_dir), "--format", form]) == ExitCode.OK
    output += "".join(capsys.readouterr())
    assert given.password not in output
    suite.unlink()
    assert _files_with(given.password, place.root) == []
    assert "given <b>" not in (run_dir / "report.html").read_text()


# -- TLS


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_connection_is_encrypted_as_asked(place: Place, encrypted: Given, mode: str) -> None:
    extra = {"sslrootcert": str(encrypted.home / "server.crt")} if mode == "verify-full" else {}
    dsn = encrypted.dsn(host="127.0.0.1", dbname="postgres", sslmode=mode, **extra)
    seen: list[object] = []

    def look() -> None:
        seen.extend(
            encrypted.execute(
                "SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)"
                " WHERE a.application_name = 'pgbench'"
            )
        )

    (record,) = place.measure(
        plan_of(suite_of({"a": server(dsn)}, workloads=("select-only",), duration="2s")),
        listener=Listening(hooks={"progress": look}),
        passwords={"a": encrypted.password},
    )
    assert measured(record)
    assert seen
    assert set(seen) == {(True,)}


def test_a_certificate_of_somebody_else_is_refused(place: Place, encrypted: Given) -> None:
    dsn = encrypted.dsn(
        host="127.0.0.1", dbname="postgres", sslmode="verify-full", sslrootcert="/dev/null"
    )
    with pytest.raises(GroundspeedError) as caught:
        place.measure(plan_of(suite_of({"a": server(dsn)})), passwords={"a": encrypted.password})
    assert caught.value.exit_code == ExitCode.TARGET
    assert "\n" not in caught.value.message
    assert "certificate" in caught.value.message
