"""Numbered entries in PostgreSQL: a row and a transaction each."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import psycopg

from groundspeed.errors import TargetError
from groundspeed.targets import sql
from groundspeed.targets.ledger import EntryWriters

if TYPE_CHECKING:
    from groundspeed.ports import Entry
    from groundspeed.targets.sql import Address

_TABLE = "groundspeed_ledger"


class _Writer:
    def __init__(self, address: Address) -> None:
        self._connection = psycopg.connect(
            address.conninfo, password=address.password, autocommit=True
        )

    def write(self, name: str) -> None:
        self._connection.execute(f"INSERT INTO {_TABLE} VALUES (%s)", (name,))  # noqa: S608 - ours

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._connection.close()


class PostgresLedger:
    """Implements `ports.Ledger`."""

    def __init__(self, address: Address) -> None:
        """Connect to nothing yet."""
        self._address = address
        self._writers = EntryWriters(lambda: _Writer(address))

    def open(self) -> None:
        """Make the table, and a checkpoint, so that it is there whatever comes."""
        with sql.connect(self._address) as connection:
            connection.execute(f"CREATE TABLE {_TABLE} (name text PRIMARY KEY)")
        sql.checkpoint(self._address)

    def write_for(self, limit_s: float) -> None:
        """Write for so long, one transaction an entry."""
        self._writers.write_for(limit_s)

    def close(self) -> tuple[Entry, ...]:
        """End all writing and give what was acknowledged."""
        return self._writers.close()

    def present(self) -> frozenset[str]:
        """Read all names; a table that cannot be read is a server that did not come back."""
        with sql.connect(self._address) as connection:
            try:
                # Not by the index alone: both have to be whole.
                connection.execute("SET enable_indexonlyscan = off")
                rows = connection.execute(f"SELECT name FROM {_TABLE}").fetchall()  # noqa: S608
            except psycopg.Error as error:
                told = str(error).strip().splitlines() or ["no reason given"]
                raise TargetError(
                    f"its table cannot be read: {told[0]}", "the files are damaged"
                ) from None
        return frozenset(str(name) for (name,) in rows)
