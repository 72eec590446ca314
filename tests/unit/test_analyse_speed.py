from __future__ import annotations

import time
from typing import TYPE_CHECKING

from groundspeed.analyse import RunRecords, analyse
from groundspeed.report.view import view
from tests.examples import make_paired_records, make_run

if TYPE_CHECKING:
    from groundspeed.record import Record


def make_large_run(cells: int, repeats: int = 10) -> RunRecords:
    records: list[Record] = []
    for clients in range(1, cells + 1):
        records += make_paired_records(
            [1 + clients / 100] * repeats, clients=clients, first_block=clients * repeats
        )
    return make_run(records)


def time_s(run: RunRecords) -> float:
    times = []
    for _ in range(5):
        start = time.process_time()
        view(analyse([run]))
        times.append(time.process_time() - start)
    return min(times)


def test_time_grows_with_the_records_and_no_faster() -> None:
    # No absolute limit: machines differ. Eight times the records may take eight times as long,
    # with room for noise; a quadratic step would take sixty-four times.
    small, large = make_large_run(10), make_large_run(80)
    time_s(small)

    assert time_s(large) < 24 * time_s(small)
