"""How a storage request becomes directories and environment variables for the server.

The seam for storage emulation: a target asks here and does as it is told, whatever the storage is.
This module is pure; it makes no directory, mounts nothing and knows no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from groundspeed.plan import StorageRequest


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of an environment go.

    `server_environment` are environment variables of the server process. `undo` says, for people
    and in order, what has to be taken back after a run beyond removing its own directories.
    """

    label: str
    emulated: bool
    directory: str
    wal_directory: str | None = None
    server_environment: tuple[tuple[str, str], ...] = ()
    undo: tuple[str, ...] = ()


class Unavailable(msgspec.Struct, frozen=True, kw_only=True):
    """The storage cannot be had here; trials on it are skipped for this reason."""

    reason: str


def placement(request: StorageRequest) -> Placement | Unavailable:
    """Decide where files go. Directories are passed on as given. Raises nothing."""
    if request.directory is None:
        return Unavailable(
            reason=f"storage emulation ({request.emulate}) is not in this version of groundspeed;"
            " this environment was not measured"
        )
    label = request.directory
    if request.wal_directory is not None:
        label = f"{request.directory}, log on {request.wal_directory}"
    return Placement(
        label=label,
        emulated=False,
        directory=request.directory,
        wal_directory=request.wal_directory,
    )
