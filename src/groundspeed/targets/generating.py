"""A load generator: makes load when it is told to, and tells what came of it.

It lives as long as whoever tells it: when its input ends, or nothing is heard for long, it ends its
load at once and itself. There is no load that nobody waits for.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING

import msgspec

from groundspeed import __version__
from groundspeed.errors import TargetError
from groundspeed.targets import generator_messages as messages
from groundspeed.targets import installation, load
from groundspeed.targets.log_reading import Together
from groundspeed.tools.pgbench_load import PgbenchLoad

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from groundspeed.ports import LoadResult, Progress
    from groundspeed.targets.generator_messages import Asked, LoadAsked, ProgramAsked, Told
    from groundspeed.targets.installation import Installation

# Whoever asks for load says every few seconds that it is there. A machine that is cut off from us
# ends no connection, and its successor must not meet our load.
SILENCE_S = 60.0
_PIECE_BYTES = 65536


class _EndedError(BaseException):
    """It is told to end: not to be taken for an error on the way."""


class Generator:
    """Serves one who asks; `incoming` and `outgoing` are descriptors, as of a pipe."""

    def __init__(self, directory: Path, *, incoming: int, outgoing: int) -> None:
        """Prepare; logs go to `directory`, which is in memory and nobody else's."""
        self._directory = directory
        self._incoming = incoming
        self._outgoing = outgoing
        self._wanted: SimpleQueue[LoadAsked | ProgramAsked | None] = SimpleQueue()
        self._writing = threading.Lock()
        self._zero = _ZeroPipe()
        self._is_busy = False
        self._is_ended = False
        self._is_starting = False

    def serve(self) -> None:
        """Do what is asked until the input ends; call it in the main thread, which gets signals."""
        signal.signal(signal.SIGTERM, self._on_signal)
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._tell(_hello())
            while (asked := self._wanted.get()) is not None:
                self._do(asked)
        except (_EndedError, BrokenPipeError):
            # Nobody is left who waits for an answer.
            pass
        finally:
            # What is left to do is to tidy up, and to end.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _do(self, asked: LoadAsked | ProgramAsked) -> None:
        self._is_busy = True
        # It may have ended between being asked and this.
        if self._is_ended:
            raise _EndedError
        try:
            if isinstance(asked, messages.LoadAsked):
                self._load(asked)
            else:
                path = _installation(asked.conninfo).program(asked.name)
                self._tell(messages.ProgramTold(version=installation.program_version(path)))
        except TargetError as error:
            self._set_starting(is_starting=False)
            self._tell(messages.Trouble(message=error.message, hint=error.hint))
        self._is_busy = False

    def _load(self, asked: LoadAsked) -> None:
        started_ns = 0

        def begin() -> None:
            nonlocal started_ns
            self._set_starting(is_starting=False)
            # It sleeps by the monotonic clock: a wall clock that is set meanwhile is no matter.
            time.sleep(max(0, asked.start_at_ns - time.time_ns()) / 1e9)
            self._set_starting(is_starting=True)
            started_ns = time.time_ns()

        def started() -> None:
            self._set_starting(is_starting=False)

        with self._zero.opened(asked.number) as zero:
            together = Together(begin=begin, started=started, began=self._tell_began, zero=zero)
            self._set_starting(is_starting=True)
            result = self._run(asked, together)
        late_s = max(0, started_ns - asked.start_at_ns) / 1e9
        self._tell(messages.LoadEnded(load=result, started_ns=started_ns, late_s=late_s))

    def _run(self, asked: LoadAsked, together: Together) -> LoadResult:
        conninfo = asked.command.arguments[-1]
        return load.run_load(
            asked.command,
            asked.trial,
            program=_installation(conninfo).program(asked.command.program),
            directory=self._directory,
            tool=PgbenchLoad(),
            login=load.Login(variables=asked.variables, secret_files=asked.secret_files),
            account=None,
            limit_s=asked.limit_s,
            on_progress=self._tell_progress,
            together=together,
        )

    # -- what it tells

    def _tell(self, message: Told) -> None:
        with self._writing:
            self._write(messages.encode(message))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._outgoing, left) :]

    def _tell_began(self, first_us: int | None) -> None:
        self._tell(messages.Began(first_us=first_us))

    def _tell_progress(self, progress: Progress) -> None:
        self._tell(
            messages.ProgressTold(
                elapsed_s=progress.elapsed_s, tps_per_s=progress.tps_per_s, p99_s=progress.p99_s
            )
        )

    # -- what it hears, in a thread of its own

    def _listen(self) -> None:
        lines = messages.Lines()
        try:
            while select.select([self._incoming], [], [], SILENCE_S)[0]:
                data = os.read(self._incoming, _PIECE_BYTES)
                if not data:
                    break
                for line in lines.feed(data):
                    self._hear(messages.decode_asked(line))
        except (OSError, msgspec.DecodeError):
            # Who writes what cannot be read, or reads nothing any more, is not who started us.
            pass
        finally:
            self._end()

    def _hear(self, asked: Asked) -> None:
        match asked:
            case messages.ClockAsked():
                self._tell(_clock(asked.number))
            case messages.Alive():
                # A result that is being written says as much; waiting for it here, the end of the
                # input would not be seen.
                if self._writing.acquire(blocking=False):
                    try:
                        self._write(messages.encode(asked))
                    finally:
                        self._writing.release()
            case messages.ZeroTold():
                self._zero.tell(asked.number, asked.zero_us)
            case messages.End():
                self._end()
            case _:
                self._wanted.put(asked)

    def _end(self) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        self._wanted.put(None)
        if self._is_busy:
            # To the main thread, wherever it waits; the load is ended on its way out.
            os.kill(os.getpid(), signal.SIGTERM)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._is_ended = True
        if not self._is_starting:
            # Once is enough: what is being tidied up must not be torn.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            raise _EndedError

    def _set_starting(self, *, is_starting: bool) -> None:
        """Say that a program is being started: whose id is not known yet, nobody could end.

        What was put off meanwhile is done after it.
        """
        self._is_starting = is_starting
        if self._is_ended:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            raise _EndedError


class _ZeroPipe:
    """Brings the moment from which seconds count into the load that waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number: int | None = None
        self._into = -1
        self._out_of = -1

    def opened(self, number: int) -> _ZeroPipe:
        """Be there for the load of that number, as a context manager."""
        with self._lock:
            self._number = number
            self._out_of, self._into = os.pipe2(os.O_CLOEXEC)
        return self

    def __enter__(self) -> int:
        return self._out_of

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._number = None
            os.close(self._into)
            os.close(self._out_of)

    def tell(self, number: int, zero_us: int) -> None:
        """Pass it on; a load that did not wait for it may have ended."""
        with self._lock:
            if number == self._number:
                os.write(self._into, b"%d\n" % zero_us)


@cache
def _installation(conninfo: str) -> Installation:
    return installation.newest(for_dsn=conninfo)


def _hello() -> Told:
    return messages.Hello(
        version=__version__,
        pod=os.environ.get("POD_NAME", ""),
        node=os.environ.get("NODE_NAME", ""),
        wall_ns=time.time_ns(),
        monotonic_ns=time.monotonic_ns(),
    )


def _clock(number: int) -> Told:
    return messages.ClockTold(
        number=number, wall_ns=time.time_ns(), monotonic_ns=time.monotonic_ns()
    )


def wait_until_ended() -> int:
    """Do nothing until SIGTERM or SIGINT comes, and give the exit code that says so.

    As the first process of a container it also takes in what ends without a parent: a generator
    that was killed leaves its load tool, which the kernel kills, to be waited for.
    """
    awaited = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    # Who ended before that is not told of any more.
    _reap()
    while (number := signal.sigwait(awaited)) == signal.SIGCHLD:
        _reap()
    # Not 0: a Job counts that as done, and would not replace a pod that was evicted.
    return 128 + number


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
