"""The files of a probe: the profile, and the directory beside it with all that was measured."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.probed import PROBED_FORMAT, Probed
from groundspeed.errors import StoreError, UsageError
from groundspeed.storage import catalogue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from groundspeed.storage.profile import Profile

PROBED_FILE = "probed.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def companion(profile: Path) -> Path:
    """Where the measurements of a profile are."""
    return profile.with_name(f"{profile.name}.raw")


def checked_name(name: str) -> str:
    """Give back a name that profiles may have. Raises UsageError for another."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is no name of a profile",
            "letters, digits, dots, dashes and underscores, as in --name pvc-zone-b",
        )
    return name


def refuse_unwritable(file: Path | None) -> None:
    """Raise StoreError unless a file can be written later: before minutes are spent on it."""
    if file is None:
        return
    parent = file.absolute().parent
    if not parent.is_dir():
        raise StoreError(f"{parent}: no such directory", "make it, or name another file")
    if not os.access(file if file.exists() else parent, os.W_OK):
        raise StoreError(f"{file}: may not be written", "name a file you may write")


def write(profile: Path, text: str, probed: Probed, raw: Sequence[tuple[str, str]]) -> None:
    """Write a profile, and what it rests on beside it. Raises StoreError.

    The profile comes last: where it is, all is.
    """
    beside = companion(profile)
    try:
        # A companion of ours alone: of another profile that had this name.
        if (beside / PROBED_FILE).is_file():
            shutil.rmtree(beside)
        beside.mkdir(exist_ok=True)
        for name, content in raw:
            (beside / name).write_text(content, encoding="utf-8")
        (beside / PROBED_FILE).write_bytes(msgspec.json.encode(probed) + b"\n")
    except OSError as error:
        raise StoreError(f"{beside}: {error.strerror}", "name another file with -o") from None
    write_text(profile, text)


def write_text(file: Path, text: str) -> None:
    """Write a file; one that was there is replaced as a whole. Raises StoreError."""
    temporary = file.with_name(file.name + ".new")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}", "name a file you may write") from None


def read_profile(file: Path) -> Profile:
    """Read a profile. Raises StoreError and SpecError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise StoreError(
            f"{file}: {reason}", "name a profile that groundspeed probe wrote"
        ) from None
    return catalogue.parse(text, source=str(file))


def read_probed(profile: Path) -> Probed | None:
    """Read what a profile rests on; None where it is not kept. Raises StoreError for damage."""
    file = companion(profile) / PROBED_FILE
    try:
        data = file.read_bytes()
    except OSError:
        return None
    try:
        probed = msgspec.json.decode(data, type=Probed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{file}: {error}", "measure again, or move the directory away to compare profiles"
        ) from None
    if probed.format != PROBED_FORMAT:
        raise StoreError(
            f"{file} has format {probed.format}, this groundspeed reads {PROBED_FORMAT}",
            "measure again, or use the groundspeed that wrote it",
        )
    return probed
