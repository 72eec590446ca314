"""A block device of our own that the kernel can throttle: a loop device with ext4, mounted.

It lies in memory, so that the cap alone decides. It goes away even when this process is killed:
a shell that waits for the end of a pipe removes it, in every case, so there is one way only.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from typing import TYPE_CHECKING

from bench.fidelity.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.fidelity.workshop import Workshop

_NEEDED = ("losetup", "mkfs.ext4", "mount", "umount")
# $1 image, $2 mount point, $3 the group of processes (empty where there is none). A server that
# is being ended may hold the mount for a moment; after that it is taken away under it.
_JANITOR = """
trap '' INT TERM HUP
read -r _ || true
loop=$(losetup -n -O NAME -j "$1")
tries=0
while mountpoint -q "$2" && ! umount "$2" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 50 ] || { umount -l "$2"; break; }
    sleep 0.1
done
for one in $loop; do
    numbers=$(cat "/sys/block/${one#/dev/}/dev")
    for file in /sys/fs/cgroup/blkio/blkio.throttle.*_device; do
        [ -e "$file" ] && echo "$numbers 0" >"$file"
    done
    losetup -d "$one"
done
rm -f "$1"
rmdir "$2"
[ -z "$3" ] || rmdir "$3" 2>/dev/null
exit 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDevice:
    """A mounted file system on a device of ours, and the kernel's caps on it."""

    directory: Path
    throttle: Throttle


def why_not() -> str | None:
    """Say why there can be no such device here; None where there can."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [name for name in _NEEDED if which(name) is None]
    if missing:
        return f"{missing[0]} is missing"
    if not Path("/dev/loop-control").exists():
        return "this kernel has no loop devices (or this container may not use them)"
    return Throttle.why_not()


def _do(*argv: str | Path) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # A container often is root and may not all the same.
        raise PermissionError(f"{argv[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def mounted(shop: Workshop, size_bytes: int) -> Iterator[LoopDevice]:
    """Make the device, mount it, take it away. Raises PermissionError where that is refused."""
    with shop.directory() as images:
        image = images / "image"
        # Not below a directory that only root may enter: the server is another user.
        directory = Path(gettempdir()) / f"groundspeed-fidelity-loop-{os.getpid()}"
        directory.mkdir(mode=0o755)
        group = Throttle.group_path()
        janitor = subprocess.Popen(
            ["sh", "-c", _JANITOR, "janitor", image, directory, group or ""],  # noqa: S607
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with image.open("wb") as file:
                file.truncate(size_bytes)
            _do("mkfs.ext4", "-q", image)
            loop = Path(_do("losetup", "--show", "--find", image))
            _pass_flushes_by(loop)
            _do("mount", loop, directory)
            with Throttle.on(loop, group) as throttle:
                yield LoopDevice(directory=directory, throttle=throttle)
        finally:
            janitor.stdin.close()  # type: ignore[union-attr]
            janitor.wait()


def _pass_flushes_by(loop: Path) -> None:
    """Make it a device without a volatile cache, as the emulated one is in this comparison.

    The kernel would count each flush as a request; volumes of a cloud are sent none.
    """
    (Path("/sys/block") / loop.name / "queue" / "write_cache").write_text("write through")
