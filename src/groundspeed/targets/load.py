"""Runs one load tool and reads its transaction log, if it keeps one, while it is written.

The log lives in memory, the native reader frees what it has read, and this process only relays a
line a second; so what is watched is hardly disturbed.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed import native
from groundspeed.errors import TargetError
from groundspeed.ports import LoadResult, Progress
from groundspeed.record import Histogram, LagTotals, LogTotals, SecondRow
from groundspeed.targets import process
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from groundspeed.plan import Command, Trial
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


class LogAnswer:
    """What the native log reader says of a log, line by line."""

    def __init__(self) -> None:
        self._partial = b""
        self.seconds: list[SecondRow] = []
        self.totals: LogTotals | None = None
        self.p99_s: float | None = None

    def feed(self, data: bytes) -> None:
        """Take some of what it wrote; ends anywhere."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._take(msgspec.json.decode(line))

    def _take(self, message: dict[str, Any]) -> None:
        kind = message.pop("type")
        if kind == "second":
            self.seconds.append(msgspec.convert(message, SecondRow))
        elif kind == "so_far":
            self.p99_s = message["p99_us"] / 1e6 if message["count"] else None
        elif kind == "total":
            bits = message["sub_bucket_bits"]
            lag = message.pop("lag")
            if lag is not None:
                histogram = Histogram(sub_bucket_bits=bits, buckets=_pairs(lag.pop("buckets")))
                lag = LagTotals(
                    count=lag["count"],
                    sum_us=lag["sum_us"],
                    max_us=lag["max_us"],
                    histogram=histogram,
                )
            histogram = Histogram(sub_bucket_bits=bits, buckets=_pairs(message.pop("buckets")))
            self.totals = msgspec.convert(
                {**message, "histogram": histogram, "lag": lag}, LogTotals
            )


class _Reader(LogAnswer):
    """The native log reader beside one pgbench."""

    def __init__(self, directory: Path, trial: Trial) -> None:
        super().__init__()
        arguments = ["--follow", directory, "--prefix", pgbench.LOG_PREFIX]
        # Without --start-us, second 0 begins with the first line: connecting is no part of it.
        arguments += ["--seconds", str(trial.duration_s)]
        if trial.rate_per_s is not None:
            arguments.append("--has-lag")
        if trial.max_tries > 1:
            arguments.append("--has-retries")
        # Not as the load's user: it has to outlive nothing and touches only the log directory.
        self.process = process.start(
            [native.executable_path("log_reader"), *map(str, arguments)],
            account=None,
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def finish(self) -> LogTotals:
        """Let it drain the log, now complete. Raises TargetError when it died."""
        assert self.process.stdin is not None  # noqa: S101 - asked for above
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.close()
        while chunk := self.process.stdout.read(65536):
            self.feed(chunk)
        if self.process.wait() != 0 or self.totals is None:
            raise TargetError(
                "the native log reader ended before the log did",
                "please report it; groundspeed resume measures the trial again",
            )
        return self.totals


def _pairs(buckets: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((index, count) for index, count in buckets)


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
) -> LoadResult:
    """Run a load command in `directory`; with a trial, read its log from there.

    The command is ended after `limit_s`. On any exception, Ctrl-C among them, everything
    that was started is ended before it goes on.
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
        reader = None
        if trial is not None and tool.keeps_log:
            reader = _Reader(directory, trial)
            stack.callback(process.end, reader.process)
        stack.callback(_remove_logs, directory)
        started_s = time.monotonic()
        load = process.start(
            [program, *command.arguments],
            account=account,
            environment=environment,
            cwd=directory,
            pass_fds=pass_fds,
        )
        stack.callback(process.end, load)
        watch = _Watcher(tool, reader, started_s, on_progress)
        stdout, stderr = _relay(load, reader, started_s, limit_s, watch)
        elapsed_s = time.monotonic() - started_s
        totals = None if reader is None else reader.finish()
        return LoadResult(
            returncode=load.returncode,
            stdout=stdout,
            stderr=stderr,
            elapsed_s=elapsed_s,
            log=totals,
            seconds=() if reader is None else tuple(reader.seconds),
        )


def _remove_logs(directory: Path) -> None:
    for path in directory.glob(f"{pgbench.LOG_PREFIX}.*"):
        path.unlink(missing_ok=True)


def _relay(
    load: subprocess.Popen[bytes],
    reader: _Reader | None,
    started_s: float,
    limit_s: float,
    watcher: _Watcher,
) -> tuple[str, str]:
    stdout, stderr = _Output(), _Output()
    with selectors.DefaultSelector() as selector:
        selector.register(load.stdout, selectors.EVENT_READ, stdout)  # type: ignore[arg-type]
        selector.register(load.stderr, selectors.EVENT_READ, stderr)  # type: ignore[arg-type]
        open_streams = 2
        if reader is not None:
            selector.register(reader.process.stdout, selectors.EVENT_READ, reader)  # type: ignore[arg-type]
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
                    open_streams -= key.data is not reader
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
        reader: _Reader | None,
        started_s: float,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._tool = tool
        self._reader = reader
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
                p99_s=None if self._reader is None else self._reader.p99_s,
            )
        )
