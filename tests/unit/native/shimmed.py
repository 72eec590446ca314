"""Runs Python programs on emulated storage: their os calls are the C library's."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundspeed import native
from groundspeed.storage.device_config import device_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from groundspeed.storage.profile import Profile


class Shimmed:
    """An emulated device for files below `root`."""

    def __init__(
        self, root: Path, home: Path, device: Profile, *, cache_bytes: int, extra: str = ""
    ) -> None:
        self.root = root
        self.state = home / "state"
        config = home / "config"
        text = device_config(
            device, roots=[os.path.realpath(root)], cache_bytes=cache_bytes, seed=1
        )
        config.write_text(text + extra)
        program = native.executable_path("storage_state")
        subprocess.run([program, "create", config, self.state], check=True)

    @property
    def variables(self) -> dict[str, str]:
        return {
            **os.environ,
            "LD_PRELOAD": str(native.library_path("storage_shim.so")),
            "GROUNDSPEED_STORAGE": str(self.state),
        }

    def start(self, script: str, *arguments: object) -> subprocess.Popen[str]:
        # -S -E: nothing but the script reads files, so counters are exact.
        return subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", script, *map(str, arguments)],
            env=self.variables,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str, *arguments: object, code: int = 0) -> str:
        process = self.start(script, *arguments)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        return out

    def counters(self) -> dict[str, Any]:
        program = native.executable_path("storage_state")
        done = subprocess.run(
            [program, "read", self.state], capture_output=True, text=True, check=True
        )
        read: dict[str, Any] = json.loads(done.stdout)
        return read


@contextlib.contextmanager
def shimmed(
    device: Profile,
    *,
    cache_bytes: int = 16 * 1024**2,
    extra: str = "",
    more: Callable[[Path], str] | None = None,
) -> Iterator[Shimmed]:
    """Give a device; `extra` are lines of its configuration, `more` makes some for its home."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=memory, prefix="groundspeed-test-") as home,
        tempfile.TemporaryDirectory(dir=memory, prefix="groundspeed-test-") as root,
    ):
        lines = extra + (more(Path(home)) if more else "")
        yield Shimmed(Path(root), Path(home), device, cache_bytes=cache_bytes, extra=lines)
