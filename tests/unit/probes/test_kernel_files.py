from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.kernel_files import (
    KeptFile,
    grown,
    number_after,
    numbers_of_list,
    read_bytes,
    read_whole,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_kept_file_is_read_from_its_begin_each_time(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_text("one")
    file = KeptFile(path)
    assert (file.read(), file.read()) == (b"one", b"one")
    path.write_text("another")
    assert file.read() == b"another"
    file.close()
    assert file.read() == b"another"
    file.close()


def test_what_cannot_be_read_is_empty(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "missing")
    assert file.read() == file.read_record(100) == b""
    assert read_bytes(tmp_path / "missing") == read_whole(tmp_path / "missing") == b""
    # A folder opens and cannot be read.
    assert read_bytes(tmp_path) == b""
    (tmp_path / "missing").write_text("here")
    assert file.read_record(2) == b"he"
    file.close()


def test_a_file_of_many_records_is_read_to_its_end() -> None:
    # The kernel gives such a one in pieces.
    path = "/proc/self/smaps"
    assert 0 < len(read_bytes(path)) < len(read_whole(path))
    assert read_whole(path).splitlines()[-1].startswith(b"VmFlags")


def test_a_number_is_found_behind_its_label_alone() -> None:
    text = b"SwapCached: 7 kB\nCached:   5 kB\nDirty:\nctxt 12"
    assert number_after(text, b"Cached:") == 5
    assert number_after(text, b"SwapCached:") == 7
    assert number_after(text, b"ctxt") == 12
    assert number_after(text, b"Writeback:") is None
    assert number_after(b"Dirty: none", b"Dirty:") is None
    assert number_after(b"Dirty:", b"Dirty:") is None


@pytest.mark.parametrize(
    ("before", "after", "growth"),
    [
        (5, 9, 4),
        (2**32 - 3, 4, 7),
        # Made again, or corrected by the kernel.
        (1000, 10, 0),
        (2**40, 2**40 - 1, 0),
    ],
)
def test_a_counter_grows_also_past_32_bits(before: int, after: int, growth: int) -> None:
    assert grown(before, after) == growth


def test_lists_of_the_kernel() -> None:
    assert numbers_of_list(b"0-2,8\n") == {0, 1, 2, 8}
    assert numbers_of_list(b"\n") == numbers_of_list(b"a-b") == frozenset()
