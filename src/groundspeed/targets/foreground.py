"""Runs a command of the user's own as if it had been started without us: terminal, signals, code.

Unlike everything else that groundspeed starts it stays in our process group, keeps all of its
environment and is not ended when we are: it is the user's, and may be a server that daemonises.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORWARDED = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
# Python ignores these, and what it ignores a child would inherit as ignored.
_RESTORED = [signal.SIGPIPE, signal.SIGXFSZ]
_SIGNAL_CODE = 128


def find_program(name: str) -> Path:
    """Find the program of a command as a shell does. Raises UsageError when there is none."""
    found = shutil.which(name)
    if found is None:
        raise UsageError(f"{name}: no such program", "write the command after --, as in -- fio …")
    return Path(found).absolute()


def run(program: Path, argv: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a command to its end with our own input and output; returns the code a shell would.

    `variables` are added to our environment. Signals sent to us reach the command. Raises
    UsageError when it cannot be started.
    """
    waited_for = _FORWARDED | {signal.SIGCHLD}
    # Blocked before the start: none of them may come between the start and the waiting.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        pid = os.posix_spawn(
            program,
            list(argv),
            {**os.environ, **variables},
            setsigmask=before,
            setsigdef=_RESTORED,
        )
        return _wait(pid, waited_for)
    except OSError as error:
        raise UsageError(
            f"{program} cannot be started: {error.strerror}", "name a program you may run"
        ) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(pid: int, waited_for: frozenset[signal.Signals]) -> int:
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNAL_CODE - code
        seen = signal.sigwaitinfo(waited_for)
        # From the keyboard the kernel sends it to the whole process group; a second one would make
        # many programs give up at once.
        from_terminal = seen.si_code > 0
        if seen.si_signo != signal.SIGCHLD and not from_terminal:
            os.kill(pid, seen.si_signo)
