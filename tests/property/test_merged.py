"""A log in parts, each read by a reader of its own, adds up to what one makes of the whole."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from groundspeed import native
from groundspeed.measurement import merged
from groundspeed.ports import LoadResult
from groundspeed.targets.log_reading import LogAnswer

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.record import LogTotals, SecondRow

START_US = 1_731_234_567_250_000
WORDS = ("failed", "serialization", "deadlock", "skipped")
# From busy seconds to hours with a transaction now and then.
GAPS_US = (60, 2_000, 70_000, 3_000_000)


class Read(NamedTuple):
    """What a reader made of some lines."""

    totals: LogTotals
    rows: tuple[SecondRow, ...]
    tallies: tuple[msgspec.Raw, ...]


def lines_of(seed: int, count: int) -> list[str]:
    """Lines of one pgbench with a rate and retries, some from just before its second 0."""
    dice = random.Random(seed)
    time_us = START_US - dice.randrange(900_000)
    gap_us = dice.choice(GAPS_US)
    found = []
    for number in range(count):
        time_us += dice.randrange(2 * gap_us)
        large = dice.choice((10, 3_000, 3_000, 3_000, 10**6, 10**11))
        result = str(dice.randrange(large)) if dice.random() < 0.95 else dice.choice(WORDS)
        epoch = f"{time_us // 10**6} {time_us % 10**6}"
        tail = f"{dice.randrange(10 ** dice.randrange(1, 9))} {dice.choice((0, 0, 0, 1, 3))}"
        found.append(f"{dice.randrange(9)} {number} {result} 0 {epoch} {tail}\n")
    return found


def read(path: Path, lines: list[str], *, start_us: int = START_US, in_parts: bool) -> Read:
    path.write_text("".join(lines))
    options = ["--has-lag", "--has-retries", f"--start-us={start_us}"]
    options += ["--second-buckets"] if in_parts else []
    done = subprocess.run(
        [native.executable_path("log_reader"), *options, path], capture_output=True, check=True
    )
    answer = LogAnswer()
    answer.feed(done.stdout)
    assert answer.totals is not None
    return Read(answer.totals, tuple(answer.seconds), tuple(answer.tallies))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(0, 1500),
    parts=st.integers(1, 5),
)
@example(seed=1, count=0, parts=3)
@example(seed=2, count=1, parts=3)
@example(seed=3, count=5000, parts=2)
def test_parts_add_up_to_the_whole(tmp_path: Path, seed: int, count: int, parts: int) -> None:
    lines = lines_of(seed, count)
    dice = random.Random(seed + 1)
    dealt: list[list[str]] = [[] for _ in range(parts)]
    for line in lines:
        dice.choice(dealt).append(line)
    whole = read(tmp_path / "whole", lines, in_parts=False)
    pieces = [read(tmp_path / "part", part, in_parts=True) for part in dealt]
    assert merged.merge_totals([piece.totals for piece in pieces]) == whole.totals
    assert merged.merge_seconds([piece.tallies for piece in pieces]) == whole.rows
    # And the rows of a single part are what its tallies come to.
    assert all(merged.merge_seconds([piece.tallies]) == piece.rows for piece in pieces)


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 2**32),
    ahead_us=st.lists(st.integers(-(10**7), 10**7), min_size=2, max_size=4),
)
def test_clocks_that_differ_by_what_is_known_change_nothing(
    tmp_path: Path, seed: int, ahead_us: list[int]
) -> None:
    """Each part is written by a clock of its own and told when second 0 is by that."""
    lines = lines_of(seed, 400)
    dealt = [lines[number :: len(ahead_us)] for number in range(len(ahead_us))]
    whole = read(tmp_path / "whole", lines, in_parts=False)
    results = []
    for part, by_us in zip(dealt, ahead_us, strict=True):
        piece = read(
            tmp_path / "part",
            [set_clock(line, by_us) for line in part],
            start_us=START_US + by_us,
            in_parts=True,
        )
        result = LoadResult(
            returncode=0,
            stdout="",
            stderr="",
            elapsed_s=1.0,
            log=piece.totals,
            tallies=piece.tallies,
        )
        # It travels as JSON, sums of squares beyond 64 bits and all.
        arrived = msgspec.json.decode(msgspec.json.encode(result), type=LoadResult)
        assert arrived == result
        results.append(merged.shifted(arrived, by_us=-by_us))
    added = merged.merge_loads(results)
    assert added.seconds == whole.rows
    # A number of the clock may have a digit more or less.
    assert msgspec.structs.replace(added.log or whole.totals, bytes=whole.totals.bytes) == (
        whole.totals
    )


def set_clock(line: str, by_us: int) -> str:
    fields = line.split(" ")
    time_us = int(fields[4]) * 10**6 + int(fields[5]) + by_us
    fields[4:6] = map(str, divmod(time_us, 10**6))
    return " ".join(fields)


def test_logs_of_different_layouts_are_refused(tmp_path: Path) -> None:
    one = read(tmp_path / "one", lines_of(1, 50), in_parts=True)
    histogram = msgspec.structs.replace(one.totals.histogram, sub_bucket_bits=6)
    other = msgspec.structs.replace(one.totals, histogram=histogram)
    with pytest.raises(ValueError, match="different layouts"):
        merged.merge_totals([one.totals, other])
    with pytest.raises(ValueError, match="of others it is not"):
        merged.merge_totals([one.totals, msgspec.structs.replace(one.totals, lag=None)])
