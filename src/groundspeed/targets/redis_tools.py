"""The programs of one environment of Redis, where its users can reach them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.targets import leases, places, redis_login
from groundspeed.targets.redis_programs import Program, inspect_load_tool, inspect_server
from groundspeed.tools import redis_benchmark

if TYPE_CHECKING:
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account


class RedisTools(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of the server, of its load tool, and of the library that hides a password.

    A given server has no program here, and without a password nothing has to be hidden.
    """

    server: Path | None
    load_tool: Path
    library: Path | None

    def version_of(self, program: str) -> str:
        """Version of a program by its name. Raises TargetError when there is none."""
        if program == redis_benchmark.PROGRAM:
            return inspect_load_tool(self.load_tool, "").version
        if self.server is not None and program == self.server.name:
            return inspect_server(self.server, "").version
        raise TargetError(f"there is no {program} here", "see groundspeed doctor")


def reachable(program: Program, run_id: str, account: Account | None, lease: LeaseFile) -> Path:
    """Find a program, or a copy where the server's user may not reach it. Raises TargetError."""
    home = f"{leases.OWNED_NAME}{run_id}-programs-{program.product.lower()}-{program.version}"
    return places.reachable_file(program.path, home, account, lease)


def library(run_id: str, account: Account | None, lease: LeaseFile) -> Path:
    """Find the library that hides a password. Raises TargetError where it was not built."""
    return redis_login.library(run_id, account, lease)
