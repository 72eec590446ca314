"""Numbered entries in Redis: a key each."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from groundspeed.targets import redis_client
from groundspeed.targets.ledger import EntryWriters

if TYPE_CHECKING:
    from groundspeed.ports import Entry
    from groundspeed.targets.redis_client import Address

_PREFIX = "groundspeed:ledger:"


class _Writer:
    def __init__(self, address: Address) -> None:
        self._stack = ExitStack()
        self._client = self._stack.enter_context(redis_client.connect(address))

    def write(self, name: str) -> None:
        self._client.ask("SET", _PREFIX + name, name)

    def close(self) -> None:
        self._stack.close()


class RedisLedger:
    """Implements `ports.Ledger`."""

    def __init__(self, address: Address) -> None:
        """Connect to nothing yet."""
        self._address = address
        self._writers = EntryWriters(lambda: _Writer(address))

    def open(self) -> None:
        """Nothing has to be made for keys."""

    def write_for(self, limit_s: float) -> None:
        """Write for so long, one command an entry."""
        self._writers.write_for(limit_s)

    def close(self) -> tuple[Entry, ...]:
        """End all writing and give what was acknowledged."""
        return self._writers.close()

    def present(self) -> frozenset[str]:
        """List all names."""
        with redis_client.connect(self._address) as client:
            # Nobody else uses this server, so that it may take its time.
            reply = client.ask("KEYS", f"{_PREFIX}*")
        keys = reply if isinstance(reply, tuple) else ()
        return frozenset(
            key.decode().removeprefix(_PREFIX) for key in keys if isinstance(key, bytes)
        )
