from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.numa_nodes import NumaNodes
from tests.unit.probes.kernel_trees import write_files

if TYPE_CHECKING:
    from pathlib import Path

MAPS = """\
7f00 default file=/SYSV00 dirty=90 N0=60 N1=30 kernelpagesize_kB=4
7f10 default anon=10 dirty=10 N1=10 kernelpagesize_kB=4
7f20 default file=/lib/Name=3
"""


def nodes(sys: Path, *cpulists: str) -> NumaNodes:
    for number, cpulist in enumerate(cpulists):
        write_files(sys, {f"devices/system/node/node{number}/cpulist": cpulist + "\n"})
    return NumaNodes(sys)


def test_one_node_is_not_several(tmp_path: Path) -> None:
    assert not nodes(tmp_path / "one", "0-3").several
    assert not nodes(tmp_path / "none").several
    assert nodes(tmp_path / "two", "0-1", "2-3").several


def test_remote_is_what_lies_where_the_server_does_not_run(tmp_path: Path) -> None:
    two = nodes(tmp_path, "0-1", "2-3")
    write_files(tmp_path, {"60/numa_maps": MAPS})
    # 60 pages on node 0, 40 on node 1.
    assert two.remote_ratio((60, 61), {0: 50, 1: 50}, tmp_path) == pytest.approx(0.4)
    assert two.remote_ratio((60,), {3: 10}, tmp_path) == pytest.approx(0.6)
    assert two.remote_ratio((60,), {0: 5, 2: 5}, tmp_path) == pytest.approx(0.5)


def test_without_pages_or_time_there_is_no_ratio(tmp_path: Path) -> None:
    two = nodes(tmp_path, "0-1", "2-3")
    assert two.remote_ratio((60,), {0: 5}, tmp_path) is None
    write_files(tmp_path, {"60/numa_maps": MAPS})
    assert two.remote_ratio((60,), {}, tmp_path) is None
