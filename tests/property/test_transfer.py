"""A run directory that grows, and a copy of it whose transfers are torn at any byte."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from groundspeed.store import sending, transfer
from groundspeed.store.receiving import Receiver

LINES = st.text(alphabet="ab{}", max_size=20)
# What the run writes, and how much of an answer arrives then (None: all of it).
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["record", "torn", "raw", "again", "series"]),
        LINES,
        st.none() | st.integers(0, 3000),
        st.integers(1, 50),
    ),
    max_size=12,
)


def write(run_dir: Path, what: str, text: str, number: int) -> None:
    """Write something; clocks of files are coarse, so each write gets a time of its own."""
    path = _write(run_dir, what, text, number)
    os.utime(path, ns=(number, number))


def _write(run_dir: Path, what: str, text: str, number: int) -> Path:
    records = run_dir / "records.jsonl"
    if what in {"record", "torn"}:
        data = records.read_bytes() if records.exists() else b""
        # As the store does it: a torn line is moved away before another one comes.
        data = data[: data.rfind(b"\n") + 1]
        records.write_bytes(data + text.encode() + (b"\n" if what == "record" else b""))
        return records
    names = {"raw": f"raw/t{number}.1.stdout", "again": "raw/t.1.stdout"}
    path = run_dir / names.get(what, f"series/t{number}.csv")
    path.write_text(text)
    return path


def pull(there: Path, receiver: Receiver, most: int | None, block: int) -> bool:
    line = msgspec.json.encode(receiver.wanted())
    sent = b"".join(sending.send(there, sending.read_wanted(line)))[:most]
    blocks = [sent[at : at + block] for at in range(0, len(sent), block)]
    return receiver.keep(blocks).is_whole


def all_records(run_dir: Path) -> bytes:
    path = run_dir / "records.jsonl"
    return path.read_bytes() if path.exists() else b""


def whole_records(run_dir: Path) -> bytes:
    data = all_records(run_dir)
    return data[: data.rfind(b"\n") + 1]


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_nothing_is_lost_or_torn(steps: list[tuple[str, str, int | None, int]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        there, here = Path(place, "there"), Path(place, "here")
        for directory in (there / "raw", there / "series", here):
            directory.mkdir(parents=True)
        receiver = Receiver(here)
        before = b""
        for number, (what, text, most, block) in enumerate(steps):
            write(there, what, text, number)
            # A collect that was killed knows nothing any more.
            receiver = Receiver(here) if number % 3 == 0 else receiver
            pull(there, receiver, most, block)
            now = (
                (here / "records.jsonl").read_bytes() if (here / "records.jsonl").exists() else b""
            )
            assert now.startswith(before)
            assert now in (b"", whole_records(here))
            assert whole_records(there).startswith(now)
            before = now
        assert pull(there, receiver, None, 7)
        assert whole_records(here) == whole_records(there)
        others = [path for path in transfer.files_of(there) if path != "records.jsonl"]
        assert all((here / p).read_bytes() == (there / p).read_bytes() for p in others)
