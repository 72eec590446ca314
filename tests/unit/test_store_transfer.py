from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.errors import StoreError
from groundspeed.store import sending, transfer
from groundspeed.store.receiving import Receiver

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def there(tmp_path: Path) -> Path:
    run_dir = tmp_path / "there" / "run"
    (run_dir / "raw").mkdir(parents=True)
    (run_dir / "plan.json").write_text("{}\n")
    (run_dir / "records.jsonl").write_text('{"n":1}\n')
    (run_dir / "raw" / "a.1.stdout").write_text("tps = 1\n")
    (run_dir / "reserve").write_bytes(bytes(100))
    (run_dir / "report.html").write_text("<html>")
    (run_dir / "raw" / "b.1.stdout.new").write_text("half")
    return run_dir


@pytest.fixture
def here(tmp_path: Path) -> Path:
    run_dir = tmp_path / "here" / "run"
    run_dir.mkdir(parents=True)
    return run_dir


def answer(there: Path, receiver: Receiver) -> bytes:
    line = msgspec.json.encode(receiver.wanted())
    return b"".join(sending.send(there, sending.read_wanted(line)))


def pull(there: Path, receiver: Receiver, *, most: int | None = None) -> tuple[bool, set[str]]:
    with receiver.alone():
        received = receiver.keep([answer(there, receiver)[:most]])
    return received.is_whole, set(received.changed)


def files(run_dir: Path) -> dict[str, bytes]:
    return {path: (run_dir / path).read_bytes() for path in transfer.files_of(run_dir)}


def test_all_that_is_the_run_s_arrives_and_nothing_of_its_machine(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    assert pull(there, receiver) == (True, {"plan.json", "records.jsonl", "raw/a.1.stdout"})
    assert files(here) == files(there)
    assert {p.name for p in here.iterdir()} == {
        "plan.json", "records.jsonl", "raw", ".collecting.lock",
    }  # fmt: skip


def test_what_is_here_is_not_sent_again(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    pull(there, receiver)
    assert pull(there, receiver) == (True, set())
    # Nor by a receiver that knows nothing but the directory.
    assert pull(there, Receiver(here)) == (True, set())


def test_of_records_only_new_lines_are_sent(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    pull(there, receiver)
    with (there / "records.jsonl").open("a") as file:
        file.write('{"n":2}\n{"n":')
    sent = answer(there, receiver)
    assert b'{"n":1}' not in sent
    assert pull(there, receiver) == (True, {"records.jsonl"})
    assert (here / "records.jsonl").read_text() == '{"n":1}\n{"n":2}\n'


def test_records_come_after_all_that_they_name(there: Path) -> None:
    assert list(transfer.files_of(there))[-1] == "records.jsonl"


def test_a_run_that_has_not_begun_is_told(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    received = receiver.keep([answer(there.with_name("other"), receiver)])
    assert (received.is_there, received.is_whole) == (False, True)


def test_the_plan_that_is_here_stays(there: Path, here: Path) -> None:
    (here / "plan.json").write_text('{"source": "/home/me/suite.yaml"}\n')
    is_whole, changed = pull(there, Receiver(here))
    assert is_whole
    assert "plan.json" not in changed
    assert "/home/me" in (here / "plan.json").read_text()


def test_a_file_that_was_written_anew_is_put_aside(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    pull(there, receiver)
    (there / "raw" / "a.1.stdout").write_text("2\n")
    assert pull(there, receiver) == (True, {"raw/a.1.stdout"})
    assert (here / "raw" / "a.1.stdout").read_text() == "2\n"
    assert (here / "aside" / "raw" / "a.1.stdout.1").read_text() == "tps = 1\n"
    (there / "raw" / "a.1.stdout").write_text("three\n")
    pull(there, receiver)
    assert (here / "aside" / "raw" / "a.1.stdout.2").read_text() == "2\n"
    assert pull(there, receiver) == (True, set())


def test_records_of_another_run_are_refused(there: Path, here: Path) -> None:
    (here / "records.jsonl").write_text('{"n":8}\n{"n":9}\n')
    with pytest.raises(StoreError, match="is not the beginning of what the cluster has"):
        pull(there, Receiver(here))
    assert (here / "records.jsonl").read_text() == '{"n":8}\n{"n":9}\n'


def test_a_damaged_byte_is_found_and_sent_again(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    damaged = answer(there, receiver).replace(b"tps = 1", b"tps = 7")
    received = receiver.keep([damaged])
    assert not received.is_whole
    assert not (here / "raw" / "a.1.stdout").exists()
    assert pull(there, receiver)[0]
    assert files(here) == files(there)


def test_a_damaged_record_leaves_none_behind(there: Path, here: Path) -> None:
    receiver = Receiver(here)
    damaged = answer(there, receiver).replace(b'{"n":1}', b'{"n":7}')
    assert not receiver.keep([damaged]).is_whole
    assert (here / "records.jsonl").read_bytes() == b""
    assert pull(there, receiver)[0]


@pytest.mark.parametrize("path", ["../plan.json", "/etc/passwd", "raw/../../x", "cluster.json"])
def test_a_file_elsewhere_is_refused(path: str, here: Path) -> None:
    file = transfer.Have(path=path, size_bytes=1, modified_ns=0, sha256="")
    lines = (transfer.Opening(is_there=True), transfer.Part(offset_bytes=0, file=file))
    sent = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    with pytest.raises(StoreError, match="was sent as a file of the run"):
        Receiver(here).keep([sent, b"x"])
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("sent", [b"", b"error: no such command\n", b"x" * 100_000])
def test_what_is_no_answer_is_not_whole(sent: bytes, here: Path) -> None:
    received = Receiver(here).keep([sent])
    assert (received.is_there, received.is_whole) == (False, False)


def test_another_format_is_refused(here: Path) -> None:
    with pytest.raises(StoreError, match="format 2"):
        sending.read_wanted(b'{"format": 2}')
    with pytest.raises(StoreError, match="format 7"):
        Receiver(here).keep([b'{"format": 7, "is_there": true}\n'])
    with pytest.raises(StoreError, match="not understood"):
        sending.read_wanted(b"")


def test_the_time_of_a_file_travels_with_it(there: Path, here: Path) -> None:
    os.utime(there / "plan.json", (1000, 1000))
    pull(there, Receiver(here))
    assert (here / "plan.json").stat().st_mtime == 1000


def test_whole_lines_are_found_far_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"one\n" + b"x" * 200_000)
    assert transfer.whole_bytes(path) == 4
    path.write_bytes(b"x" * 200_000)
    assert transfer.whole_bytes(path) == 0
