"""Whether a program will load our shared object: found out from its file before it is started.

The dynamic linker ignores LD_PRELOAD where it cannot or must not obey, at most with a line on
standard error; a server would then run at native speed under an emulated name.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
from pathlib import Path

import msgspec

from groundspeed.errors import TargetError

_MAGIC = b"\x7fELF"
_PT_INTERP = 3
# e_ident: class, byte order; then the offsets and sizes of the header fields of each class
# (elf(5)): e_phoff, e_phentsize, e_phnum, and in a program header p_offset, p_filesz.
_CLASS, _ORDER, _MACHINE = 4, 5, 18
_BITS_64, _LITTLE = 2, 1
# "#!" lines are cut off by the kernel here.
_SHEBANG_BYTES = 256
_DEEPEST_SCRIPT = 4
_GLIBC_LINKERS = ("ld-linux", "ld64.so", "ld.so.")
_MUSL_LINKER = "ld-musl"


class Elf(msgspec.Struct, frozen=True, kw_only=True):
    """What matters of an ELF file; `interpreter` is its dynamic linker, None where it has none."""

    bits: int
    machine: int
    interpreter: str | None


def read_elf(data: bytes) -> Elf | None:
    """Read an ELF file from its bytes; None where it is no whole one."""
    if data[:4] != _MAGIC:
        return None
    try:
        wide, order = data[_CLASS] == _BITS_64, "<" if data[_ORDER] == _LITTLE else ">"
        (machine,) = struct.unpack_from(f"{order}H", data, _MACHINE)
        at, size_at = (32, 54) if wide else (28, 42)
        (offset,) = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, at)
        size, count = struct.unpack_from(f"{order}HH", data, size_at)
        interpreter = None
        for header in range(offset, offset + size * count, size):
            (kind,) = struct.unpack_from(f"{order}I", data, header)
            if kind == _PT_INTERP:
                interpreter = _text(data, header, order, wide=wide)
    except (struct.error, IndexError, ValueError, OverflowError):
        return None
    return Elf(bits=64 if wide else 32, machine=machine, interpreter=interpreter)


def _text(data: bytes, header: int, order: str, *, wide: bool) -> str:
    if wide:
        start, length = (struct.unpack_from(f"{order}Q", data, header + o)[0] for o in (8, 32))
    else:
        start, length = (struct.unpack_from(f"{order}I", data, header + o)[0] for o in (4, 16))
    return data[start : start + length].rstrip(b"\0").decode(errors="replace")


def refuse_unloadable(program: Path, shim: Path, *, uid: int, gid: int) -> None:
    """Raise TargetError where a program, run by this user, would not load the shim.

    A script is judged by its interpreter, and `env` in its first line by what env would start.
    """
    path = _behind_scripts(program)
    _refuse_privileges(path, uid=uid, gid=gid)
    elf, ours = read_elf(_read(path)), read_elf(_read(shim))
    if elf is None:
        raise TargetError(
            f"{path} is neither a program of this machine nor a script with #!",
            "name the program itself",
        )
    if elf.interpreter is None:
        raise TargetError(
            f"{path} is statically linked: emulated storage cannot get into it",
            "use a dynamically linked build, as distributions have it",
        )
    linker = Path(elf.interpreter).name
    if not linker.startswith(_GLIBC_LINKERS):
        libc = "musl" if linker.startswith(_MUSL_LINKER) else linker
        raise TargetError(
            f"{path} is built for another C library than glibc ({libc}):"
            " emulated storage cannot get into it",
            "use a build for glibc, as most distributions have it",
        )
    if ours is not None and (elf.bits, elf.machine) != (ours.bits, ours.machine):
        raise TargetError(
            f"{path} is built for another processor than groundspeed's own programs",
            "use a build for this machine",
        )


def _behind_scripts(program: Path) -> Path:
    path = program
    for _ in range(_DEEPEST_SCRIPT):
        first = _read(path, _SHEBANG_BYTES).partition(b"\n")[0]
        if not first.startswith(b"#!"):
            return path
        words = first[2:].decode(errors="replace").split()
        if words and Path(words[0]).name == "env":
            started = [w for w in words[1:] if not w.startswith("-") and "=" not in w][:1]
            words = [shutil.which(started[0]) or started[0]] if started else words
        if not words:
            break
        path = Path(words[0])
    return path


def _refuse_privileges(path: Path, *, uid: int, gid: int) -> None:
    """Refuse what the kernel starts with more rights: the linker then drops LD_PRELOAD."""
    found = path.stat()
    # Root gains nothing by them, so for root they are no such program.
    gains_user = bool(found.st_mode & stat.S_ISUID) and found.st_uid != uid
    gains_group = bool(found.st_mode & stat.S_ISGID) and found.st_gid != gid
    gains_rights = uid != 0 and _has_capabilities(path)
    if gains_user or gains_group or gains_rights:
        kind = "capabilities" if gains_rights else "the setuid or setgid bit"
        raise TargetError(
            f"{path} has {kind}: the system keeps emulated storage out of it",
            "use a copy of it without them",
        )


def _has_capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _read(path: Path, size: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}", "name a program you may read") from None
