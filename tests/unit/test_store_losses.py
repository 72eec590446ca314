"""Tries of durability in a run directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.errors import StoreError
from groundspeed.record.losses import LOSS_FORMAT, decode_loss, encode_loss
from groundspeed.store.losses import LOSSES_FILE, append_loss, read_losses
from tests.unit.losses import failed, gone, loss

if TYPE_CHECKING:
    from pathlib import Path

TRIES = (loss(), loss(attempt=2, missing=3, oldest_s=0.25), gone(attempt=3), failed(attempt=4))


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    for record in TRIES:
        append_loss(tmp_path, record)
    assert read_losses(tmp_path) == TRIES


@pytest.mark.parametrize("kept_bytes", [0, 1, 40])
def test_a_last_line_that_a_crash_tore_is_left_out(tmp_path: Path, kept_bytes: int) -> None:
    for record in TRIES[:2]:
        append_loss(tmp_path, record)
    with (tmp_path / LOSSES_FILE).open("ab") as file:
        file.write(encode_loss(TRIES[2])[:kept_bytes])
    assert read_losses(tmp_path) == TRIES[:2]


def test_a_line_that_is_no_record_is_told(tmp_path: Path) -> None:
    (tmp_path / LOSSES_FILE).write_bytes(b"{}\n" + encode_loss(TRIES[0]))
    with pytest.raises(StoreError) as caught:
        read_losses(tmp_path)
    assert caught.value.hint == "take the line away that is no record"


def test_a_run_without_tries_says_how_to_make_some(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        read_losses(tmp_path)
    assert caught.value.message.endswith("holds no tries of durability")


def test_a_later_format_names_who_can_read_it() -> None:
    later = msgspec.structs.replace(loss(), format=LOSS_FORMAT + 1, groundspeed_version="9.0")
    with pytest.raises(StoreError) as caught:
        decode_loss(encode_loss(later))
    assert caught.value.hint == "use groundspeed 9.0"
