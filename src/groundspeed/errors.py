"""What can go wrong, for people: one line of what, one line of what to do, one exit code.

Raised everywhere, caught only in `cli`. Anything that is not a `GroundspeedError` is a bug of ours
and keeps its traceback.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command; scripts and CI may rely on them."""

    OK = 0
    USAGE = 2
    SPEC = 3
    TARGET = 4
    TRIALS_FAILED = 5
    REGRESSION = 6
    UNDECIDED = 7
    CONFOUNDED = 8
    MISTAKES_FOUND = 9
    PROMISE_BROKEN = 10
    # Of the runner in a cluster: its Job makes no further pod for this one.
    UNAVAILABLE = 11
    # As a shell reports a process ended by SIGINT: what callers of a benchmark script expect.
    INTERRUPTED = 130


class GroundspeedError(Exception):
    """A mistake or a misfortune that a person can do something about.

    `message` says what happened, `hint` what to do; both are one line, without a full stop.
    `further` are more pairs of the same kind, found at the same time.
    """

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(
        self, message: str, hint: str, *, further: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.further = further


class UsageError(GroundspeedError):
    """The command line cannot be carried out as typed."""

    exit_code = ExitCode.USAGE


class SpecError(GroundspeedError):
    """The suite file is wrong; the message names the path inside it."""

    exit_code = ExitCode.SPEC


class TargetError(GroundspeedError):
    """The server, the machine or the load tool cannot do what was asked."""

    exit_code = ExitCode.TARGET


class UnavailableError(TargetError):
    """What was asked for cannot be had there: neither waiting nor trying again helps."""

    exit_code = ExitCode.UNAVAILABLE


class StoreError(GroundspeedError):
    """Records cannot be written or read."""

    exit_code = ExitCode.TARGET


class TrialsFailedError(GroundspeedError):
    """The run came to its end, but some trials have no measurement."""

    exit_code = ExitCode.TRIALS_FAILED


class ConfoundedError(GroundspeedError):
    """Environments differ in more than what is compared, and that was to be refused."""

    exit_code = ExitCode.CONFOUNDED
