"""What groundspeed asks a PostgreSQL server over SQL, versions 13 to 18; owned or given.

A connection is held only while it is needed: none of ours is open while load is measured.
"""

from __future__ import annotations

import os
import re
import select
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import msgspec
import psycopg
from psycopg import sql

from groundspeed.errors import TargetError
from groundspeed.record import PLACE_SETTINGS, Caution, ServerFacts, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION_NAME = "groundspeed"
_CONNECT_TIMEOUT_S = 10
# pgbench writes one account every 61 rows of a page at fillfactor 100; a step below that touches
# every page of the table, and the lookups touch every leaf of its index.
_ACCOUNTS_PER_PAGE = 60
_ACCOUNTS_PER_SCALE = 100_000
_FILL_LIMIT_MS = 20_000

_SHARED_STATISTICS = (
    # (name for pg_stat_reset_shared, first version)
    ("bgwriter", 130000),
    ("archiver", 130000),
    ("wal", 140000),
    ("io", 160000),
    ("checkpointer", 170000),
)


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach a database. The password never shows in a repr or a message.

    `isolated`: PG* variables of the caller do not count, the connection string is all there is.
    """

    conninfo: str
    password: str | None
    isolated: bool = False

    def __repr__(self) -> str:
        """Show everything but the password."""
        return f"Address({self.conninfo!r})"

    def at(self, dbname: str) -> Address:
        """Name another database of the same server and user."""
        conninfo = psycopg.conninfo.make_conninfo(self.conninfo, dbname=dbname)
        return msgspec.structs.replace(self, conninfo=conninfo)


def _reason(error: psycopg.Error, address: Address) -> str:
    diagnosed = error.diag.message_primary if error.diag else None
    lines = str(error).strip().splitlines() or ["no reason given"]
    # libpq ends some failures with a question of its own on another line.
    telling = [line for line in lines if "failed: " in line or "FATAL" in line] or lines
    text = diagnosed or telling[-1].strip()
    text = re.sub(r"\s+", " ", text)
    return text.replace(address.password, "***") if address.password else text


def _hint(error: psycopg.Error) -> str:
    text = str(error)
    if "password" in text or "authentication" in text or "fe_sendauth" in text:
        return "check the user, and the variable named by password_env"
    if "permission" in text or "must be" in text:
        return "grant the right, or name a user in the dsn that has it"
    return "check that the server runs and that the dsn names it"


@contextmanager
def _without_libpq_variables() -> Iterator[None]:
    """Hide the caller's PG* variables from libpq: PGHOSTADDR would win over a socket of ours."""
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PG")}
    try:
        yield
    finally:
        os.environ.update(hidden)


@contextmanager
def connect(address: Address) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Open a connection that commits every statement. Raises TargetError for all of psycopg's."""
    try:
        with _without_libpq_variables() if address.isolated else nullcontext():
            connection = psycopg.connect(
                address.conninfo,
                password=address.password,
                autocommit=True,
                connect_timeout=_CONNECT_TIMEOUT_S,
                application_name=APPLICATION_NAME,
                # In a database of SQL_ASCII every text would come as bytes.
                client_encoding="UTF8",
            )
        with connection:
            yield connection
    except psycopg.Error as error:
        raise TargetError(f"PostgreSQL: {_reason(error, address)}", _hint(error)) from None


def answers(address: Address) -> bool:
    """Tell whether the server answers a query."""
    try:
        with connect(address) as connection:
            connection.execute("SELECT 1")
    except TargetError:
        return False
    return True


def facts(address: Address) -> ServerFacts:
    """Ask for version, settings that differ from their defaults, and extensions."""
    with connect(address) as connection:
        settings = connection.execute(
            "SELECT name, setting, unit, source FROM pg_settings"
            " WHERE source NOT IN ('default', 'client', 'session')"
            "   AND setting IS DISTINCT FROM boot_val ORDER BY name"
        ).fetchall()
        extensions = connection.execute(
            "SELECT extname || ' ' || extversion FROM pg_extension ORDER BY 1"
        ).fetchall()
        return ServerFacts(
            version=connection.info.parameter_status("server_version") or "",
            version_num=connection.info.server_version,
            settings=tuple(
                Setting(
                    name=str(name),
                    value=str(value),
                    unit=None if unit is None else str(unit),
                    source=str(source),
                )
                for name, value, unit, source in settings
                if name not in _PRIVATE_SETTINGS
            ),
            extensions=tuple(str(row[0]) for row in extensions),
        )


# Beside the places of a server: commands, which may hold secrets (a replication connection string
# has its password in it).
_PRIVATE_SETTINGS = PLACE_SETTINGS | {
    "archive_command",
    "primary_conninfo",
    "restore_command",
    "ssl_passphrase_command",
}


def checkpoint(address: Address) -> tuple[Caution, ...]:
    """Write all dirty pages; a caution where the user may not."""
    try:
        with connect(address) as connection:
            connection.execute("CHECKPOINT")
    except TargetError as error:
        return (
            Caution(
                code="no-checkpoint",
                message=f"no checkpoint before the trial ({error.message}):"
                " an earlier load's dirty pages may have cost it time",
            ),
        )
    return ()


def is_checkpointing(address: Address) -> bool:
    """Tell whether a checkpoint is under way. Raises TargetError."""
    with connect(address) as connection:
        # What an idle checkpointer waits for, since PostgreSQL 10; at work it is another or none.
        row = connection.execute(
            "SELECT wait_event IS DISTINCT FROM 'CheckpointerMain' FROM pg_stat_activity"
            " WHERE backend_type = 'checkpointer'"
        ).fetchone()
    return row == (True,)


def reset_statistics(address: Address) -> tuple[Caution, ...]:
    """Set statistics to zero, database and shared; a caution for what the user may not."""
    refused: list[str] = []
    with connect(address) as connection:
        version = connection.info.server_version
        statements = ["SELECT pg_stat_reset()"]
        statements += [
            f"SELECT pg_stat_reset_shared('{name}')"
            for name, first_version in _SHARED_STATISTICS
            if version >= first_version
        ]
        for statement in statements:
            try:
                connection.execute(statement.encode())
            except psycopg.errors.InsufficientPrivilege:
                refused.append(statement.removeprefix("SELECT "))
    if not refused:
        return ()
    message = f"statistics were not reset, the user may not call {', '.join(refused)}"
    return (Caution(code="statistics-not-reset", message=message),)


def wait_for_clients_to_leave(address: Address, *, limit_s: float = 30.0) -> None:
    """Return when no other client backend is left in the database, but those of groundspeed.

    A load that was ended leaves backends that finish their transaction first; that of the probes
    stays. Raises TargetError when some are there after `limit_s`.
    """
    with connect(address) as connection:
        pauses = [0.005] * 40 + [0.1] * int(limit_s * 10)
        for pause_s in pauses:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
                " AND starts_with(application_name, 'groundspeed') IS NOT TRUE"
            ).fetchone()
            if row == (0,):
                return
            select.select([], [], [], pause_s)
    raise TargetError(
        f"clients of an earlier load did not leave within {limit_s:g} s",
        "look at pg_stat_activity of that server",
    )


def fill_buffers(address: Address, scale: int) -> tuple[Caution, ...]:
    """Read the accounts table and its index through shared buffers, as far as they fit.

    By index lookups, because a sequential scan of a large table uses a small ring of buffers and
    leaves the cache as cold as before; pg_prewarm would do, but not every server has it. Where the
    dataset is larger than the buffers, evenly spaced pages fill them once: reading on would only
    push out what was just read. It is given up, with a caution, after 20 s.
    """
    with connect(address) as connection:
        for name in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"):
            connection.execute(sql.SQL("SET {} = off").format(sql.Identifier(name)))
        connection.execute(sql.SQL("SET statement_timeout = {}").format(_FILL_LIMIT_MS))
        row = connection.execute(
            "SELECT setting FROM pg_settings WHERE name = 'shared_buffers'"
        ).fetchone()
        buffer_pages = int(str(row[0])) if row else 1
        accounts = scale * _ACCOUNTS_PER_SCALE
        try:
            connection.execute(
                "SELECT count(a.abalance) FROM generate_series(1, %s, %s) AS g(aid)"
                " JOIN pgbench_accounts a USING (aid)",
                (accounts, max(_ACCOUNTS_PER_PAGE, accounts // buffer_pages)),
            )
            for table in ("pgbench_tellers", "pgbench_branches"):
                connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
        except psycopg.errors.QueryCanceled:
            return (
                Caution(
                    code="cold-buffers",
                    message=f"shared buffers were not full after {_FILL_LIMIT_MS // 1000} s: the"
                    " trial started colder than the server would be after hours",
                ),
            )
    return ()


def scale_of(address: Address) -> int:
    """Scale of the pgbench dataset in the database. Raises TargetError when there is none."""
    with connect(address) as connection:
        row = connection.execute("SELECT count(*) FROM pgbench_branches").fetchone()
    assert row is not None  # noqa: S101 - count(*) has a row
    return int(str(row[0]))


def vacuum(address: Address) -> None:
    """Make the space of dead rows free again and empty the history, as pgbench does itself."""
    with connect(address) as connection:
        connection.execute("TRUNCATE pgbench_history")
        connection.execute("VACUUM pgbench_branches, pgbench_tellers, pgbench_accounts")


def create_database(address: Address, name: str, comment: str) -> None:
    """Create a database with a comment that says whose it is. Raises TargetError."""
    with connect(address) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        connection.execute(
            sql.SQL("COMMENT ON DATABASE {} IS {}").format(
                sql.Identifier(name), sql.Literal(comment)
            )
        )


def drop_database(address: Address, name: str, comment: str) -> None:
    """Drop a database, with its connections, only if it carries the comment. Raises TargetError."""
    with connect(address) as connection:
        row = connection.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            (name,),
        ).fetchone()
        # Without any comment: we died between CREATE DATABASE and COMMENT. The name holds a
        # random part, so nobody else's database has it.
        if row is not None and row[0] in (comment, None):
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )
