"""The log reader beside a writer: what it gives back, what it keeps, and when it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.native.plain_log import Answer, parse_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START_S = 1_731_234_567
MEGABYTE = 1 << 20

# Appends whole and half lines as fast as it can: argv is the file, its thread, seconds, lines a
# second. Two million lines a second are a hundred times what the reader is promised.
WRITER = """
import sys
path, thread, seconds, rate = sys.argv[1], *map(int, sys.argv[2:])
with open(path, "wb", buffering=0) as log:
    for second in range(seconds):
        block = b"".join(
            b"%d %d %d 0 %d %d\\n" % (thread, second * rate + n, 500 + n % 1000,
                                     1731234567 + second, n * 1000000 // rate)
            for n in range(rate))
        for begin in range(0, len(block), 100003):
            log.write(block[begin:begin + 100003])
"""


class Follower:
    """A log reader that follows `folder`/run.*; its standard input is open until `end`."""

    def __init__(self, program: Path, folder: Path, *options: str, user: int | None = None) -> None:
        self.process = subprocess.Popen(
            [program, "--follow", folder, "--prefix", "run", "--tick-ms", "10", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=user,
        )
        self.lines: list[bytes] = []

    def read_until(self, good: Callable[[dict[str, Any]], bool]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if good(json.loads(line)):
                return
        raise AssertionError("the reader ended early")

    def tell(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def first_us(self) -> int | None:
        """What it says of when the log begins."""
        self.read_until(lambda row: row["type"] == "first")
        told = json.loads(self.lines.pop())
        assert told == {"type": "first", "first_us": told["first_us"]}
        return told["first_us"]

    def read_until_count(self, count: int) -> None:
        self.read_until(lambda row: row["type"] == "so_far" and row["count"] >= count)

    def peak_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024

    def end(self) -> Answer:
        rest, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return parse_answer(b"".join(self.lines) + rest)


@pytest.fixture
def follow(reader: Path, shm: Path) -> Iterator[Callable[..., Follower]]:
    followers: list[Follower] = []

    def begin(*options: str, user: int | None = None, program: Path = reader) -> Follower:
        followers.append(Follower(program, shm, *options, user=user))
        return followers[-1]

    yield begin
    for follower in followers:
        if follower.process.poll() is None:
            follower.process.kill()
            follower.process.communicate()


def lines_of(seconds: range, thread: int = 0) -> bytes:
    return b"".join(b"%d 1 250 0 %d 9\n" % (thread, START_S + second) for second in seconds)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as log:
        log.write(content)


def test_a_fast_writer_leaves_neither_pages_nor_memory(
    follow: Callable[..., Follower], shm: Path
) -> None:
    seconds, rate, threads = 75, 20_000, 2
    logs = [shm / f"run.77.{thread}" for thread in range(threads)]
    follower = follow(f"--start-us={START_S}000000", f"--seconds={seconds}")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, log, str(n), str(seconds), str(rate)])
        for n, log in enumerate(logs)
    ]
    most_bytes = 0
    for writer in writers:
        while writer.poll() is None:
            there = [log.stat().st_blocks * 512 for log in logs if log.exists()]
            most_bytes = max(most_bytes, sum(there))
            try:
                writer.wait(timeout=0.005)
            except subprocess.TimeoutExpired:
                continue
        assert writer.returncode == 0
    lines = seconds * rate * threads
    follower.read_until_count(lines)
    assert sum(log.stat().st_size for log in logs) > 64 * MEGABYTE
    assert most_bytes < 32 * MEGABYTE
    assert sum(log.stat().st_blocks * 512 for log in logs) <= threads * 4096
    assert follower.peak_bytes() < 64 * MEGABYTE
    answer = follower.end()
    assert answer.total["count"] == lines
    assert answer.total["punch_failures"] == answer.total["late"] == answer.total["malformed"] == 0
    assert {row["count"] for row in answer.seconds.values()} == {rate * threads}
    assert len(answer.seconds) == seconds


def test_a_torn_line_is_kept_until_the_rest_comes(
    follow: Callable[..., Follower], shm: Path
) -> None:
    log = shm / "run.1"
    whole = lines_of(range(3))
    log.write_bytes(whole[:-10])
    follower = follow()
    follower.read_until_count(2)
    append(log, whole[-10:] + b"0 1 2")
    follower.read_until_count(3)
    answer = follower.end()
    assert (answer.total["count"], answer.total["malformed"]) == (3, 1)
    assert answer.total["bytes"] == len(whole) + 5


def test_a_second_waits_for_the_file_that_is_behind(
    follow: Callable[..., Follower], shm: Path
) -> None:
    """What a thread has in its buffer is told seconds later, and belongs where it happened."""
    first, second = shm / "run.1", shm / "run.1.1"
    first.write_bytes(lines_of(range(6)))
    second.touch()
    follower = follow(f"--start-us={START_S}000000")
    follower.read_until_count(6)
    assert not any(b'"second"' in line for line in follower.lines)
    append(second, lines_of(range(4), thread=1))
    follower.read_until(lambda row: row["type"] == "second" and row["index"] == 2)
    append(second, lines_of(range(1, 2), thread=1))
    answer = follower.end()
    assert [row["count"] for row in answer.seconds.values()] == [2, 2, 2, 2, 1, 1]
    assert (answer.total["count"], answer.total["late"]) == (11, 1)


def test_files_that_come_later_are_found_and_others_left_alone(
    follow: Callable[..., Follower], shm: Path
) -> None:
    (shm / "other.1").write_bytes(lines_of(range(3)))
    (shm / "runaway.1").write_bytes(lines_of(range(3)))
    (shm / "run.link").symlink_to(shm / "other.1")
    (shm / "run.folder").mkdir()
    os.mkfifo(shm / "run.pipe")
    follower = follow()
    (shm / "run.5").write_bytes(lines_of(range(2)))
    follower.read_until_count(2)
    (shm / "run.5.1").write_bytes(lines_of(range(2)))
    answer = follower.end()
    assert (answer.total["count"], answer.total["files"]) == (4, 2)


def test_what_came_before_the_end_is_read_after_it(
    follow: Callable[..., Follower], shm: Path
) -> None:
    follower = follow("--tick-ms=60000")
    (shm / "run.1").write_bytes(lines_of(range(5)))
    answer = follower.end()
    assert answer.total["count"] == 5
    assert answer.total["sum_us"] == 1250


def test_one_of_several_counts_from_when_it_is_told(
    follow: Callable[..., Follower], shm: Path
) -> None:
    """Until then nothing is read, and nothing freed: what was before is in second -1."""
    follower = follow("--await-start", "--second-buckets")
    (shm / "run.1").write_bytes(lines_of(range(4)))
    assert follower.first_us() == START_S * 10**6 + 9
    # All that it says has been read: it reads no line before it is told.
    blocks = (shm / "run.1").stat().st_blocks
    assert blocks > 0
    follower.tell(b"%d" % (START_S + 1))
    follower.tell(b"000000\n")
    follower.read_until_count(4)
    answer = follower.end()
    assert [row["count"] for row in answer.seconds.values()] == [1, 1, 1, 1]
    assert list(answer.seconds) == [-1, 0, 1, 2]
    assert answer.seconds[2]["buckets"] == [[250, 1]]
    assert answer.total["start_us"] == (START_S + 1) * 10**6


def test_an_empty_log_is_told_when_it_is_asked_for(
    follow: Callable[..., Follower], shm: Path
) -> None:
    follower = follow("--await-start")
    (shm / "run.1").write_bytes(b"no line of pgbench\n0 1 2")
    follower.tell(b"?\n")
    assert follower.first_us() is None
    answer = follower.end()
    assert (answer.total["count"], answer.total["malformed"]) == (0, 2)


def test_a_question_is_answered_by_what_is_there(
    follow: Callable[..., Follower], shm: Path
) -> None:
    """Told only once, whether it was asked before or after it was seen."""
    (shm / "run.1").write_bytes(lines_of(range(2, 3)))
    (shm / "run.1.1").write_bytes(lines_of(range(1, 2)))
    follower = follow("--await-start")
    follower.tell(b"?\n")
    assert follower.first_us() == (START_S + 1) * 10**6 + 9
    follower.tell(b"?\n%d000000\n" % START_S)
    answer = follower.end()
    assert [row["count"] for row in answer.seconds.values()] == [0, 1, 1]


def test_who_is_never_told_counts_from_the_first_line(
    follow: Callable[..., Follower], shm: Path
) -> None:
    follower = follow("--await-start")
    (shm / "run.1").write_bytes(lines_of(range(3)))
    assert follower.first_us() == START_S * 10**6 + 9
    answer = follower.end()
    assert [row["count"] for row in answer.seconds.values()] == [1, 1, 1]
    assert answer.total["start_us"] == START_S * 10**6 + 9


def test_a_start_that_is_no_number_is_refused(follow: Callable[..., Follower]) -> None:
    follower = follow("--await-start")
    follower.tell(b"soon\n")
    follower.process.communicate(timeout=30)
    assert follower.process.returncode == 2


def test_no_file_at_all_is_an_empty_total(follow: Callable[..., Follower]) -> None:
    answer = follow().end()
    assert answer.seconds == {}
    assert answer.total["files"] == answer.total["count"] == 0
    assert answer.total["first_us"] is None


def test_an_interrupt_of_the_group_does_not_cost_the_totals(
    follow: Callable[..., Follower], shm: Path
) -> None:
    (shm / "run.1").write_bytes(lines_of(range(2)))
    follower = follow()
    follower.read_until_count(2)
    follower.process.send_signal(signal.SIGINT)
    assert follower.end().total["count"] == 2


def test_pages_that_cannot_be_freed_are_reported(
    follow: Callable[..., Follower], reader: Path, shm: Path
) -> None:
    """A log that the reader may read and not write: nothing is lost, and nothing is silent."""
    log = shm / "run.1"
    log.write_bytes(lines_of(range(1000)))
    log.chmod(0o444)
    nobody = 65534 if os.geteuid() == 0 else None
    program = shm / "log_reader"
    shutil.copy(reader, program)
    program.chmod(0o755)
    try:
        follower = follow(user=nobody, program=program)
    except PermissionError:
        pytest.skip("programs cannot be run from here")
    answer = follower.end()
    assert answer.total["count"] == 1000
    assert answer.total["punch_failures"] == 1
    assert log.stat().st_blocks > 0
