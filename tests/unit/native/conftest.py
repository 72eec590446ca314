"""The log reader in every build that is worth testing."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import native

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(native.__file__).parent / "log_reader.c"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")


def compile_reader(directory: Path, name: str, *flags: str) -> Path:
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(command[0]) is None:
        pytest.skip("no C compiler here")
    program = directory / name
    result = subprocess.run(
        [*command, *FLAGS, *flags, "-o", str(program), str(SOURCE)],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0 and "sanitize" in " ".join(flags):
        pytest.skip(f"no sanitizers here: {result.stderr[-200:]}")
    assert result.returncode == 0, result.stderr
    return program


@pytest.fixture(scope="session", params=["vectors", "portable"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("reader")
    flags = ["-O3"] if request.param == "vectors" else ["-O3", "-DLOG_READER_PORTABLE"]
    return compile_reader(directory, str(request.param), *flags)


@pytest.fixture(scope="session")
def checked_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build that dies of any overrun or undefined behaviour."""
    return compile_reader(
        tmp_path_factory.mktemp("checked"),
        "checked",
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    )


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder in memory, where logs of a run are, readable by other users."""
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=room, prefix="log_reader_test_") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)
