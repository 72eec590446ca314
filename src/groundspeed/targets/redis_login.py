"""How redis-benchmark gets into a server: its password is in no argument that others can read.

See native/secret_arguments.c.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from groundspeed import native
from groundspeed.targets import leases, places
from groundspeed.targets.load import Login
from groundspeed.targets.preloadable import refuse_unloadable
from groundspeed.tools import redis_benchmark

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account

_LIBRARY = "secret_arguments.so"
# LD_PRELOAD is a list: a path with one of these in it cannot be named.
_SEPARATORS = frozenset(": \t\n")


def library(run_id: str, account: Account | None, lease: LeaseFile) -> Path:
    """Find the library, or a copy where the load's user may not read it. Raises TargetError."""
    built, home = native.library_path(_LIBRARY), f"{leases.OWNED_NAME}{run_id}-secret"
    if _SEPARATORS & set(str(built)):
        return places.copied_file(built, home, account, lease)
    return places.reachable_file(built, home, account, lease)


def login(
    password: str | None, program: Path, library: Path | None, account: Account | None
) -> Login:
    """Make the login of a load tool; without a password nothing is loaded into it.

    Raises TargetError for a program that would not load the library.
    """
    if password is None:
        return Login()
    assert library is not None  # noqa: S101 - the maker finds it where there is a password
    uid, gid = (os.getuid(), os.getgid()) if account is None else (account.uid, account.gid)
    refuse_unloadable(program, library, uid=uid, gid=gid)
    return Login(
        variables=(
            ("LD_PRELOAD", str(library)),
            ("GROUNDSPEED_SECRET_FOR", str(program.resolve())),
            ("GROUNDSPEED_SECRET_MARK", redis_benchmark.PASSWORD_MARK),
        ),
        secret_files=(("GROUNDSPEED_SECRET_FILE", password),),
    )
