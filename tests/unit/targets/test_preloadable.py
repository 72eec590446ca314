"""Which programs would not load the shim: real ones, built here, and headers made by hand."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.targets.preloadable import Elf, read_elf, refuse_unloadable

if TYPE_CHECKING:
    from collections.abc import Sequence

# A dynamically linked program for this machine stands for the shim: only its kind is looked at.
OURS = Path(sys.executable).resolve()
NOBODY = 65534


def build(directory: Path, compiler: str, *arguments: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    source, program = directory / "program.c", directory / "program"
    source.write_text("int main(void) { return 0; }\n")
    done = subprocess.run([compiler, *arguments, "-o", program, source], check=False)
    if done.returncode:
        pytest.skip(f"{compiler} {' '.join(arguments)} does not work here")
    return program


def refusal(program: Path, *, uid: int | None = None, gid: int | None = None) -> TargetError:
    with pytest.raises(TargetError) as caught:
        look(program, uid=uid, gid=gid)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


def look(program: Path, *, uid: int | None = None, gid: int | None = None) -> None:
    refuse_unloadable(
        program,
        OURS,
        uid=os.getuid() if uid is None else uid,
        gid=os.getgid() if gid is None else gid,
    )


def test_an_ordinary_program_is_taken(tmp_path: Path) -> None:
    look(build(tmp_path, "gcc"))


def test_a_static_program_is_refused(tmp_path: Path) -> None:
    assert "statically linked" in refusal(build(tmp_path, "gcc", "-static")).message


def test_a_program_for_musl_is_refused(tmp_path: Path) -> None:
    assert "another C library than glibc (musl)" in refusal(build(tmp_path, "musl-gcc")).message


def test_a_static_program_for_musl_is_refused(tmp_path: Path) -> None:
    assert "statically linked" in refusal(build(tmp_path, "musl-gcc", "-static")).message


@pytest.mark.parametrize("bit", [0o4000, 0o2000])
def test_what_gains_rights_by_starting_is_refused(tmp_path: Path, bit: int) -> None:
    program = build(tmp_path, "gcc")
    program.chmod(0o755 | bit)
    assert "setuid or setgid" in refusal(program, uid=NOBODY, gid=NOBODY).message
    # For its own user it gains nothing.
    look(program, uid=program.stat().st_uid, gid=program.stat().st_gid)


def test_a_program_with_capabilities_is_refused(tmp_path: Path) -> None:
    program = build(tmp_path, "gcc")
    # linux/capability.h: revision 2, effective; CAP_NET_RAW.
    value = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)
    try:
        os.setxattr(program, "security.capability", value)
    except OSError:
        pytest.skip("no right to give capabilities here")
    assert "capabilities" in refusal(program, uid=NOBODY, gid=NOBODY).message
    look(program, uid=0, gid=0)


@pytest.mark.parametrize(
    "lines",
    [
        ["#!{program}"],
        ["#! {program} -x"],
        ["#!/usr/bin/env {program}"],
        ["#!/usr/bin/env -S A=b {program} -x"],
    ],
)
def test_a_script_is_judged_by_what_runs_it(tmp_path: Path, lines: Sequence[str]) -> None:
    program = build(tmp_path, "gcc", "-static")
    script = tmp_path / "script"
    script.write_text("\n".join(lines).format(program=program) + "\n")
    assert "statically linked" in refusal(script).message
    script.write_text("#!/bin/sh\n")
    look(script)


def test_a_script_that_names_itself_comes_to_an_end(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{script}\n")
    assert "neither a program" in refusal(script).message


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"hello", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 60):
        (tmp_path / "x").write_bytes(data)
        assert "neither a program" in refusal(tmp_path / "x").message


def test_a_missing_program_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "nothing").message


def elf(*, bits: int = 64, order: str = "<", machine: int = 62, linker: bytes = b"") -> bytes:
    """Make an ELF file with at most one program header."""
    wide = bits == 64
    start, size = (64, 56) if wide else (52, 32)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2]) + bytes(10)
    word = "Q" if wide else "I"
    head = ident + struct.pack(
        f"{order}HHI{word}{word}{word}IHHHHHH",
        *(3, machine, 1, 0, start, 0, 0, start, size, 1 if linker else 0, 0, 0, 0),
    )
    at = start + size
    if wide:
        entry = struct.pack(f"{order}IIQQQQQQ", 3, 0, at, 0, 0, len(linker), 0, 0)
    else:
        entry = struct.pack(f"{order}IIIIIIII", 3, at, 0, 0, len(linker), 0, 0, 0)
    return head + entry + linker if linker else head


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_headers_of_every_kind_are_read(bits: int, order: str) -> None:
    data = elf(bits=bits, order=order, machine=22, linker=b"/lib/ld64.so.1\0")
    assert read_elf(data) == Elf(bits=bits, machine=22, interpreter="/lib/ld64.so.1")
    assert read_elf(elf(bits=bits, order=order)) == Elf(bits=bits, machine=62, interpreter=None)


def test_a_program_for_another_processor_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "x"
    program.write_bytes(elf(machine=4242, linker=b"/lib/ld-linux.so.2\0"))
    assert "another processor" in refusal(program).message
