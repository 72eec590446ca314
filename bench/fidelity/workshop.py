"""What every group needs: directories of ours, emulated devices, repeats in shuffled blocks.

Directories are in a lease, so that a later command of groundspeed removes what a killed benchmark
left. It measures nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bench.figures import MEMORY
from groundspeed import native
from groundspeed.storage import counters
from groundspeed.storage.device_config import device_config
from groundspeed.targets import leases, places, process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.storage.counters import Counters
    from groundspeed.storage.profile import Profile
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account

T = TypeVar("T")
MIB = 1 << 20
_SEED = 20260131
_CHUNK_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """An emulated device that is there: how programs get on it, and what it counted."""

    state_file: Path
    shim: Path

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a program on it."""
        return {"LD_PRELOAD": str(self.shim), "GROUNDSPEED_STORAGE": str(self.state_file)}

    def counters(self) -> Counters:
        """Read what it has counted so far."""
        return counters.decode(_tool("read", self.state_file))


@dataclass(slots=True, kw_only=True)
class Workshop:
    """Where a benchmark works; `account` is who servers run as when we are root."""

    lease: LeaseFile
    account: Account | None
    quick: bool
    dice: random.Random = field(default_factory=lambda: random.Random(_SEED))  # noqa: S311
    _made_count: int = 0

    def choose(self, full: int, quick: int) -> int:
        """Give the number for this kind of run."""
        return quick if self.quick else full

    @contextmanager
    def directory(
        self, base: Path | str = MEMORY, *, account: Account | None = None
    ) -> Iterator[Path]:
        """Make a private directory below `base`, and remove it."""
        self._made_count += 1
        name = f"{leases.OWNED_NAME}fidelity-{os.getpid()}-{self._made_count}"
        path = places.make(Path(base) / name, account, self.lease)
        try:
            yield path
        finally:
            places.remove(path, self.lease)

    @contextmanager
    def device(
        self,
        profile: Profile,
        *roots: Path,
        cache_bytes: int = 64 * MIB,
        account: Account | None = None,
    ) -> Iterator[Device]:
        """Make an emulated device below `roots`, and remove its state."""
        shim = native.library_path("storage_shim.so")
        with ExitStack() as stack:
            path = stack.enter_context(self.directory())
            if account is not None and not places.may_read(shim, account):
                base = places.temporary_directory(account)
                copies = stack.enter_context(self.directory(base, account=account))
                shim = Path(shutil.copy(shim, copies))
            config = path / "config"
            config.write_text(
                device_config(
                    profile,
                    roots=tuple(str(root.resolve()) for root in roots),
                    cache_bytes=cache_bytes,
                    seed=self.dice.getrandbits(32),
                ),
                encoding="utf-8",
            )
            device = Device(state_file=path / "state", shim=shim)
            _tool("create", config, device.state_file)
            if account is not None:
                for owned in (path, device.state_file):
                    os.chown(owned, account.uid, account.gid)
            yield device

    def shuffled_blocks(self, cases: Sequence[T], repeats: int) -> Iterator[T]:
        """Give every case once a block, each block in another order: drifts hit all alike."""
        for _ in range(repeats):
            yield from self.dice.sample(list(cases), len(cases))

    def say(self, words: str) -> None:
        """Tell how far it is, on stderr."""
        print(words, file=sys.stderr, flush=True)


def fill(path: Path, size_bytes: int) -> Path:
    """Write a file of random bytes: no file system takes it for a hole."""
    chunk = os.urandom(min(_CHUNK_BYTES, size_bytes))
    with path.open("wb") as file:
        for _ in range(size_bytes // len(chunk)):
            file.write(chunk)
        os.fsync(file.fileno())
    return path


def drop(file: Path) -> None:
    """Tell the kernel to drop one file from its cache; nothing else of the machine is touched."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _tool(verb: str, *arguments: Path) -> str:
    done = process.run([native.executable_path("storage_state"), verb, *arguments], account=None)
    if done.returncode != 0:
        raise SystemExit(f"storage_state {verb}: {done.stderr.strip()}")
    return done.stdout
