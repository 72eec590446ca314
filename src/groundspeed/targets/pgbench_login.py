"""How pgbench gets into a database: libpq's variables, and a password file in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.targets.load import Login

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.targets.sql import Address


def login(address: Address, variables: Mapping[str, str] | None = None) -> Login:
    """Make the login of an address; `variables` are libpq's beyond the connection string."""
    ours = {**(variables or {}), "PGCONNECT_TIMEOUT": "10", "PGAPPNAME": "pgbench"}
    if address.password is None:
        return Login(variables=tuple(ours.items()))
    escaped = address.password.replace("\\", "\\\\").replace(":", "\\:")
    return Login(
        variables=tuple(ours.items()), secret_files=(("PGPASSFILE", f"*:*:*:*:{escaped}\n"),)
    )
