from __future__ import annotations

import pytest

from groundspeed.analyse.decisions import ComparisonKey
from groundspeed.analyse.overall import overall


def key(clients: int, workload: str = "tpcb-like", environment: str = "b") -> ComparisonKey:
    return ComparisonKey(
        workload=workload,
        clients=clients,
        threads=1,
        scale=10,
        baseline="a",
        environment=environment,
    )


def test_cells_of_a_workload_are_averaged_as_ratios() -> None:
    [found] = overall({key(1): [(2.0, 1.0)] * 6, key(8): [(1.0, 2.0)] * 7, key(16): []})

    assert (found.cell_count, found.round_count) == (2, 6)
    assert found.ratio == pytest.approx(1)
    assert found.low == pytest.approx(1)
    assert found.high == pytest.approx(1)


def test_workloads_and_environments_stay_apart() -> None:
    found = overall(
        {
            key(1): [(2.0, 1.0)] * 6,
            key(1, workload="select-only"): [(3.0, 1.0)] * 6,
            key(1, environment="c"): [(5.0, 1.0)] * 3,
        }
    )

    assert [(f.workload, f.environment, f.ratio) for f in found] == [
        ("tpcb-like", "b", pytest.approx(2)),
        ("select-only", "b", pytest.approx(3)),
        ("tpcb-like", "c", pytest.approx(5)),
    ]
    assert found[2].low is None
