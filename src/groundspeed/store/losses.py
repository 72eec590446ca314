"""Tries of durability in a run directory: `losses.jsonl`, append-only, each line on the disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import StoreError
from groundspeed.record.losses import decode_loss, encode_loss
from groundspeed.store.files import store_error, sync_directory

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.record.losses import LossRecord

LOSSES_FILE = "losses.jsonl"


def append_loss(run_dir: Path, record: LossRecord) -> None:
    """Keep a record for good before returning. Raises StoreError."""
    path = run_dir / LOSSES_FILE
    try:
        with path.open("ab") as file:
            file.write(encode_loss(record))
            file.flush()
            os.fsync(file.fileno())
        sync_directory(run_dir)
    except OSError as error:
        raise store_error(error, path) from None


def has_losses(run_dir: Path) -> bool:
    """Tell whether a directory holds tries of durability."""
    return (run_dir / LOSSES_FILE).is_file()


def read_losses(run_dir: Path) -> tuple[LossRecord, ...]:
    """Read all tries of a run directory. Raises StoreError when there are none.

    A last line that was torn by a crash is left out: its try is not over, and is done again.
    """
    path = run_dir / LOSSES_FILE
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        raise StoreError(
            f"{run_dir}: holds no tries of durability", "groundspeed durability SUITE makes some"
        ) from None
    try:
        # What stands behind the last line end is empty, or torn.
        return tuple(decode_loss(line) for line in lines[:-1])
    except msgspec.DecodeError as error:
        raise StoreError(f"{path}: {error}", "take the line away that is no record") from None
