"""An emulated device of ours: made, given to a server or a command, proved to be used, read.

The device itself is C (`native/storage_*.c`); this module owns its state file and never lets a
program run at native speed under an emulated name.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING

import msgspec

from groundspeed import native
from groundspeed.errors import TargetError
from groundspeed.record import Caution
from groundspeed.storage import counters, power_cut
from groundspeed.storage.device_config import device_config
from groundspeed.targets import places, process, remains

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from groundspeed.record import StorageFacts, StorageWork
    from groundspeed.storage.counters import Counters
    from groundspeed.storage.placement import Emulation
    from groundspeed.storage.power_cut import DroppedWork
    from groundspeed.storage.profile import Profile
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account

VARIABLE = "GROUNDSPEED_STORAGE"
_SHIM, _TOOL = "storage_shim.so", "storage_state"
_LABEL_FILE = "label"
_SEED = 1
# LD_PRELOAD is a list: a path with one of these in it cannot be named.
_SEPARATORS = frozenset(": \t\n")

_DRAINED = Caution(
    code="drained",
    message="the burst credits of the emulated device were spent before the trial: it shows what"
    " the device can keep up",
)


def shim_path() -> Path:
    """Where the built shared object is. Raises TargetError where it was not built."""
    native.executable_path(_TOOL)
    return native.library_path(_SHIM)


class EmulatedDevice:
    """One device: its state file in memory, in a directory of ours that is named `owned_name`."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        emulation: Emulation,
        owned_name: str,
        *,
        account: Account | None,
        lease: LeaseFile,
        doubts: tuple[Caution, ...] = (),
        is_public: bool = False,
        drain: bool = False,
        loses_power: bool = False,
    ) -> None:
        """Make nothing yet. `doubts` are about the real directory, found before.

        With `drain` every trial begins with burst credits spent, not given back. Only a device that
        `loses_power` can do so later, by `cut_power`: what that needs costs time in every write.

        The state is the account's, or where `is_public` of everybody who knows its random name: a
        command that root started may give up its rights before it starts the server.
        """
        self.emulation = emulation
        self._drains = drain and has_credits(emulation.profile)
        self.doubts = (*doubts, _DRAINED) if self._drains else doubts
        self._name = owned_name
        self._account = account
        self._lease = lease
        self._is_public = is_public
        self._loses_power = loses_power
        self._file_name = f"device-{secrets.token_hex(16)}" if is_public else "device"
        self._directory: Path | None = None
        self._removed: Path | None = None
        self._shim: Path | None = None
        self._shim_copy: Path | None = None
        self._before: Counters | None = None

    @property
    def state_file(self) -> Path:
        """The file that every process on the device maps; after `make`."""
        if self._directory is None:
            raise RuntimeError("a device is made before it is used")
        return self._directory / self._file_name

    def make(self, roots: Sequence[Path]) -> None:
        """Make the device for the files below `roots`, followed to where they really are.

        Raises TargetError when there is no room for its state in memory.
        """
        self._directory = places.make(
            places.memory_directory() / f"{self._name}-device", None, self._lease
        )
        self._shim = self._reachable_shim()
        config = self._directory / "config"
        config.write_text(
            device_config(
                self.emulation.profile,
                roots=tuple(str(root.resolve()) for root in roots),
                cache_bytes=self.emulation.cache_bytes,
                seed=_SEED,
            )
            + self._power_cut_lines(roots[0].resolve().parent),
            encoding="utf-8",
        )
        (self._directory / _LABEL_FILE).write_text(self.emulation.profile.label)
        tool("create", config, self.state_file)
        journals = [path for path in (self._journal_file,) if path.exists()]
        if self._is_public:
            self._directory.chmod(0o711)
            for path in (self.state_file, *journals):
                path.chmod(0o666)
        elif self._account is not None:
            for path in (self._directory, self.state_file, *journals):
                os.chown(path, self._account.uid, self._account.gid)

    @property
    def _journal_file(self) -> Path:
        return self.state_file.with_name(self._file_name + power_cut.JOURNAL_SUFFIX)

    def _power_cut_lines(self, beside: Path) -> str:
        """Make the directory that keeps removed files, on their file system, where it is needed."""
        if not self._loses_power:
            return ""
        self._removed = places.make(beside / f"{self._name}-removed", self._account, self._lease)
        if self._is_public:
            self._removed.chmod(0o777)
        return power_cut.config_lines(str(self._removed))

    def cut_power(self, *, at_ns: int | None = None, seed: int | None = None) -> DroppedWork:
        """Take from the files what was not on the device at a moment; its cache is empty after it.

        All processes on the device have ended before. `at_ns` is when they were killed
        (`time.monotonic_ns()`); without it, the last moment one of them was seen alive. Without
        `seed` nothing that was not synced or written back is kept, the worst case; with it, a part
        that it draws. Raises TargetError while a process lives, for a device that does not
        lose power, and where not all could be kept that would have to come back.
        """
        asked = power_cut.arguments(at_ns=at_ns, seed=seed)
        try:
            told = tool("power_cut", self.state_file, *asked)
        except TargetError as error:
            raise TargetError(
                error.message, "see the section on power cuts in docs/emulation.md"
            ) from None
        return power_cut.decode(told)

    def _reachable_shim(self) -> Path:
        """Give the shim, or a copy where the server's user may not read it or it has no name."""
        shim = shim_path()
        readable = self._account is None or places.may_read(shim, self._account)
        if readable and not _SEPARATORS & set(str(shim)):
            return shim
        # Not beside the state: memory file systems are often mounted noexec.
        base = places.temporary_directory(self._account)
        self._shim_copy = places.make(base / f"{self._name}-shim", None, self._lease)
        self._shim_copy.chmod(0o755)
        copy = self._shim_copy / shim.name
        shutil.copyfile(shim, copy)
        copy.chmod(0o644)
        return copy

    def variables(self, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
        """Environment variables of a program on the device; `inherited` are those it has."""
        earlier = (inherited or {}).get("LD_PRELOAD", "")
        preload = f"{earlier}:{self._shim}" if earlier else str(self._shim)
        return {"LD_PRELOAD": preload, VARIABLE: str(self.state_file)}

    def counters(self) -> Counters:
        """Read what the device has counted so far. Raises TargetError."""
        return read_counters(self.state_file)

    def begin(self) -> None:
        """Give back the burst credits, or spend them where that was asked, and count from here."""
        tool("drain" if self._drains else "refill", self.state_file)
        self._before = self.counters()

    def work(self) -> StorageWork | None:
        """Say what the device did since `begin`; None before it."""
        if self._before is None:
            return None
        return counters.work_between(self._before, self.counters())

    def describe(self, facts: StorageFacts) -> StorageFacts:
        """Add what is emulated to what is known of the real place."""
        return msgspec.structs.replace(
            facts,
            profile=msgspec.json.encode(self.emulation.profile).decode(),
            cache_bytes=self.emulation.cache_bytes,
            memory_bytes=self.emulation.memory_bytes,
            memory_assumed=self.emulation.memory_assumed,
        )

    def prove_used_by(self, pid: int) -> None:
        """Make sure that a server and its children are on the device and have files there.

        Raises TargetError: whatever it measured would be the speed of this machine.
        """
        outside = [p for p in (pid, *remains.children_of(pid)) if not self._is_on_device(p)]
        seen = self.counters()
        if not outside and seen.attached_count and seen.files_count:
            return
        what = "its files are not on the emulated device"
        if outside:
            what = "it did not load the emulated storage"
        raise TargetError(
            f"the server runs at native speed: {what}",
            "use a dynamically linked server for glibc without setuid; see docs/emulation.md",
        )

    def _is_on_device(self, pid: int) -> bool:
        """Whether a process maps the state; one that has ended does not count against it."""
        mapped = remains.maps_file(pid, self.state_file)
        return mapped is None or mapped

    def remove(self) -> None:
        """Remove state and copies; nothing where nothing was made."""
        for path in (self._directory, self._shim_copy, self._removed):
            if path is not None:
                places.remove(path, self._lease)
        self._directory = self._shim_copy = self._removed = None


def has_credits(profile: Profile) -> bool:
    """Whether a device or the front before it has a burst bucket that could be drained."""
    tiers = [profile.device, *([profile.front] if profile.front else [])]
    return any(limit.credits_count > 0 for tier in tiers for limit in tier.limits)


def label_of(state_file: Path) -> str | None:
    """Say what a device is called by its state file; None where there is no such device."""
    try:
        return (state_file.parent / _LABEL_FILE).read_text()
    except OSError:
        return None


def read_counters(state_file: Path) -> Counters:
    """Read the counters of a device. Raises TargetError."""
    return counters.decode(tool("read", state_file))


def tool(verb: str, *arguments: Path | str, stdin: str = "", pass_fds: tuple[int, ...] = ()) -> str:
    """Run `storage_state`. Raises TargetError with its line."""
    done = subprocess.run(
        [native.executable_path(_TOOL), verb, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        pass_fds=pass_fds,
        env=process.kept_variables(),
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise TargetError(
            f"emulated storage: {lines[-1]}",
            "see groundspeed doctor; the state takes 1/256 of the page cache, in /dev/shm",
        )
    return done.stdout
