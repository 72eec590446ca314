from __future__ import annotations

import pytest

from groundspeed.tools.pgbench_log import LogKind, LogShape, by_process, shape
from tests.golden import pgbench_output

LOGGED = tuple(name for name in pgbench_output.NAMES if pgbench_output.read(name).log_lines)


@pytest.mark.parametrize("name", LOGGED)
def test_a_log_is_known_by_its_first_lines(name: str) -> None:
    text = "\n".join(pgbench_output.read(name).log_lines)
    extra = int(name.endswith(("rate", "retries")))
    assert shape(text) == LogShape(kind=LogKind.TRANSACTIONS, extra_count=extra)


def test_the_last_line_may_be_cut() -> None:
    assert shape("0 1 1183 0 1700000000 100000\n1 1 12") is not None


@pytest.mark.parametrize(
    "line",
    [
        "1345828501 5601 1542744 483552416 61 2573",
        "1345828503 7884 1979812 565806736 60 1479 0 0 0 0 0 0 0 0 0",
    ],
)
def test_an_aggregated_log_is_known_as_one(line: str) -> None:
    assert shape(f"{line}\n{line}\n") == LogShape(kind=LogKind.AGGREGATES)


@pytest.mark.parametrize("text", ["", "\n", "1 2 3\n", "transaction type: x\n", '{"source": 1}'])
def test_other_text_is_no_log(text: str) -> None:
    assert shape(text) is None


def test_files_of_one_pgbench_belong_together() -> None:
    names = ["log/pgbench_log.12", "log/pgbench_log.7", "log/pgbench_log.12.1", "mine"]
    assert by_process(names) == (
        ("log/pgbench_log.12", "log/pgbench_log.12.1"),
        ("log/pgbench_log.7",),
        ("mine",),
    )
