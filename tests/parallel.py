"""What the processes of one run of pytest share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def shared_directory(factory: pytest.TempPathFactory) -> Path:
    """Name the directory of this run of pytest; each of its processes has its own below it."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
