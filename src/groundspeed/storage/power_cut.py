"""A power cut of an emulated device: how it is asked for, and what it took back.

Pure. The files themselves are changed by native/storage_cut.c; docs/emulation.md says what is
modelled and what is not.
"""

from __future__ import annotations

import msgspec

from groundspeed.errors import TargetError

DROPPED_FORMAT = 1
# What is behind the name of the state file in that of its journal.
JOURNAL_SUFFIX = ".power-cut"
_LEAST_PAGES = 64


class DroppedWork(msgspec.Struct, frozen=True, kw_only=True):
    """What a power cut took back from the files of a device (emulated).

    `cut_ns` is the moment of the cut, of CLOCK_MONOTONIC. `bytes` are those of the pages that hold
    again what they held before, and of what files are shorter. `removed_count` are names that were
    made and not durable, `restored_count` names whose removal was not durable.
    """

    cut_ns: int
    files_count: int
    pages_count: int
    bytes: int
    shortened_count: int
    removed_count: int
    restored_count: int
    renamed_count: int

    @property
    def is_nothing(self) -> bool:
        """Whether all that was written had reached the device."""
        names_count = self.removed_count + self.restored_count + self.renamed_count
        return self.files_count == 0 and names_count == 0


class _Printed(DroppedWork, frozen=True, kw_only=True):
    format: int


def config_lines(directory: str, *, pages_count: int | None = None) -> str:
    """Write the lines that let a device lose its power, to go behind those of `device_config`.

    `directory` (absolute, existing, on the file system of all roots and outside of them) keeps
    removed files until their removal is durable. `pages_count` pages of 4096 bytes can be kept;
    without it, what may be dirty, a quarter more and 64 MiB. Raises ValueError.
    """
    if not directory.startswith("/") or "\n" in directory:
        msg = f"a journal's directory is an absolute path of one line, not {directory!r}"
        raise ValueError(msg)
    lines = f"power_cut {directory}\n"
    if pages_count is None:
        return lines
    if pages_count < _LEAST_PAGES:
        msg = f"a journal of {pages_count} pages: at least {_LEAST_PAGES} are needed"
        raise ValueError(msg)
    return f"{lines}power_cut_pages {pages_count}\n"


def arguments(*, at_ns: int | None = None, seed: int | None = None) -> tuple[str, ...]:
    """Write what follows `storage_state power_cut STATE`.

    `at_ns` is when the power went (CLOCK_MONOTONIC, as `time.monotonic_ns()`); without it, when a
    process was last seen alive. Without `seed` nothing that was not synced is kept, the worst case;
    with it, a part that the seed draws.
    """
    if seed is not None:
        return (str(at_ns or 0), str(seed))
    return () if at_ns is None else (str(at_ns),)


def decode(text: str) -> DroppedWork:
    """Read what `storage_state power_cut` printed. Raises TargetError for another version's."""
    try:
        printed = msgspec.json.decode(text, type=_Printed)
    except msgspec.DecodeError as error:
        raise TargetError(
            f"the emulated device told something else than what a power cut took: {error}",
            "reinstall groundspeed: its programs are of another version",
        ) from None
    if printed.format != DROPPED_FORMAT:
        raise TargetError(
            f"the emulated device tells of power cuts in format {printed.format}",
            "reinstall groundspeed: its programs are of another version",
        )
    fields = {name: getattr(printed, name) for name in DroppedWork.__struct_fields__}
    return DroppedWork(**fields)
