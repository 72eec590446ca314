"""memtier_benchmark's command line and JSON, against what version 2.3.0 wrote."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from groundspeed.tools import memtier
from groundspeed.tools.redis_benchmark import Address, Tls
from tests.golden import redis_output

OPTIONS = memtier.Options(
    duration_s=2, client_count=10, thread_count=2, payload_bytes=1000, keyspace_count=1000
)
TEXT = (redis_output.FOLDER / "memtier-2.3.0.json").read_text(encoding="utf-8")


def pairs_of(options: memtier.Options, address: Address) -> set[tuple[str, str]]:
    return set(itertools.pairwise(memtier.command(options, address).arguments))


def test_clients_are_told_for_each_thread() -> None:
    pairs = pairs_of(OPTIONS, Address(socket="s"))
    assert {("--unix-socket", "s"), ("--threads", "2"), ("--clients", "5")} <= pairs
    assert {("--ratio", "1:10"), ("--test-time", "2"), ("--data-size", "1000")} <= pairs


def test_clients_that_cannot_be_shared_are_refused() -> None:
    with pytest.raises(ValueError, match="as many clients"):
        memtier.command(msgspec.structs.replace(OPTIONS, client_count=9), Address())


def test_a_password_is_never_in_the_command() -> None:
    address = Address(host="h", port=1, has_password=True, tls=Tls(ca_file="ca"))
    pairs = pairs_of(OPTIONS, address)
    assert {("--server", "h"), ("--authenticate", "@REDISCLI_AUTH"), ("--cacert", "ca")} <= pairs
    with pytest.raises(ValueError, match="user default alone"):
        memtier.command(OPTIONS, Address(user="bench", has_password=True))


def test_the_figures_of_a_run() -> None:
    output = memtier.parse(TEXT)
    assert output.sets is not None
    assert output.gets is not None
    assert output.sets.request_count + output.gets.request_count == output.total.request_count
    assert output.gets.request_count / output.sets.request_count == pytest.approx(10, rel=0.01)
    assert output.total.request_count / output.duration_s == pytest.approx(
        output.total.rate_per_s, rel=0.01
    )
    for side in (output.sets, output.gets, output.total):
        assert side.min_s < side.mean_s < side.p99_s
        assert 0 < side.min_s <= side.p50_s <= side.p95_s <= side.p99_s <= side.max_s < 2
    assert output.gets.hit_ratio is not None
    assert 0.9 < output.gets.hit_ratio <= 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"Interrupted": "false"', '"Interrupted": "true"', "interrupted"),
        ('"Connection Errors": 0', '"Connection Errors": 3', "lost 3 connections"),
        ('"Totals"', '"Others"', "lacks 'Totals'"),
        ("{", "", "cannot be read"),
    ],
)
def test_what_went_wrong_is_told(old: str, new: str, words: str) -> None:
    assert old in TEXT
    with pytest.raises(ValueError, match=words):
        memtier.parse(TEXT.replace(old, new))
