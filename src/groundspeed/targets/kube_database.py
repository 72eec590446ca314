"""The database of a run that another process may take over: its name, its owner, its dataset."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from psycopg import sql as texts

from groundspeed.errors import TargetError
from groundspeed.targets import sql

if TYPE_CHECKING:
    from groundspeed.targets.sql import Address

_TABLES = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers")
_ACCOUNTS_PER_SCALE, _TELLERS_PER_SCALE = 100_000, 10


def database_name(token: str, environment_slug: str) -> str:
    """Name a database alike in every process of a run; by its token nobody else's has that name."""
    digest = hashlib.sha256(f"{token}/{environment_slug}".encode()).hexdigest()
    return f"groundspeed_{digest[:12]}"


def take(address: Address, name: str, comment: str) -> None:
    """Create a database, or take over one that carries the comment. Raises TargetError.

    `address` is another database of that server.
    """
    with sql.connect(address) as connection:
        row = connection.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            (name,),
        ).fetchone()
    if row is None:
        sql.create_database(address, name, comment)
    elif row[0] is None:
        # A process of the run died between creating it and saying whose it is.
        with sql.connect(address) as connection:
            connection.execute(
                texts.SQL("COMMENT ON DATABASE {} IS {}").format(
                    texts.Identifier(name), texts.Literal(comment)
                )
            )
    elif row[0] != comment:
        raise TargetError(
            f"a database {name} is there that belongs to somebody else ({row[0]})",
            "drop it, if nobody needs it",
        )


def is_whole(address: Address, scale: int) -> bool:
    """Tell whether the pgbench dataset of a scale is there, down to its last step: its keys.

    Accounts are not counted, which would read all of them: they come in one transaction.
    """
    with sql.connect(address) as connection:
        keys = connection.execute(
            "SELECT count(*) FROM pg_index WHERE indisprimary AND indisvalid"
            " AND indrelid = ANY (ARRAY(SELECT to_regclass(name) FROM unnest(%s::text[]) name))",
            (list(_TABLES),),
        ).fetchone()
        history = connection.execute("SELECT to_regclass('pgbench_history')").fetchone()
        if keys != (len(_TABLES),) or history == (None,):
            return False
        sizes = connection.execute(
            "SELECT (SELECT count(*) FROM pgbench_branches),"
            " (SELECT count(*) FROM pgbench_tellers),"
            " (SELECT min(aid) FROM pgbench_accounts), (SELECT max(aid) FROM pgbench_accounts)"
        ).fetchone()
    return sizes == (scale, scale * _TELLERS_PER_SCALE, 1, scale * _ACCOUNTS_PER_SCALE)


def started_at(address: Address) -> str:
    """Ask when the server was started; another answer is another server. Raises TargetError."""
    with sql.connect(address) as connection:
        row = connection.execute("SELECT pg_postmaster_start_time()::text").fetchone()
    return "" if row is None else str(row[0])
