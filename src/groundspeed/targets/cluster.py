"""Makes the data directory of a server of ours, and decides how that server is reached.

It asks for a password on every route, and listens on TCP only where the suite says so, and then on
127.0.0.1 only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import loopback, process
from groundspeed.targets.sql import Address

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.process import Account

DATABASE = "groundspeed"
SUPERUSER = "postgres"
# Of the run, not of the suite: they decide where the server is reached and what is left of it.
RESERVED_SETTINGS = frozenset(
    {
        "port",
        "listen_addresses",
        "unix_socket_directories",
        "data_directory",
        "hba_file",
        "ident_file",
        "logging_collector",
        "external_pid_file",
    }
)
_SOCKET_PORT = 5432


def refuse_reserved_settings(environment: EnvironmentPlan) -> None:
    """Raise TargetError for a setting that belongs to the run."""
    reserved = sorted(RESERVED_SETTINGS & {name.lower() for name, _ in environment.settings})
    if reserved:
        raise TargetError(
            f"{environment.name}: the setting {reserved[0]} belongs to groundspeed",
            f"leave it out; listen: loopback makes the server listen on {loopback.HOST}",
        )


def initdb(
    programs: Installation,
    data_directory: Path,
    wal_directory: Path | None,
    *,
    password: str,
    account: Account | None,
) -> None:
    """Make a cluster whose superuser has the password. Raises TargetError."""
    arguments = ["-D", str(data_directory), "-U", SUPERUSER, "-N", "-E", "UTF8"]
    arguments += ["--locale=C", "-A", "scram-sha-256"]
    if wal_directory is not None:
        arguments.append(f"--waldir={wal_directory}")
    with process.memory_file(password + "\n", account) as (descriptor, path):
        done = process.run(
            [programs.program("initdb"), *arguments, f"--pwfile={path}"],
            account=account,
            pass_fds=(descriptor,),
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise TargetError(
            f"initdb failed: {reason}", "check room and rights of the storage directory"
        )


def configure(
    environment: EnvironmentPlan, data_directory: Path, socket_directory: Path, password: str
) -> Address:
    """Write the settings of an environment; returns how its server will be reached."""
    port, listen, host = _SOCKET_PORT, "", str(socket_directory)
    if environment.listen == "loopback":
        port, listen, host = loopback.free_port(), loopback.HOST, loopback.HOST
    settings = [
        *environment.settings,
        ("listen_addresses", listen),
        ("port", str(port)),
        ("unix_socket_directories", str(socket_directory)),
        ("unix_socket_permissions", "0700"),
        ("logging_collector", "off"),
    ]
    lines = [f"{name} = '{_quoted(value)}'" for name, value in settings]
    with (data_directory / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("\n# groundspeed\n" + "\n".join(lines) + "\n")
    return Address(
        conninfo=f"host={host} port={port} user={SUPERUSER} dbname={DATABASE}"
        " sslmode=disable gssencmode=disable",
        password=password,
        isolated=True,
    )


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
