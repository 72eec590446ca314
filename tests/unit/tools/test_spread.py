"""One pgbench as several: what each is told, and their reports as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.tools import pgbench, spread
from groundspeed.tools.pgbench_load import PgbenchLoad
from tests.golden import pgbench_output
from tests.unit.tools.test_pgbench import MINE, TPCB, trial_of

if TYPE_CHECKING:
    from groundspeed.plan import Command


def value_of(command: Command, option: str) -> str:
    return command.arguments[command.arguments.index(option) + 1]


def seed_of(command: Command) -> str:
    (seed,) = [a for a in command.arguments if a.startswith("--random-seed=")]
    return seed


@given(st.integers(0, 10**6), st.integers(1, 200))
def test_shares_are_whole_even_and_add_up(total: int, count: int) -> None:
    shares = spread.shares(total, count)
    assert sum(shares) == total
    assert len(shares) == count
    assert max(shares) - min(shares) <= 1
    assert list(shares) == sorted(shares, reverse=True)


def test_nothing_is_shared_among_nobody() -> None:
    with pytest.raises(ValueError, match="among 0"):
        spread.shares(3, 0)


@given(
    clients=st.integers(1, 500),
    threads=st.integers(1, 500),
    count=st.integers(1, 40),
    rate=st.none() | st.floats(1, 1e6),
)
def test_clients_and_rate_add_up_and_threads_fit(
    clients: int, threads: int, count: int, rate: float | None
) -> None:
    threads, count = min(threads, clients), min(count, clients)
    trial = trial_of(clients=clients, threads=threads, rate_per_s=rate)
    commands = spread.spread(pgbench.command(trial, TPCB, conninfo="dbname=x"), count)
    of_clients = [int(value_of(command, "-c")) for command in commands]
    of_threads = [int(value_of(command, "-j")) for command in commands]
    assert sum(of_clients) == clients
    assert all(1 <= own <= served for own, served in zip(of_threads, of_clients, strict=True))
    assert sum(of_threads) == max(threads, count)
    assert len({seed_of(command) for command in commands}) == count
    if rate is not None:
        rates = [float(value_of(command, "-R")) for command in commands]
        assert sum(rates) == pytest.approx(rate, rel=1e-10)
        each = [own / served for own, served in zip(rates, of_clients, strict=True)]
        assert max(each) == pytest.approx(min(each), rel=1e-10)


def test_everything_else_stays_as_it_is() -> None:
    trial = trial_of(
        workload="mine", clients=7, threads=3, rate_per_s=70.0, latency_limit_s=0.05, max_tries=3
    )
    command = pgbench.command(trial, MINE, conninfo="dbname=-c", sampling_ratio=0.05)
    expected = (
        *("-n", "-M", "prepared", "-c", "3", "-j", "1", "-T", "2", "-P", "1"),
        *(None, "-R", "30", "-L", "50", "--max-tries=3", "--failures-detailed"),
        *("-s", "1", "-f", "script.sql", "-l", "--log-prefix=transactions"),
        *("--sampling-rate=0.05", "dbname=-c"),
    )
    first, *others = spread.spread(command, 3)
    told = [None if a.startswith("--random-seed=") else a for a in first.arguments]
    assert tuple(told) == expected
    assert first.files == command.files
    assert [value_of(other, "-c") for other in others] == ["2", "2"]


def test_seeds_are_drawn_from_the_trials_own_and_fit_every_version() -> None:
    command = pgbench.command(trial_of(clients=9), TPCB, conninfo="dbname=x")
    once = [seed_of(part) for part in spread.spread(command, 9)]
    assert once == [seed_of(part) for part in spread.spread(command, 9)]
    other = pgbench.command(trial_of(clients=9, random_seed=8), TPCB, conninfo="dbname=x")
    assert not set(once) & {seed_of(part) for part in spread.spread(other, 9)}
    assert all(int(seed.partition("=")[2]) < 2**48 for seed in once)


def test_one_generator_gets_the_command_as_it_is() -> None:
    command = pgbench.command(trial_of(), TPCB, conninfo="dbname=x")
    assert spread.spread(command, 1) == (command,)


def test_what_cannot_be_spread_is_refused() -> None:
    with pytest.raises(ValueError, match="no clients"):
        spread.spread(pgbench.initialise("dbname=x", scale=1), 2)
    with pytest.raises(ValueError, match="2 clients are too few for 3"):
        spread.spread(pgbench.command(trial_of(), TPCB, conninfo="dbname=x"), 3)


# -- their reports


def report_text(name: str, **changes: str) -> str:
    text = pgbench_output.read(name).stdout
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def told(name: str) -> pgbench.Report:
    return pgbench.parse(report_text(name))


@pytest.mark.parametrize("name", [n for n in pgbench_output.NAMES if "aborted" not in n])
def test_reports_of_three_add_up(name: str) -> None:
    one = told(name)
    added = pgbench.parse(spread.join_reports([report_text(name)] * 3))
    same = ("transaction_type", "scale", "query_mode", "duration_s", "max_tries")
    assert [getattr(added, key) for key in same] == [getattr(one, key) for key in same]
    assert added.generator_count == 3
    assert (added.clients, added.threads) == (3 * one.clients, 3 * one.threads)
    assert added.transaction_count == 3 * one.transaction_count
    assert added.tps_per_s == pytest.approx(3 * one.tps_per_s)
    assert added.latency_average_s == pytest.approx(one.latency_average_s)
    assert added.latency_stddev_s is None
    assert added.initial_connection_s == one.initial_connection_s
    assert added.schedule_lag_max_s == one.schedule_lag_max_s
    for key in ("failed_count", "skipped_count", "retried_count", "retries_count"):
        assert getattr(added, key) == 3 * getattr(one, key)
    for key in ("over_limit_count", "serialization_count", "deadlock_count"):
        alone = getattr(one, key)
        assert getattr(added, key) == (None if alone is None else 3 * alone)


def test_the_slowest_to_connect_counts_and_means_are_weighted() -> None:
    text = report_text("16-plain")
    one = pgbench.parse(text)
    assert one.initial_connection_s is not None
    connected_ms, average_ms = one.initial_connection_s * 1000, one.latency_average_s * 1000
    other = text
    for old, new in (
        (f"initial connection time = {connected_ms:.3f}", "initial connection time = 99"),
        (f"latency average = {average_ms:.3f}", f"latency average = {2 * average_ms:.3f}"),
        (f"processed: {one.transaction_count}", f"processed: {3 * one.transaction_count}"),
    ):
        assert old in text
        other = other.replace(old, new)
    added = pgbench.parse(spread.join_reports([text, other]))
    assert added.initial_connection_s == 0.099
    assert added.transaction_count == 4 * one.transaction_count
    assert added.latency_average_s == pytest.approx(1.75 * one.latency_average_s)


def test_a_report_that_differs_in_what_was_asked_is_refused() -> None:
    text = report_text("16-plain")
    other = text.replace("scaling factor: 1", "scaling factor: 10")
    with pytest.raises(ValueError, match="did not do the same: scale is 1 and 10"):
        pgbench.parse(spread.join_reports([text, other]))


def test_a_report_that_is_missing_or_torn_is_refused() -> None:
    text = report_text("16-plain")
    joined = spread.join_reports([text, text, text])
    with pytest.raises(ValueError, match=r"not every generator's report is there.*\[1, 2\]"):
        pgbench.parse(joined[: joined.index("generator 3 of 3")])
    torn = spread.join_reports([text, text[: text.index("latency average")]])
    with pytest.raises(ValueError, match="lacks the line 'tps'"):
        pgbench.parse(torn)


def test_all_that_was_printed_is_kept() -> None:
    texts = ("one\n", "no end", "", "three\nlines\n")
    joined = spread.join_reports(texts)
    assert joined.startswith("generator 1 of 4\none\ngenerator 2 of 4\nno end\n")
    assert spread.split_reports(joined) == ("one\n", "no end\n", "", "three\nlines\n")
    assert spread.split_reports("generators are fine\n") == ("generators are fine\n",)


def test_mismatches_are_of_the_sums() -> None:
    text = report_text("16-plain")
    one = pgbench.parse(text)
    joined = spread.join_reports([text] * 2)
    asked = trial_of(clients=2 * one.clients, threads=2 * one.threads)
    assert PgbenchLoad().read(asked, TPCB, joined).differences == ()
    more = trial_of(clients=2 * one.clients + 1, threads=2 * one.threads)
    assert PgbenchLoad().read(more, TPCB, joined).differences == (
        f"clients: asked {2 * one.clients + 1}, pgbench did {2 * one.clients}",
    )


def test_threads_that_had_to_be_more_than_asked_are_no_mismatch() -> None:
    """With three generators there are three threads at least."""
    text = report_text("16-plain")
    one = pgbench.parse(text)
    report = msgspec.structs.replace(one, clients=6, threads=3, generator_count=3)
    assert pgbench.mismatches(trial_of(clients=6, threads=1), TPCB, report) == ()
    assert pgbench.mismatches(
        trial_of(clients=6, threads=1),
        TPCB,
        msgspec.structs.replace(report, generator_count=1),
    ) == ("threads: asked 1, pgbench did 3",)
