"""Directories for owned servers: made where an unprivileged user can reach them, and removed.

A place is always on the storage that was asked for: where the asked directory lies below one that
only root may enter, another directory of the same file system takes its place, or nothing does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import leases, process

if TYPE_CHECKING:
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account

# linux/fs.h: _IOW(0x94, 9, int)
_FICLONE = 0x40049409
_PUBLIC_DIRECTORIES = ("/var/tmp", "/tmp")  # noqa: S108 - owned names are random and private below


def memory_directory() -> Path:
    """The directory for logs that live in memory. Raises TargetError when there is none."""
    path = Path("/dev/shm")  # noqa: S108
    if not path.is_dir():
        raise TargetError(f"{path} is missing", "mount a tmpfs of at least 64 MB there")
    return path


def _can(account: Account, operator: str, path: Path) -> bool:
    return process.run(["test", operator, str(path)], account=account).returncode == 0


def may_read(path: Path, account: Account) -> bool:
    """Tell whether an account may read a file, directories above it and all."""
    return _can(account, "-r", path)


def existing(path: Path) -> Path:
    """Find the nearest directory above an absolute path that exists, or the path itself."""
    return next(p for p in (path, *path.parents) if p.exists())


def reachable_on_same_storage(asked: Path, account: Account | None) -> Path:
    """Choose the directory for the files: the one asked for, or another on the same file system.

    Raises TargetError when the storage has no place that the server's user can reach.
    """
    asked = asked.absolute()
    if not os.access(existing(asked), os.W_OK):
        raise TargetError(f"{asked}: may not be written", "name a storage directory you may write")
    if account is None or _can(account, "-x", existing(asked)):
        return asked
    device = existing(asked).stat().st_dev
    mount_point = next(
        (p for p in (asked, *asked.parents) if p.exists() and p.is_mount()), Path("/")
    )
    for candidate in (*map(Path, _PUBLIC_DIRECTORIES), mount_point):
        same = candidate.exists() and candidate.stat().st_dev == device
        if same and _can(account, "-x", candidate):
            return candidate
    raise TargetError(
        f"{asked}: the user {account.name}, as whom the server runs, may not enter it",
        "name a directory on that storage which everybody may enter, or do not run as root",
    )


def temporary_directory(account: Account | None) -> Path:
    """Choose a directory for temporary files that the server's user can reach."""
    own = Path(tempfile.gettempdir())
    if account is None:
        return own
    candidates = (own, *map(Path, _PUBLIC_DIRECTORIES))
    return next((p for p in candidates if p.is_dir() and _can(account, "-x", p)), own)


def make(path: Path, account: Account | None, lease: LeaseFile) -> Path:
    """Make a private directory of ours, noted in the lease first. Raises TargetError."""
    lease.own_directory(path)
    missing = [p for p in path.parents if not p.exists()]
    try:
        path.mkdir(parents=True, mode=0o700)
        if account is not None:
            # Whatever the umask: the server's user has to get through to its own.
            for parent in missing:
                parent.chmod(0o755)
            os.chown(path, account.uid, account.gid)
    except OSError as error:
        raise TargetError(
            f"{path}: {error.strerror}", "check room and rights of the storage directory"
        ) from None
    return path


def remove(path: Path, lease: LeaseFile) -> None:
    """Remove a directory of ours; what cannot be removed stays in the lease for the next sweep."""
    with contextlib.suppress(OSError):
        leases.remove_directory(path)
        lease.disown_directory(path)


def reachable_programs(
    programs: Installation, run_id: str, account: Account | None, lease: LeaseFile
) -> Installation:
    """Give back programs that the server's user can execute: these, or a copy of them.

    A copy is needed where the Python environment lies below a directory that only root may enter.
    """
    if account is None or _can(account, "-x", programs.bin_dir / "postgres"):
        return programs
    home = temporary_directory(account) / f"{leases.OWNED_NAME}{run_id}-programs-{programs.major}"
    lease.own_directory(home)
    common = Path(os.path.commonpath([root.parent for root in programs.roots]))
    for root in programs.roots:
        if root.exists():
            shutil.copytree(root, home / root.relative_to(common), symlinks=True)
    home.chmod(0o755)
    for path in home.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    return type(programs)(
        version=programs.version,
        major=programs.major,
        bin_dir=home / programs.bin_dir.relative_to(common),
        source=programs.source,
    )


def reachable_file(path: Path, home_name: str, account: Account | None, lease: LeaseFile) -> Path:
    """Give back a program or library that the server's user can use: this, or a copy of it."""
    if account is None or may_read(path, account):
        return path
    return copied_file(path, home_name, account, lease)


def copied_file(path: Path, home_name: str, account: Account | None, lease: LeaseFile) -> Path:
    """Copy a program or library, which needs no files beside it, to a directory of ours."""
    home = temporary_directory(account) / home_name
    if not home.exists():
        make(home, account, lease)
    copy = home / path.name
    shutil.copyfile(path, copy)
    copy.chmod(0o755)
    return copy


def can_clone(directory: Path) -> bool:
    """Tell whether the file system of a directory shares blocks between copies (reflink)."""
    try:
        with (
            tempfile.TemporaryFile(dir=existing(directory.absolute())) as source,
            tempfile.TemporaryFile(dir=existing(directory.absolute())) as copy,
        ):
            source.write(b"x" * 4096)
            source.flush()
            fcntl.ioctl(copy.fileno(), _FICLONE, source.fileno())
    except OSError:
        return False
    return True


def clone(source: Path, copy: Path, *, or_copy: bool = False) -> None:
    """Copy a directory tree by sharing its blocks; where that cannot be, refuse or copy them.

    Raises TargetError.
    """
    how = "auto" if or_copy else "always"
    done = subprocess.run(
        ["cp", "-a", f"--reflink={how}", str(source), str(copy)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        env=process.kept_variables(),
    )
    if done.returncode != 0:
        raise TargetError(
            f"{source} cannot be copied: {done.stderr.strip().splitlines()[-1:]}",
            "check the room on that storage",
        )
