"""A processor quota for a server: a control group of version 1 or 2, made and removed here."""

from __future__ import annotations

import os
import select
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

_PERIOD_US = 100_000
_GONE_POLLS, _POLL_S = 200, 0.02


class Quota:
    """A group that may use a share of one core."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def hold(self, postmaster: int) -> None:
        """Put a server and all it started into the group; what it starts later follows."""
        for pid in (postmaster, *leftovers.children_of(postmaster)):
            (self.folder / "cgroup.procs").write_text(str(pid))


@contextmanager
def quota(cores: float) -> Iterator[Quota]:
    """Make a group with a quota, or skip the test where none may be made; it goes after."""
    quota_us = round(cores * _PERIOD_US)
    folder, settings = _new_group(quota_us)
    try:
        folder.mkdir()
        try:
            for name, value in settings:
                (folder / name).write_text(value)
            yield Quota(folder)
        finally:
            _remove(folder)
    except PermissionError as error:
        pytest.skip(f"no control group may be made here: {error}")


def _new_group(quota_us: int) -> tuple[Path, tuple[tuple[str, str], ...]]:
    name = f"groundspeed-test-{uuid.uuid4().hex[:8]}"
    old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    if (old / "cpu.cfs_quota_us").exists() or (old / "cgroup.procs").exists():
        period = ("cpu.cfs_period_us", str(_PERIOD_US))
        return old / name, (period, ("cpu.cfs_quota_us", str(quota_us)))
    control = new / "cgroup.subtree_control"
    if not control.exists() or not os.access(new, os.W_OK):
        pytest.skip("no control groups may be made here")
    if "cpu" not in control.read_text().split():
        pytest.skip("the cpu controller is not handed down here")
    return new / name, (("cpu.max", f"{quota_us} {_PERIOD_US}"),)


def _remove(folder: Path) -> None:
    """Remove the group once its last process is gone; the kernel takes a moment to let go."""
    for _ in range(_GONE_POLLS):
        if not (folder / "cgroup.procs").read_text().strip():
            break
        select.select([], [], [], _POLL_S)
    folder.rmdir()
