from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.tools import probe_plan
from groundspeed.tools.fio import Access

if TYPE_CHECKING:
    from groundspeed.tools.probe_plan import ProbePlan

GIB = 1024**3


def plan_of(time_s: float = 60.0, size_bytes: int = 4 * GIB, seed: int = 1) -> ProbePlan:
    return probe_plan.make_plan(size_bytes=size_bytes, time_s=time_s, seed=seed, rng=Random(seed))


def test_every_block_holds_every_load_once_in_an_order_of_its_own() -> None:
    plan = plan_of()
    names = [tuple(job.name for job in block) for block in plan.blocks]
    assert all(Counter(block) == Counter(names[0]) for block in names)
    assert max(Counter(names[0]).values()) == 1
    assert len(set(names)) == len(names)


def test_a_seed_repeats_the_order() -> None:
    assert plan_of(seed=3) == plan_of(seed=3)
    assert plan_of(seed=3).blocks != plan_of(seed=4).blocks


@pytest.mark.parametrize("time_s", [45.0, 60.0, 100.0, 300.0, 3600.0])
def test_time_is_divided_without_a_rest(time_s: float) -> None:
    plan = plan_of(time_s)
    assert 0.9 * time_s <= plan.wall_s <= time_s * 1.001
    # What quotients of two medians take for an interval of 95%.
    assert len(plan.blocks) >= 7


def test_little_time_means_fewer_blocks() -> None:
    assert len(plan_of(6.0).blocks) == 1
    assert 1 < len(plan_of(30.0).blocks) < 7
    assert plan_of(6.0).wall_s < 8


def test_loads_cover_what_a_profile_needs() -> None:
    jobs = {job.name: job for job in plan_of().blocks[0]}
    for access in (Access.RANDOM_READ, Access.RANDOM_WRITE):
        assert {j.depth_count for j in jobs.values() if j.access is access} == {1, 2, 4, 8, 16, 32}
    sync = jobs[probe_plan.SYNC_NAME]
    assert sync.sync
    assert (sync.block_bytes, sync.depth_count) == (8192, 1)


@pytest.mark.parametrize("size_bytes", [32 * 1024**2, 64 * 1024**2 + 12345, 4 * GIB])
def test_files_take_no_more_than_the_room(size_bytes: int) -> None:
    files = plan_of(size_bytes=size_bytes).files(direct=True)
    assert files.data_bytes + files.log_bytes <= size_bytes
    assert files.data_bytes >= size_bytes // 2


@pytest.mark.parametrize("time_s", [0.0, 5.9, float("nan"), float("inf")])
def test_too_little_time_is_refused(time_s: float) -> None:
    with pytest.raises(ValueError, match="at least 6 s"):
        plan_of(time_s)


def test_too_little_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 32 MiB"):
        plan_of(size_bytes=1024**2)
