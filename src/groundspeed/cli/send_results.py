"""`groundspeed send-results`: gives a run directory away; called in a pod by attach and collect."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from groundspeed.store import sending

# Below the load: results are asked for while trials are measured in the same pod.
_NICENESS = 19


@click.command("send-results", hidden=True)
@click.argument("run_dir", type=click.Path(file_okay=False, path_type=Path))
def command(run_dir: Path) -> None:
    """Send what somebody else wants of RUN_DIR.

    Each line on standard input says what they have; the answers are binary. It only reads, and ends
    with its input: whoever asks again and again does not pay a start each time.
    """
    os.nice(_NICENESS)
    for line in iter(sys.stdin.buffer.readline, b""):
        for block in sending.send(run_dir, sending.read_wanted(line)):
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
