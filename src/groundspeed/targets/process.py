"""Starts programs that die with us and cannot do more than they need; ends them by their id.

Everything groundspeed starts goes through `start`: as an unprivileged user when groundspeed is
root, in a session of its own (so that Ctrl-C reaches only us), and with a signal that the kernel
sends when groundspeed dies in whatever way.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Servers and load tools get no more of our environment than this; PG* variables above all would
# make a trial depend on the shell it was started from.
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "HOME")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An operating system user."""

    name: str
    uid: int
    gid: int


def unprivileged_account() -> Account | None:
    """The user that servers and load tools run as when groundspeed is root; None otherwise.

    `nobody`, because it owns nothing: not `postgres`, which on a database host owns the very
    clusters that must not be touched. Raises TargetError when there is none.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise TargetError(
            "servers do not run as root here, and this machine has no user nobody",
            "start groundspeed as an ordinary user",
        ) from None
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def _setpriv(account: Account | None, death_signal: str) -> list[str]:
    program = shutil.which("setpriv")
    if program is None:
        raise TargetError("the program setpriv is missing", "install the package util-linux")
    prefix = [program, "--pdeathsig", death_signal]
    if account is not None:
        prefix += ["--reuid", str(account.uid), "--regid", str(account.gid), "--clear-groups"]
    return [*prefix, "--"]


def kept_variables() -> dict[str, str]:
    """What a program gets of our environment: nothing that may hold a password."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def start(  # noqa: PLR0913 - a process has so many circumstances
    argv: Sequence[str | Path],
    *,
    account: Account | None,
    death_signal: str = "KILL",
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.PIPE,
    stderr: int | IO[bytes] | None = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a program. Raises TargetError when it cannot be started.

    `death_signal` is the signal (without SIG) that it gets when groundspeed dies.
    """
    kept = kept_variables()
    if account is not None:
        kept["HOME"] = "/"
    try:
        return subprocess.Popen(
            [*_setpriv(account, death_signal), *map(str, argv)],
            cwd=cwd or "/",
            env={**kept, **(environment or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
        )
    except OSError as error:
        raise TargetError(
            f"{argv[0]} cannot be started: {error.strerror}", "see groundspeed doctor"
        ) from None


def run(
    argv: Sequence[str | Path],
    *,
    account: Account | None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and keep its output. Raises TargetError when it cannot start."""
    process = start(argv, account=account, environment=environment, cwd=cwd, pass_fds=pass_fds)
    try:
        stdout, stderr = process.communicate()
    except BaseException:
        end(process)
        raise
    return subprocess.CompletedProcess(
        list(map(str, argv)),
        process.returncode,
        stdout.decode(errors="backslashreplace"),
        stderr.decode(errors="backslashreplace"),
    )


def end(
    process: subprocess.Popen[bytes],
    *,
    first: signal.Signals = signal.SIGTERM,
    patience_s: float = 5.0,
) -> None:
    """End a program by its id: `first`, and SIGKILL when that did nothing for `patience_s`."""
    if process.poll() is None:
        # A stopped process would sleep through SIGTERM.
        process.send_signal(signal.SIGCONT)
        process.send_signal(first)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@contextmanager
def memory_file(text: str, account: Account | None) -> Iterator[tuple[int, str]]:
    """Hold a secret in memory for a child: its descriptor and the path the child opens it by.

    A password given so is in no file, in no argument and in no environment variable.
    """
    descriptor = os.memfd_create("groundspeed")
    try:
        os.fchmod(descriptor, 0o600)
        if account is not None:
            os.fchown(descriptor, account.uid, account.gid)
        os.write(descriptor, text.encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor, f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name may hold spaces and parentheses, so count from its end.
    return int(stat.rpartition(")")[2].split()[19])


def boot_id() -> str:
    """Which boot of the machine this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
