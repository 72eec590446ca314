"""Programs that are killed on a device that then loses its power."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from groundspeed import native
from groundspeed.storage import power_cut
from tests.unit.native.shimmed import shimmed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.storage.power_cut import DroppedWork
    from groundspeed.storage.profile import Profile
    from tests.unit.native.shimmed import Shimmed

# What every script has at hand; it ends by killing itself, as a server is killed.
HEAD = """
import ctypes, mmap, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
CREATE = os.O_RDWR | os.O_CREAT
def make(name, content=b"", synced=True):
    fd = os.open(name, CREATE | os.O_EXCL, 0o600)
    os.write(fd, content)
    if synced:
        os.fsync(fd)
    return fd
def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Cut:
    """A device that may lose its power."""

    def __init__(self, device: Shimmed) -> None:
        self._device = device
        self.root = device.root
        self.state = device.state

    def killed(self, script: str, *arguments: object) -> None:
        """Run a script that kills itself at its end."""
        self._device.run(f"{HEAD}\n{script}\ndie()", *arguments, code=-signal.SIGKILL)

    def start(self, script: str, *arguments: object) -> subprocess.Popen[str]:
        return self._device.start(f"{HEAD}\n{script}", *arguments)

    def tool(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                native.executable_path("storage_state"),
                "power_cut",
                self.state,
                *map(str, arguments),
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def cut(self, *arguments: object) -> DroppedWork:
        done = self.tool(*arguments)
        assert done.returncode == 0, done.stderr
        return power_cut.decode(done.stdout)

    def counters(self) -> dict[str, Any]:
        return self._device.counters()

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def names(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}


@contextmanager
def cutting(device: Profile, *, cache_bytes: int = 16 * 1024**2, extra: str = "") -> Iterator[Cut]:
    def lines(home: Path) -> str:
        removed = home / "removed"
        removed.mkdir()
        return power_cut.config_lines(str(removed)) + extra

    with shimmed(device, cache_bytes=cache_bytes, more=lines) as made:
        yield Cut(made)
