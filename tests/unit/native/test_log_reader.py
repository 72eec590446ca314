"""The log reader on finished files, against a plain reading of the same bytes."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from groundspeed import native
from groundspeed.errors import TargetError
from tests.unit.native.plain_log import (
    assert_seconds_agree,
    assert_total_agrees,
    buckets_of,
    read_files,
    read_plainly,
)

if TYPE_CHECKING:
    from pathlib import Path

START_S = 1_731_234_567
FOLLOW = ("--follow", "/tmp", "--prefix", "x")
WORDS = (b"failed", b"serialization", b"deadlock", b"skipped")
GARBAGE = (
    *(b"", b" ", b"\r", b"\0\0\0", b"0 0 1 0 1731234567", b"0 0 1 0 1731234567 5 6 7 8 9"),
    *(b"0  0 1 0 1731234567 5", b" 0 0 1 0 1731234567 5", b"0 0 1 0 1731234567 5 "),
    *(b"-1 0 1 0 1731234567 5", b"0 0 failure 0 1731234567 5", b"0 0 1 0 1731234567 1000000"),
    *(b"0 0 1 0 99999999999999 5", b"9" * 5000, b"0 0 " + b"9" * 19 + b" 0 1731234567 5"),
)


def random_log(
    dice: random.Random, lines: int, per_second: int, *, lag: bool, retries: bool
) -> bytes:
    time_us = START_S * 10**6 + dice.randrange(3 * 10**6)
    out = []
    for number in range(lines):
        time_us += dice.randrange(2 * 10**6 // per_second)
        kind = dice.random()
        if kind < 0.01:
            out.append(dice.choice(GARBAGE))
            continue
        size = dice.choice((10, 300, 10**4, 10**8, 10**11)) if kind < 0.1 else 3000
        result = b"%d" % dice.randrange(size)
        if kind > 0.95:
            result = dice.choice(WORDS)
        line = b"%d %d %s %d %d %d" % (
            *(dice.randrange(300), number, result, dice.randrange(3)),
            *divmod(time_us, 10**6),
        )
        line += b" %d" % dice.randrange(10 ** dice.randrange(1, 13)) if lag else b""
        line += b" %d" % (dice.randrange(9) * (dice.random() < 0.1)) if retries else b""
        out.append(line)
    return b"".join(line + b"\n" for line in out)


def write_logs(folder: Path, logs: list[bytes]) -> list[Path]:
    paths = [folder / f"log.{number}" for number in range(len(logs))]
    for path, log in zip(paths, logs, strict=True):
        path.write_bytes(log)
    return paths


@pytest.mark.parametrize("lag", [False, True])
@pytest.mark.parametrize("retries", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_logs_agree_with_a_plain_reading(
    reader: Path, tmp_path: Path, seed: int, *, lag: bool, retries: bool
) -> None:
    dice = random.Random(seed)
    # From busy seconds, counted densely, to hours of nearly empty ones.
    per_second = (10_000, 300, 10, 1)[seed]
    logs = [
        random_log(dice, dice.randrange(12_000), per_second, lag=lag, retries=retries)
        for _ in range(dice.randrange(1, 6))
    ]
    logs[0] += b"1 2 3 4 1731234567"  # torn
    logs.append(b"")
    options = ["--has-lag"] * lag + ["--has-retries"] * retries
    answer = read_files(reader, write_logs(tmp_path, logs), *options)
    plain = read_plainly(logs, lag=lag, retries=retries)
    assert_total_agrees(answer.total, plain, logs)
    assert_seconds_agree(answer.seconds, plain, 10**9)
    assert answer.total["late"] == 0


def test_a_long_log_agrees_over_many_chunks(reader: Path, tmp_path: Path) -> None:
    dice = random.Random(5)
    logs = [random_log(dice, 60_000, 2_000, lag=False, retries=False) for _ in range(3)]
    start_us = START_S * 10**6 + 7
    answer = read_files(reader, write_logs(tmp_path, logs), f"--start-us={start_us}")
    plain = read_plainly(logs, start_us=start_us)
    assert_total_agrees(answer.total, plain, logs)
    assert_seconds_agree(answer.seconds, plain, 10**9)
    assert answer.total["start_us"] == start_us


def test_words_lag_and_retries_are_counted_as_pgbench_counts_them(
    reader: Path, tmp_path: Path
) -> None:
    log = (
        b"0 1 1000 0 1731234567 1 20 0\n"
        b"0 2 serialization 0 1731234567 2 0 3\n"
        b"0 3 deadlock 0 1731234567 3 0 1\n"
        b"0 4 failed 0 1731234567 4 0 0\n"
        b"0 5 skipped 0 1731234567 5 0 4294967295\n"
        b"0 6 2000 0 1731234567 6 40 2\n"
    )
    answer = read_files(reader, write_logs(tmp_path, [log]), "--has-lag", "--has-retries")
    total = answer.total
    assert (total["count"], total["failed"], total["skipped"]) == (2, 3, 1)
    assert (total["serialization"], total["deadlock"]) == (1, 1)
    assert (total["retried"], total["retries"]) == (3, 6)
    assert (total["lag"]["count"], total["lag"]["sum_us"], total["lag"]["max_us"]) == (2, 60, 40)
    assert answer.seconds[0]["failed"] == 3
    assert answer.seconds[0]["skipped"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_seconds_with_their_buckets_are_the_same_seconds(
    reader: Path, tmp_path: Path, seed: int
) -> None:
    """Densely counted, sparsely, and mostly empty; each tells all that its figures come from."""
    dice = random.Random(seed)
    logs = [random_log(dice, 6_000, (10_000, 300, 1)[seed], lag=False, retries=False)]
    paths = write_logs(tmp_path, logs)
    plain = read_plainly(logs)
    without, told = read_files(reader, paths), read_files(reader, paths, "--second-buckets")
    assert told.total == without.total
    for index, row in told.seconds.items():
        values = plain.seconds.get(index, [])
        assert row.pop("buckets") == buckets_of(values)
        assert row.pop("sum_us") == sum(values)
        assert row.pop("min_us") == min(values, default=None)
        assert row.pop("sub_bucket_bits") == told.total["sub_bucket_bits"]
    assert told.seconds == without.seconds


def test_a_stall_is_a_zero_and_not_a_hole(reader: Path, tmp_path: Path) -> None:
    log = b"0 1 10 0 1731234567 5\n0 2 10 0 1731234570 5\n"
    answer = read_files(reader, write_logs(tmp_path, [log]))
    assert [row["count"] for row in answer.seconds.values()] == [1, 0, 0, 1]
    assert answer.seconds[1]["p99_us"] is None


def test_a_clock_that_jumped_counts_in_the_totals_and_in_no_second(
    reader: Path, tmp_path: Path
) -> None:
    before, far, behind = START_S - 3, START_S + 3600, START_S + 70
    log = b"".join(b"0 1 10 0 %d 0\n" % s for s in (START_S, far, before, behind, START_S + 71))
    answer = read_files(
        reader, write_logs(tmp_path, [log]), f"--start-us={START_S}000000", "--seconds=10"
    )
    assert answer.total["count"] == 5
    assert answer.total["out_of_range"] == 3
    assert sum(row["count"] for row in answer.seconds.values()) == 2
    assert answer.total["last_us"] == behind * 10**6


def test_a_line_of_a_closed_second_is_late_and_not_lost(reader: Path, tmp_path: Path) -> None:
    # A second is closed after its chunk (256 KiB) when the file has passed it.
    filler = b"".join(b"0 %d 10 0 %d 5\n" % (n, START_S + 5) for n in range(20_000))
    log = b"0 1 10 0 %d 5\n" % START_S + filler + b"0 1 77 0 %d 5\n" % (START_S + 2)
    answer = read_files(reader, write_logs(tmp_path, [log]))
    assert answer.total["late"] == 1
    assert answer.total["max_us"] == 77
    assert answer.total["count"] == 20_002 == sum(count for _, count in answer.total["buckets"])
    assert answer.seconds[2]["count"] == 0


def test_seconds_too_far_apart_to_be_open_together_are_closed_early(
    reader: Path, tmp_path: Path
) -> None:
    log = b"".join(b"0 1 10 0 %d 5\n" % (START_S + s) for s in (0, 20_000, 1))
    answer = read_files(reader, write_logs(tmp_path, [log]))
    assert answer.total["late"] == 1
    assert (len(answer.seconds), answer.total["count"]) == (20_001, 3)


def test_memory_is_bounded_when_a_file_is_hours_ahead_of_another(
    reader: Path, tmp_path: Path
) -> None:
    # 3,000 busy seconds in the first file, and one line far behind them all in the second.
    ahead = b"".join(b"0 1 %d 0 %d 5\n" % (n % 4000, START_S + n // 100) for n in range(300_000))
    logs = [ahead, b"0 1 9 0 %d 5\n0 1 9 0 %d 5\n" % (START_S, START_S + 2999)]
    answer = read_files(reader, write_logs(tmp_path, logs))
    assert_seconds_agree(answer.seconds, read_plainly(logs), 10**9)
    assert answer.total["late"] == 0


def test_lines_longer_than_the_buffer_are_malformed_once(reader: Path, tmp_path: Path) -> None:
    good = b"0 1 10 0 1731234567 5\n"
    logs = [good + b"1" * 1_000_000 + b"\n" + good, b"\0" * 600_000, b"x" * 262_144 + b"\n" + good]
    answer = read_files(reader, write_logs(tmp_path, logs))
    assert answer.total["malformed"] == 3
    assert answer.total["count"] == 3
    assert answer.total["bytes"] == sum(map(len, logs))


def test_finished_files_are_left_as_they_are(reader: Path, shm: Path) -> None:
    log = random_log(random.Random(1), 20_000, 1_000, lag=False, retries=False)
    paths = write_logs(shm, [log])
    blocks = paths[0].stat().st_blocks
    read_files(reader, paths)
    assert paths[0].read_bytes() == log
    assert paths[0].stat().st_blocks == blocks


@pytest.mark.parametrize(
    "arguments",
    [
        *([], ["--follow", "/tmp"], ["--prefix", "x"], ["--no-such-option", "file"]),
        *([*FOLLOW, "file"], ["--seconds", "many", "file"]),
        *(["--await-start", "file"], [*FOLLOW, "--await-start", "--start-us=1"]),
    ],
)
def test_a_wrong_command_line_exits_with_2(reader: Path, arguments: list[str]) -> None:
    done = subprocess.run([reader, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_a_file_that_cannot_be_read_is_said_and_the_others_are_read(
    reader: Path, tmp_path: Path
) -> None:
    good = write_logs(tmp_path, [b"0 1 10 0 1731234567 5\n"])
    done = subprocess.run(
        [reader, tmp_path / "none", tmp_path, *good], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "none: No such file" in done.stderr
    assert '"type":"total","count":1,' in done.stdout


LINES = st.one_of(
    st.sampled_from(GARBAGE),
    st.binary(max_size=80),
    st.builds(
        lambda *parts: b" ".join(parts),
        *[st.integers(0, 10**20).map(str).map(str.encode)] * 2,
        st.one_of(st.sampled_from(WORDS), st.integers(0, 10**13).map(str).map(str.encode)),
        st.just(b"0"),
        st.integers(START_S - 5, START_S + 200).map(str).map(str.encode),
        st.integers(0, 10**6 + 10).map(str).map(str.encode),
    ),
)
LOGS = st.lists(st.lists(LINES, max_size=40).map(b"\n".join), min_size=1, max_size=3)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(logs=LOGS)
@example(logs=[b"0 1 10 0 1731234567 5", b"\n", b"\0"])
def test_no_bytes_break_it(checked_reader: Path, tmp_path: Path, logs: list[bytes]) -> None:
    start = START_S * 10**6
    answer = read_files(
        checked_reader, write_logs(tmp_path, logs), f"--start-us={start}", "--seconds=100"
    )
    plain = read_plainly(logs, start_us=start, seconds=100)
    assert_total_agrees(answer.total, plain, logs)
    assert answer.total["late"] == 0
    assert_seconds_agree(answer.seconds, plain, 160)


def flip_bytes(dice: random.Random, log: bytes) -> bytes:
    broken = bytearray(log)
    for _ in range(dice.randrange(200)):
        broken[dice.randrange(len(broken))] = dice.choice((0, 10, 32, 48, 57, 255, 46, 45))
    return bytes(broken)


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes_agree_with_a_plain_reading(
    reader: Path, checked_reader: Path, tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    log = flip_bytes(dice, random_log(dice, 3_000, 1_000, lag=True, retries=True))
    start = START_S * 10**6
    paths = write_logs(tmp_path, [log])
    options = ("--has-lag", "--has-retries", f"--start-us={start}", "--seconds=60")
    plain = read_plainly([log], lag=True, retries=True, start_us=start, seconds=60)
    for program in (reader, checked_reader):
        assert_total_agrees(read_files(program, paths, *options).total, plain, [log])


def test_the_built_program_is_found_and_a_missing_one_is_explained() -> None:
    with pytest.raises(TargetError, match="no_such_program") as caught:
        native.executable_path("no_such_program")
    assert "C compiler" in caught.value.hint


def test_the_installed_reader_runs(tmp_path: Path) -> None:
    program = native.executable_path("log_reader")
    answer = read_files(program, write_logs(tmp_path, [b"0 1 10 0 1731234567 5\n"]))
    assert answer.total["count"] == 1
