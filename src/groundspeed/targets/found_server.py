"""A server's program, found on this machine."""

from __future__ import annotations

from pathlib import Path

import msgspec


class FoundServer(msgspec.Struct, frozen=True, kw_only=True):
    """The program of a server and what it is, such as PostgreSQL 16.4."""

    title: str
    program: Path
