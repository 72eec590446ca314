from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.audit import Check, Severity, audit
from tests.unit.audit.articles import found

LITTLE = "| Clients | TPS | Avg latency (ms) |\n|---|---|---|\n"


def clients_rows(*rows: tuple[int, str, str]) -> str:
    return LITTLE + "".join(f"| {c} | {tps} | {ms} |\n" for c, tps, ms in rows)


def test_rows_that_obey_littles_law_are_left_alone() -> None:
    table = clients_rows((4, "1,159", "3.44"), (16, "1.22k", "13.1"), (64, "1,811", "34.95"))
    assert found(table, Check.CLIENTS) == []


def test_more_requests_than_clients_is_an_error_with_its_product() -> None:
    table = clients_rows((4, "1,159", "3.44"), (16, "1,216", "30.6"), (64, "1,811", "34.95"))
    (remark,) = found(table, Check.CLIENTS)
    assert remark.severity is Severity.ERROR
    assert remark.place.row == "16"
    assert "37.21 at once; there are 16 clients" in remark.arithmetic[0]


def test_fewer_requests_than_clients_is_excused_by_think_time() -> None:
    table = clients_rows((50, "480", "4.1"), (200, "1,880", "6.3"))
    assert len(found(table, Check.CLIENTS)) == 2
    assert found(f"{table}\nClients have a think time of 0.1 s.\n", Check.CLIENTS) == []


def test_a_median_is_not_held_against_littles_law() -> None:
    head = "| Clients | TPS | p50 (ms) |\n|---|---|---|\n"
    table = f"{head}| 8 | 13,756 | 0.311 |\n| 16 | 20,000 | 0.4 |\n"
    assert found(table, Check.CLIENTS) == []


def test_the_same_factor_in_every_row_is_said_once() -> None:
    table = clients_rows((4, "8,000", "10"), (8, "16,000", "10"), (16, "32,000", "10"))
    (remark,) = found(table, Check.CLIENTS)
    assert "about 20 times the clients in every row" in remark.message


def change_table(*rows: tuple[int, int, str]) -> str:
    head = "| Clients | old TPS | new TPS | Change |\n|---|---|---|---|\n"
    return head + "".join(f"| {2**n} | {a} | {b} | {c} |\n" for n, (a, b, c) in enumerate(rows))


@pytest.mark.parametrize("changes", [("+99%", "+338%"), ("50%", "77%"), ("1.99x", "4.38x")])
def test_changes_may_be_from_either_base_or_times(changes: tuple[str, str]) -> None:
    table = change_table((1159, 2307, changes[0]), (1216, 5328, changes[1]))
    assert found(table, Check.CHANGE) == []


def test_a_truncated_change_is_a_note_and_a_wrong_one_an_error() -> None:
    table = change_table((1159, 2307, "+99%"), (1588, 6491, "+308%"), (1811, 7211, "+75%"))
    note, error = found(table, Check.CHANGE)
    assert (note.severity, note.quote) == (Severity.NOTE, "+308%")
    assert "(6491 - 1588) / 1588 = 308.8%" in note.arithmetic[0]
    assert (error.severity, error.quote) == (Severity.ERROR, "+75%")
    assert "(7211 - 1811) / 7211 = 74.89%" in error.arithmetic[1]


def test_rounding_of_the_figures_can_explain_a_change() -> None:
    head = "| Clients | old ms | new ms | Change |\n|---|---|---|---|\n"
    rows = "| 4 | 3.44 | 1.73 | -49% |\n| 16 | 13.06 | 2.95 | -77% |\n"
    assert found(head + rows, Check.CHANGE) == []


def test_rows_may_have_baselines_of_their_own() -> None:
    table = (
        "| Target | Clients | TPS | vs direct |\n|---|---|---|---|\n"
        "| direct | 4 | 10,358 | baseline |\n| raw | 4 | 5,936 | -43% |\n"
        "| wire | 4 | 168 | -98% |\n"
        "| direct | 16 | 9,135 | baseline |\n| raw | 16 | 7,164 | -22% |\n"
    )
    assert found(table, Check.CHANGE) == []


@given(
    rows=st.lists(
        st.tuples(st.integers(100, 9999), st.integers(100, 9999)), min_size=2, max_size=6
    ),
    rounding=st.sampled_from([ROUND_HALF_UP, ROUND_DOWN]),
)
def test_true_changes_are_never_called_wrong(rows: list[tuple[int, int]], rounding: str) -> None:
    def change(a: int, b: int) -> str:
        exact = Decimal(100 * (b - a)) / a
        return f"{exact.quantize(Decimal(1), rounding=rounding):+}%"

    table = change_table(*((a, b, change(a, b)) for a, b in rows))
    severities = {remark.severity for remark in found(table, Check.CHANGE)}
    assert severities <= ({Severity.NOTE} if rounding == ROUND_DOWN else set())


def test_averages_are_computed_anew() -> None:
    rows = "| Query | ms |\n|---|---|\n| Q1 | 10 ms |\n| Q2 | 12 ms |\n| Average | 13 ms |\n"
    (remark,) = found(rows, Check.AVERAGE)
    assert remark.arithmetic[0] == "(10 ms + 12 ms) / 2 = 11; printed is 13 ms"
    assert found(rows.replace("13 ms", "11 ms"), Check.AVERAGE) == []


def test_a_geometric_mean_called_an_average_is_a_doubt() -> None:
    rows = "| Query | ms |\n|---|---|\n| Q1 | 10 ms |\n| Q2 | 40 ms |\n| Average | 20 ms |\n"
    (remark,) = found(rows, Check.AVERAGE)
    assert remark.severity is Severity.DOUBT
    assert remark.message.endswith("geometric mean")


def test_an_average_over_client_counts_is_doubted_only_where_they_differ() -> None:
    rows = "| Clients | TPS |\n|---|---|\n| 4 | {} |\n| 64 | 5,000 |\n| Average | {} |\n"
    assert len(found(rows.format("1,000", "3,000"), Check.UNLIKE)) == 1
    assert found(rows.format("4,900", "4,950"), Check.UNLIKE) == []


def test_percentiles_out_of_order_are_an_error() -> None:
    rows = "| Store | p95 (ms) | p99 (ms) |\n|---|---|---|\n| a | 5.1 | 4.8 |\n| b | 4.4 | 9.0 |\n"
    (remark,) = found(rows, Check.COLUMNS)
    assert remark.place.row == "a"


def test_swapped_latencies_are_named_once_and_not_row_by_row() -> None:
    table = (
        "| Clients | a TPS | b TPS | a ms | b ms |\n|---|---|---|---|---|\n"
        "| 10 | 1,000 | 500 | 20.0 | 10.0 |\n| 20 | 1,600 | 800 | 25.0 | 12.5 |\n"
    )
    (remark,) = audit(table, suffix="md").remarks
    assert (remark.check, remark.severity) == (Check.COLUMNS, Severity.ERROR)


def test_a_series_under_two_labels_is_found_across_tables() -> None:
    def table(a: int, b: int) -> str:
        rows = "".join(f"| {n} | {a + n} | {b + n} |\n" for n in (1, 2, 3))
        return f"| Clients | a TPS | b TPS |\n|---|---|---|\n{rows}\n"

    (remark,) = found(table(100, 200) + "Again.\n\n" + table(200, 300), Check.COLUMNS)
    assert "figures of b in table 1, here under a" in remark.message
