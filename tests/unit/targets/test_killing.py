"""A server is ended with all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from groundspeed.targets import remains
from groundspeed.targets.killing import kill_family

# Starts a process that starts another, as a server with its workers, and tells when all are there.
FAMILY = """
import subprocess, sys
child = '''
import subprocess
third = subprocess.Popen(["sleep", "600"])
print(third.pid, flush=True)
third.wait()
'''
subprocess.run([sys.executable, "-c", child])
"""


def is_there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_all_below_it_are_gone_when_it_comes_back() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        third = int(first.stdout.readline())
        (second,) = remains.children_of(first.pid)
        try:
            assert all(map(is_there, (first.pid, second, third)))
            kill_family(first.pid)
            assert not any(map(is_there, (first.pid, second, third)))
        finally:
            for pid in (first.pid, second, third):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)


def test_what_is_gone_already_is_no_mistake() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    kill_family(ended.pid)
