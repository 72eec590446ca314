"""The C of the project: programs that are too slow or impossible in Python.

Each source says in its header what it does and what it refuses to do. This module only says where
the built programs are; `setup.py` builds them, targets run them.
"""

from __future__ import annotations

import os
from pathlib import Path

from groundspeed.errors import TargetError

PROGRAMS_DIRECTORY = Path(__file__).parent / "bin"


def executable_path(name: str) -> Path:
    """Return where the built program `name`, such as `log_reader`, is.

    Raises `TargetError` when it was not built, as happens when the package was copied, not
    installed.
    """
    path = PROGRAMS_DIRECTORY / name
    if not os.access(path, os.X_OK) or not path.is_file():
        raise TargetError(
            f"the program {name} of this installation has not been built",
            "reinstall groundspeed with a C compiler present (gcc or clang), or run `make`",
        )
    return path


def library_path(name: str) -> Path:
    """Return where the built shared object `name`, such as `storage_shim.so`, is.

    Raises `TargetError` when it was not built: groundspeed then measures, but emulates nothing.
    """
    path = PROGRAMS_DIRECTORY / name
    if not path.is_file():
        raise TargetError(
            f"storage emulation is not in this installation: {name} has not been built",
            "reinstall groundspeed with a C compiler present (gcc or clang), or run `make`",
        )
    return path
