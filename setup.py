"""Builds the C programs of `src/groundspeed/native` with the Python; the rest is in pyproject.

It builds programs only (sources with a `main`), into `groundspeed/native/bin`: of the source tree
when installed editable, of the wheel otherwise. It refuses to install half a package: without a C
compiler the build fails with one line that says so.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

NATIVE = Path("src", "groundspeed", "native")
# No -march=native: a wheel is built on one machine and run on another.
FLAGS = ("-O3", "-std=c11", "-Wall", "-Wextra", "-Werror")
MAIN = re.compile(r"^int main\(", re.MULTILINE)


def compiler() -> list[str]:
    """Return the command of the C compiler: $CC, which may carry flags, or cc."""
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(command[0]) is None:
        raise CompileError(
            f"no C compiler: {command[0]!r} was not found. groundspeed reads pgbench's logs with a "
            "small C program; install gcc or clang, or name a compiler in $CC"
        )
    return command


def compile_program(source: Path, program: Path) -> None:
    """Compile `source` into `program`, unless that is there and not older."""
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first: a running program keeps its file, and no one sees half of it.
    unfinished = program.with_name(f".{program.name}.{os.getpid()}")
    command = [*compiler(), *FLAGS, "-o", str(unfinished), str(source)]
    try:
        subprocess.run(command, check=True)
        unfinished.replace(program)
    except subprocess.CalledProcessError as error:
        raise CompileError(
            f"{shlex.join(command)} failed with exit code {error.returncode}"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


class BuildWithPrograms(build_py):
    """Builds the Python modules, then the C programs beside them."""

    def run(self) -> None:
        """Build everything; raises `CompileError`, which setuptools prints as one line."""
        super().run()
        root = NATIVE if self.editable_mode else Path(self.build_lib, "groundspeed", "native")
        for source in sorted(NATIVE.glob("*.c")):
            if MAIN.search(source.read_text(encoding="utf-8")):
                compile_program(source, root / "bin" / source.stem)


class WheelWithPrograms(bdist_wheel):
    """Tags the wheel for this platform, but for every Python 3: the programs link no Python."""

    def finalize_options(self) -> None:
        """Settle the options; a wheel with programs is never pure."""
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        """Return the Python, ABI and platform tags."""
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithPrograms, "bdist_wheel": WheelWithPrograms})
