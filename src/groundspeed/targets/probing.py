"""Runs the loads of a probe below a directory, in one of its own that a lease names.

It writes regular files only and never opens a device; whatever ends it, the files go.
"""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.report.scaling import format_bytes
from groundspeed.targets import emulation, leases, places, process
from groundspeed.targets.leases import LeaseFile
from groundspeed.tools import fio
from groundspeed.tools.fio import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import Command
    from groundspeed.targets.process import Account
    from groundspeed.tools.fio import Files
    from groundspeed.tools.probe_plan import ProbePlan

# Beyond the files themselves: a file system that is full to the last block is slow, and others
# have to write too.
_LEAST_MARGIN_BYTES = 64 * 1024**2
_MARGIN_RATIO = 0.05
_ALIGNED_BYTES = 8192
# A storage emulator reaches the load by these; without them a probe of emulated storage would
# measure what lies below and call it emulated.
_EMULATION_VARIABLES = ("LD_PRELOAD", emulation.VARIABLE)


class ProbeRun(msgspec.Struct, frozen=True, kw_only=True):
    """What fio printed. `raw` are (file name, text) pairs, all there is to keep."""

    direct: bool
    blocks: tuple[Output, ...]
    logs: tuple[tuple[float, ...], ...]
    raw: tuple[tuple[str, str], ...]


def is_emulated() -> bool:
    """Whether this process, and so the load, stands on emulated storage."""
    return emulation.VARIABLE in os.environ


def refuse_unfit(path: Path, size_bytes: int) -> None:
    """Raise TargetError unless `path` is a directory with room, and fio is here."""
    if shutil.which("fio") is None:
        raise TargetError(
            "the program fio is missing", "install it (Debian, Ubuntu: apt-get install fio)"
        )
    try:
        mode = path.stat().st_mode
        space = os.statvfs(path)
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}", "name a directory that is there") from None
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
        raise TargetError(
            f"{path} is a device, and a probe writes",
            "name a directory on a file system of that device",
        )
    if not stat.S_ISDIR(mode):
        raise TargetError(f"{path} is no directory", "name the directory that it lies in")
    if not os.access(path, os.W_OK | os.X_OK):
        raise TargetError(f"{path}: may not be written", "name a directory you may write")
    free_bytes = space.f_bavail * space.f_frsize
    margin_bytes = max(_LEAST_MARGIN_BYTES, round(size_bytes * _MARGIN_RATIO))
    if free_bytes < size_bytes + margin_bytes:
        raise TargetError(
            f"{path} has {format_bytes(free_bytes)} free, a probe of {format_bytes(size_bytes)}"
            f" needs {format_bytes(size_bytes + margin_bytes)}",
            "choose a smaller --size or make room",
        )


def readahead_bytes(path: Path) -> int | None:
    """How far the kernel reads ahead on the storage of a path; None where it does not tell."""
    number = path.stat().st_dev
    told = Path(f"/sys/class/bdi/{os.major(number)}:{os.minor(number)}/read_ahead_kb")
    try:
        return int(told.read_text()) * 1024
    except (OSError, ValueError):
        return None


def run_probe(path: Path, plan: ProbePlan, *, on_progress: Callable[[str], None]) -> ProbeRun:
    """Fill two files below `path`, run every load of the plan on them, and remove them.

    `on_progress` gets a line before each step. Raises TargetError when something cannot be done;
    on any exception, KeyboardInterrupt among them, nothing of it is left.
    """
    run_id = f"probe-{secrets.token_hex(4)}"
    account = _account(path)
    with LeaseFile(run_id) as lease:
        directory = places.make(path / f"{leases.OWNED_NAME}{run_id}", account, lease)
        return _Loads(directory, account, lease, plan, on_progress).run()


def _account(path: Path) -> Account | None:
    """Choose as whom fio runs: nobody for root, where nobody may enter and may be told apart."""
    account = process.unprivileged_account()
    # The state of an emulation belongs to whoever started it.
    if account is None or is_emulated():
        return None
    reached = process.run(["test", "-x", str(path)], account=account).returncode == 0
    return account if reached else None


def takes_direct(directory: Path) -> bool:
    """Try whether a file in a directory can be written past the page cache."""
    probe = directory / "direct"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
    except OSError:
        return False
    try:
        # Anonymous maps are aligned to pages, as O_DIRECT asks.
        with mmap.mmap(-1, _ALIGNED_BYTES) as page:
            return os.pwrite(descriptor, page, 0) == _ALIGNED_BYTES
    except OSError:
        return False
    finally:
        os.close(descriptor)
        probe.unlink()


class _Loads:
    """The steps of one probe in its directory."""

    def __init__(
        self,
        directory: Path,
        account: Account | None,
        lease: LeaseFile,
        plan: ProbePlan,
        on_progress: Callable[[str], None],
    ) -> None:
        self._directory = directory
        self._account = account
        self._lease = lease
        self._plan = plan
        self._tell = on_progress
        self._raw: list[tuple[str, str]] = []

    def run(self) -> ProbeRun:
        plan = self._plan
        files = plan.files(direct=takes_direct(self._directory))
        size_bytes = files.data_bytes + files.log_bytes
        self._tell(f"filling {format_bytes(size_bytes)}")
        self._fio("fill", fio.fill_command(files))
        self._tell(f"loads, about {plan.wall_s:.0f} s; the first look for the end of a burst")
        logs = self._long(files)
        blocks: list[Output] = []
        for number, block in enumerate(plan.blocks, start=1):
            self._tell(f"block {number} of {len(plan.blocks)}")
            command = fio.command(block, files, seed=plan.seed + 1000 * number)
            blocks.append(self._fio(f"block-{number:02}", command))
        return ProbeRun(direct=files.direct, blocks=tuple(blocks), logs=logs, raw=tuple(self._raw))

    def _long(self, files: Files) -> tuple[tuple[float, ...], ...]:
        self._fio("long", fio.command(self._plan.long, files, seed=self._plan.seed))
        logs: list[tuple[float, ...]] = []
        for job in self._plan.long:
            name = fio.log_name(job)
            try:
                text = (self._directory / name).read_text()
            except OSError as error:
                raise TargetError(
                    f"fio left no log {name}: {error.strerror}",
                    "see whether this fio is a whole one",
                ) from None
            self._raw.append((name, text))
            logs.append(fio.parse_log(text, job))
        return tuple(logs)

    def _fio(self, step: str, command: Command) -> Output:
        """Run one fio to its end. Raises TargetError when it failed."""
        for name, text in command.files:
            file = self._directory / name
            file.write_text(text)
            file.chmod(0o644)
            self._raw.append((f"{step}.{name.rpartition('.')[2]}", text))
        kept = {name: os.environ[name] for name in _EMULATION_VARIABLES if name in os.environ}
        load = process.start(
            [command.program, *command.arguments],
            account=self._account,
            cwd=self._directory,
            environment=kept if is_emulated() else None,
        )
        try:
            owned = self._lease.own_process(load.pid)
            stdout, stderr = (out.decode(errors="backslashreplace") for out in load.communicate())
        finally:
            process.end(load)
        self._lease.disown_process(owned)
        return self._read(step, load.returncode, stdout, stderr)

    def _read(self, step: str, returncode: int, stdout: str, stderr: str) -> Output:
        self._raw.append((f"{step}.json", stdout))
        if stderr:
            self._raw.append((f"{step}.stderr", stderr))
        if returncode != 0:
            told = fio.error_line(stderr) or f"return code {returncode}"
            if returncode < 0:
                told = f"killed by signal {-returncode}"
            raise TargetError(
                f"fio failed: {told}", "check room and rights of the directory, or its device"
            )
        try:
            return fio.parse(stdout)
        except ValueError as error:
            raise TargetError(str(error), "a fio of version 3 is needed") from None
