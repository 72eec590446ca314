"""Types what the documentation shows, as a reader would, with measurements made smaller.

Several pages begin with the same command, such as a run of a preset. Of those one is run, and all
others go on with a copy of what it left.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import fasteners

import groundspeed

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = Path(__file__).parent / "shown"
# What else a page tells the reader to type; run where the machine has it.
ALSO_SHOWN = ("mkdir", "pg_ctl", "redis-cli")
SMALLER = [
    # As a whole, so that a suite that stops when it is decided gets a fixed design too.
    *("--set", "measure={duration: 1s, repeats: 1, warm_up: 0s}"),
    *("--set", "clients=[1]", "--set", "threads=[1]"),
]
# Of the suites that are shown, those of another engine carry its name.
SMALLER_POSTGRES = ["--set", "scale=1", "--set", "workloads=[tpcb-like]"]
# One kill of each environment; a run directory that is printed again takes no notice.
FEWER = ["--tries", "1", "--ending", "killed"]
# A preset, and nothing of the directory: it leaves the same wherever it is typed. There is one try
# whatever the page says.
_SAME_EVERYWHERE = re.compile(
    r"groundspeed (run [a-z0-9-]+ --yes|durability [a-z0-9-]+( --ending killed)?( --format md)?)"
)
_TRIES = re.compile(r" --tries \d+")


@contextmanager
def in_memory() -> Iterator[Path]:
    """Make a directory; storage that is slower than a device cannot play it, and is refused."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield Path(directory)


class Shell:
    """Runs command lines as a reader would type them, in a directory of its own."""

    def __init__(self, directory: Path, kept: Path | None = None) -> None:
        """`kept` has what others left, see above; without it every command is run."""
        self.directory = directory
        self._kept = kept
        # Files that the documentation speaks of: made up, and named as there.
        shutil.copytree(SHOWN, directory, dirs_exist_ok=True)
        programs = directory / "bin"
        programs.mkdir()
        shim = programs / "groundspeed"
        shim.write_text(
            "#!/bin/sh\n"
            f'[ "$1" = run ] && set -- "$@" {shlex.join(SMALLER)} && case "$2" in\n'
            f'  *redis*) ;; *) set -- "$@" {shlex.join(SMALLER_POSTGRES)} ;;\nesac\n'
            f'[ "$1" = durability ] && set -- "$@" {shlex.join(FEWER)}\n'
            f'exec {shlex.quote(sys.executable)} -m groundspeed.cli.main "$@"\n'
        )
        shim.chmod(0o755)
        self.variables = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(groundspeed.__file__).parents[1]),
            "HOME": str(directory),
            "GROUNDSPEED_STATE_DIR": str(directory / "state"),
        }

    def run(self, line: str) -> None:
        """Type a line; it has to succeed."""
        same = _TRIES.sub("", line)
        if self._kept is None or _SAME_EVERYWHERE.fullmatch(same) is None:
            self._type(line)
            return
        left = self._kept / re.sub(r"\W+", "-", same)
        with fasteners.InterProcessLock(left.with_suffix(".lock")):
            if not left.exists():
                with in_memory() as directory:
                    Shell(directory).run(line)
                    # Whole or not at all, should the test be ended.
                    shutil.copytree(directory / "runs", left.with_suffix(".part"))
                left.with_suffix(".part").rename(left)
        shutil.copytree(left, self.directory / "runs", dirs_exist_ok=True)

    def _type(self, line: str) -> None:
        program, *arguments = shlex.split(line)
        assert program in {"groundspeed", *ALSO_SHOWN}, f"no test knows how to run {line!r}"
        emulated = arguments[arguments.index("--") + 1] if "--" in arguments else program
        if shutil.which(emulated, path=self.variables["PATH"]) is None:
            return
        if os.geteuid() == 0 and emulated in {"initdb", "pg_ctl"}:
            # PostgreSQL does not run as root: tests/server/test_emulate_command.py sees to these.
            return
        done = subprocess.run(
            ["sh", "-ec", line],
            cwd=self.directory,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
