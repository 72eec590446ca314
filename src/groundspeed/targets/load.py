"""Runs one load tool and reads its transaction log, if it keeps one, while it is written.

The log lives in memory, the native reader frees what it has read, and this process only relays a
line a second; so what is watched is hardly disturbed.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from groundspeed.ports import LoadResult, Progress
from groundspeed.targets import process
from groundspeed.targets.log_reading import LogFollower, ToldZero
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from groundspeed.plan import Command, Trial
    from groundspeed.targets.log_reading import Together
    from groundspeed.targets.process import Account
    from groundspeed.tools.load_tool import LoadTool

# Never this many bytes of progress lines in a healthy trial; a tool gone mad must not fill memory.
_KEPT_OUTPUT_BYTES = 16 * 1024 * 1024
_LONGEST_WAIT_S = 60.0


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """How a load tool gets into its server, in environment variables.

    `secret_files` are (variable, text) pairs: the text goes into a file in memory that the tool
    alone can read, and the variable names that.
    """

    variables: tuple[tuple[str, str], ...] = ()
    secret_files: tuple[tuple[str, str], ...] = ()


class _Output:
    """What a load tool wrote so far on one stream."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self.last_line = ""

    def feed(self, data: bytes) -> None:
        if self._size < _KEPT_OUTPUT_BYTES:
            self._chunks.append(data)
            self._size += len(data)
        lines = data.decode(errors="backslashreplace").splitlines()
        self.last_line = lines[-1] if lines else ""

    def text(self) -> str:
        return b"".join(self._chunks).decode(errors="backslashreplace")


def run_load(  # noqa: PLR0913 - each names one independent circumstance
    command: Command,
    trial: Trial | None,
    *,
    program: Path,
    directory: Path,
    tool: LoadTool,
    login: Login,
    account: Account | None,
    limit_s: float,
    on_progress: Callable[[Progress], None],
    together: Together | None = None,
) -> LoadResult:
    """Run a load command in `directory`; with a trial, read its log from there.

    The command is ended after `limit_s`. With `together` it is one of several. On any exception,
    Ctrl-C among them, everything that was started is ended before it goes on.
    """
    for name, text in command.files:
        (directory / name).write_text(text, encoding="utf-8")
        (directory / name).chmod(0o644)
    with ExitStack() as stack:
        environment = dict(login.variables)
        pass_fds = []
        for variable, text in login.secret_files:
            descriptor, path = stack.enter_context(process.memory_file(text, account))
            environment[variable] = path
            pass_fds.append(descriptor)
        follower = None
        if trial is not None and tool.keeps_log:
            follower = LogFollower(directory, trial, together)
            stack.callback(process.end, follower.process)
        stack.callback(_remove_logs, directory)
        if together is not None:
            together.begin()
        started_s = time.monotonic()
        load = process.start(
            [program, *command.arguments],
            account=account,
            environment=environment,
            cwd=directory,
            pass_fds=pass_fds,
        )
        stack.callback(process.end, load)
        if together is not None:
            together.started()
        watch = _Watcher(tool, follower, started_s, on_progress)
        stdout, stderr = _relay(load, follower, started_s, limit_s, watch)
        elapsed_s = time.monotonic() - started_s
        totals = None if follower is None else follower.finish()
        return LoadResult(
            returncode=load.returncode,
            stdout=stdout,
            stderr=stderr,
            elapsed_s=elapsed_s,
            log=totals,
            seconds=() if follower is None else tuple(follower.seconds),
            tallies=() if follower is None else tuple(follower.tallies),
        )


def _remove_logs(directory: Path) -> None:
    for path in directory.glob(f"{pgbench.LOG_PREFIX}.*"):
        path.unlink(missing_ok=True)


def _relay(
    load: subprocess.Popen[bytes],
    follower: LogFollower | None,
    started_s: float,
    limit_s: float,
    watcher: _Watcher,
) -> tuple[str, str]:
    stdout, stderr = _Output(), _Output()
    with selectors.DefaultSelector() as selector:
        selector.register(load.stdout, selectors.EVENT_READ, stdout)  # type: ignore[arg-type]
        selector.register(load.stderr, selectors.EVENT_READ, stderr)  # type: ignore[arg-type]
        open_streams = 2
        if follower is not None:
            selector.register(follower.process.stdout, selectors.EVENT_READ, follower)  # type: ignore[arg-type]
            if follower.zero is not None:
                selector.register(follower.zero, selectors.EVENT_READ, ToldZero(follower))
        interrupted = False
        while open_streams:
            left_s = started_s + limit_s - time.monotonic()
            if left_s <= 0 and not interrupted:
                # Not SIGINT: a shell's background job inherits it ignored, and so does pgbench.
                load.send_signal(signal.SIGTERM)
                interrupted = True
                limit_s += 5.0
                continue
            if left_s <= 0:
                load.kill()
            for key, _ in selector.select(min(max(0.0, left_s), _LONGEST_WAIT_S)):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                    open_streams -= isinstance(key.data, _Output)
                    continue
                key.data.feed(data)
                if isinstance(key.data, _Output):
                    watcher.tell(key.data.last_line)
    load.wait()
    return stdout.text(), stderr.text()


class _Watcher:
    """Tells how a load is doing, whichever stream its tool reports on."""

    def __init__(
        self,
        tool: LoadTool,
        follower: LogFollower | None,
        started_s: float,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._tool = tool
        self._follower = follower
        self._started_s = started_s
        self._on_progress = on_progress

    def tell(self, line: str) -> None:
        progress = self._tool.parse_progress(line)
        if progress is None:
            return
        elapsed_s = progress.elapsed_s
        self._on_progress(
            Progress(
                elapsed_s=time.monotonic() - self._started_s if elapsed_s is None else elapsed_s,
                tps_per_s=progress.tps_per_s,
                p99_s=None if self._follower is None else self._follower.p99_s,
            )
        )
