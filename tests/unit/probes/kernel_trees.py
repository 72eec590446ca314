"""Trees of text files in place of /proc and /sys."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_files(root: Path, files: dict[str, str]) -> None:
    """Write files by their path below a root; one that is there keeps its inode."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_process(  # noqa: PLR0913 - as many as the kernel tells
    proc: Path,
    pid: int,
    *,
    parent: int,
    name: str = "postgres",
    start: int = 100,
    used: int = 0,
    reaped: int = 0,
    processor: int = 0,
    threads: dict[int, int] | None = None,
) -> None:
    """Write /proc/PID/stat as the kernel does; `used` and `reaped` are ticks, half of a kind."""

    def stat(number: int, ticks: int) -> str:
        before = f"{number} ({name}) S {parent} 1 1 0 -1 4194560 9 8 7 6"
        times = f"{ticks // 2} {ticks - ticks // 2} {reaped // 2} {reaped - reaped // 2}"
        after = f"20 0 1 0 {start} 1000 50 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17"
        return f"{before} {times} {after} {processor} 0 0 0 0 0\n"

    write_files(proc, {f"{pid}/stat": stat(pid, used)})
    for thread, ticks in (threads or {}).items():
        write_files(proc, {f"{pid}/task/{thread}/stat": stat(thread, ticks)})


def end_process(proc: Path, pid: int) -> None:
    """Take a process away."""
    for path in sorted((proc / str(pid)).rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    (proc / str(pid)).rmdir()


def device_of(path: Path) -> tuple[int, int]:
    """Major and minor number of the device below a path."""
    number = path.stat().st_dev
    return os.major(number), os.minor(number)
