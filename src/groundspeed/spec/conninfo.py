"""Connection strings of libpq: read and written by the driver itself.

It is loaded where there is one to read: most commands never see one, and it is a quarter of what
they load.
"""

from __future__ import annotations

from typing import Any


def parameters_of(dsn: str) -> dict[str, Any]:
    """Take a connection string apart. Raises ValueError for what libpq cannot read."""
    from psycopg import conninfo, errors  # noqa: PLC0415 - see above

    try:
        return conninfo.conninfo_to_dict(dsn)
    except errors.ProgrammingError:
        # libpq's own words may quote the password, so they are not passed on.
        raise ValueError("libpq cannot read it") from None


def made_of(dsn: str = "", **parameters: Any) -> str:  # noqa: ANN401 - as libpq takes them
    """Write a connection string, with parameters added or replaced."""
    from psycopg import conninfo  # noqa: PLC0415 - see above

    return conninfo.make_conninfo(dsn, **parameters)
