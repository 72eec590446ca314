"""What secret_arguments.so puts in the place of a mark, and where it keeps out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from groundspeed import native
from groundspeed.errors import TargetError

MARK, SECRET = "@SECRET", "not for your eyes"
ECHO = Path(shutil.which("echo") or "/bin/echo").resolve()


def run(
    *arguments: str, meant: Path | str = ECHO, text: str = SECRET, file: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run echo with the library and a secret in memory."""
    try:
        library = native.library_path("secret_arguments.so")
    except TargetError as error:
        pytest.skip(error.message)
    descriptor = os.memfd_create("secret")
    os.write(descriptor, text.encode())
    variables = {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": str(library),
        "GROUNDSPEED_SECRET_FOR": str(meant),
        "GROUNDSPEED_SECRET_MARK": MARK,
        "GROUNDSPEED_SECRET_FILE": file or f"/proc/self/fd/{descriptor}",
    }
    try:
        return subprocess.run(
            arguments,
            capture_output=True,
            text=True,
            check=False,
            env=variables,
            pass_fds=(descriptor,),
        )
    finally:
        os.close(descriptor)


def test_whole_arguments_are_replaced_and_no_others() -> None:
    done = run(str(ECHO), "-a", MARK, f"{MARK}x", MARK, f"x{MARK}")
    assert done.stdout == f"-a {SECRET} {MARK}x {SECRET} x{MARK}\n"


def test_the_kernel_goes_on_showing_the_mark() -> None:
    shell = Path(shutil.which("sh") or "/bin/sh").resolve()
    script = "printf %s \"$1 \"; tr '\\0' ' ' < /proc/$$/cmdline; env"
    done = run(str(shell), "-c", script, "sh", MARK, meant=shell)
    assert done.stdout.startswith(f"{SECRET} ")
    shown = done.stdout.removeprefix(SECRET)
    assert MARK in shown
    assert SECRET not in shown
    # What it starts in turn knows nothing of where the secret was.
    assert "GROUNDSPEED_SECRET_FILE" not in shown
    assert "LD_PRELOAD" not in shown


def test_programs_on_the_way_hand_on_the_mark() -> None:
    """What only starts the program would show the secret to all as the argument it hands on."""
    setpriv = shutil.which("setpriv")
    assert setpriv is not None
    assert run(setpriv, "--", str(ECHO), MARK, meant=setpriv).stdout == f"{SECRET}\n"
    assert run(setpriv, "--", str(ECHO), MARK, meant="/nowhere").stdout == f"{MARK}\n"
    assert run(setpriv, "--", str(ECHO), MARK).stdout == f"{SECRET}\n"


@pytest.mark.parametrize(
    ("text", "file"),
    [("a\0b", None), ("x" * 70_000, None), ("any", "/nonexistent"), ("any", "/")],
)
def test_a_secret_that_cannot_be_read_ends_the_program(text: str, file: str | None) -> None:
    done = run(str(ECHO), MARK, text=text, file=file)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("secret_arguments: ")
    assert text not in done.stderr or text == "any"
