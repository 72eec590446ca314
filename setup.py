"""Builds the C of `src/groundspeed/native` with the Python; the rest is in pyproject.

Programs and the storage shim go into `groundspeed/native/bin`: of the source tree when installed
editable, of the wheel otherwise. Without a C compiler the package is installed all the same, with
a warning: what needs these programs says so when it is asked for.
"""

from __future__ import annotations

import os
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
FLAGS = ("-O3", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread")
# The shim is there from the start of a program, so its thread-local words need no look-up.
SHARED_FLAGS = (
    *("-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    # A function that is missing must fail here, not in somebody's server.
    "-Wl,-z,defs",
)
MODEL = (
    "storage_config.c",
    "storage_pages.c",
    "storage_files.c",
    "storage_cache.c",
    "storage_writeback.c",
    "storage_device.c",
    "storage_wait.c",
    "storage_identity.c",
    "storage_journal.c",
    "storage_names.c",
)
# What is built, and from which sources.
BUILT = {
    "log_reader": ("log_reader.c",),
    "storage_state": ("storage_state.c", "storage_cut.c", *MODEL),
    "storage_shim.so": (
        *("storage_shim.c", "storage_shim_names.c", "storage_real.c"),
        *("storage_charge.c", "storage_descriptors.c", "storage_keep.c"),
        *MODEL,
    ),
    "secret_arguments.so": ("secret_arguments.c",),
}


def compiler() -> list[str] | None:
    """Return the command of the C compiler: $CC, which may carry flags, or cc; None without one."""
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    return command if shutil.which(command[0]) else None


def is_current(built: Path, sources: list[Path]) -> bool:
    """Tell whether a built file is there and older than none of its sources or headers."""
    if not built.exists():
        return False
    parts = [*sources, *NATIVE.glob("*.h")]
    return all(built.stat().st_mtime >= part.stat().st_mtime for part in parts)


def compile_one(command: list[str], built: Path, sources: list[Path]) -> None:
    """Compile and link `sources` into `built`, unless that is current. Raises CompileError."""
    if is_current(built, sources):
        return
    built.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first: a running program keeps its file, and no one sees half of it.
    unfinished = built.with_name(f".{built.name}.{os.getpid()}")
    shared = SHARED_FLAGS if built.suffix == ".so" else ()
    # -ldl after the sources: before glibc 2.34 dlsym was in a library of its own.
    whole = [*command, *FLAGS, *shared, "-o", str(unfinished), *map(str, sources), "-ldl"]
    try:
        subprocess.run(whole, check=True)
        unfinished.replace(built)
    except subprocess.CalledProcessError as error:
        raise CompileError(
            f"{shlex.join(whole)} failed with exit code {error.returncode}"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


class BuildWithPrograms(build_py):
    """Builds the Python modules, then the C programs beside them."""

    def run(self) -> None:
        """Build everything; raises `CompileError`, which setuptools prints as one line."""
        super().run()
        root = NATIVE if self.editable_mode else Path(self.build_lib, "groundspeed", "native")
        command = compiler()
        if command is None:
            return
        for name, sources in BUILT.items():
            compile_one(command, root / "bin" / name, [NATIVE / source for source in sources])


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
