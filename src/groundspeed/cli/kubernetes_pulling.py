"""Pulls results out of a pod while they arrive: one program there, asked again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

import msgspec

from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.store.files import store_error
from groundspeed.store.receiving import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.kube.api import Api, Program
    from groundspeed.store.receiving import Received

# An answer comes in one go; the first one waits for an interpreter to start on a busy machine.
_SILENCE_S = 60.0
_TURN_S = 1.0


class Puller:
    """Pulls from one container of one pod into a local run directory; a context manager."""

    def __init__(self, api: Api, pod: str, container: str, there: str, receiver: Receiver) -> None:
        self.pod = pod
        self._api = api
        self._container = container
        self._there = there
        self._receiver = receiver
        self._program: Program | None = None

    def __enter__(self) -> Self:
        """Begin; nothing is opened before the first pull."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the program in the pod end."""
        self._give_up()

    def pull(self) -> Received:
        """Pull what is new. Raises TargetError when nothing can be had, StoreError of this disk.

        An answer that was torn on its way is no error; the next one goes on.
        """
        try:
            with self._receiver.alone():
                received = self._ask()
        except BaseException:
            # Also on Ctrl-C: what is left of an answer must not be taken for the next one.
            self._give_up()
            raise
        if not received.is_whole:
            self._give_up()
        return received

    def _ask(self) -> Received:
        if self._program is None:
            argv = ("groundspeed", "send-results", self._there)
            self._program = self._api.open(self.pod, self._container, argv)
        program = self._program
        program.send(msgspec.json.encode(self._receiver.wanted()) + b"\n")
        received = self._receiver.keep(_blocks(program))
        if not received.is_whole and program.returncode:
            lines = program.errors.decode(errors="replace").strip().splitlines()
            said = lines[0].removeprefix("error: ") if lines else "it ended without a word"
            raise TargetError(
                f"pod {self.pod} sends no results: {said}",
                "the image of the runner may be older than this groundspeed",
            )
        return received

    def _give_up(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.close()


def _blocks(program: Program) -> Iterator[bytes]:
    """Give what a program says until it ends, or says nothing for a long time."""
    last_s = time.monotonic()
    while True:
        block = program.receive(_TURN_S)
        if block is None:
            return
        if block:
            yield block
            last_s = time.monotonic()
        elif time.monotonic() - last_s > _SILENCE_S:
            return


def pull_all(puller: Puller, *, tries: int = 3) -> Received:
    """Pull until everything is here. Raises TargetError when it does not arrive, StoreError."""
    trouble: KubeError | None = None
    for _ in range(tries):
        try:
            received = puller.pull()
        except KubeError as error:
            trouble = error
            continue
        if received.is_whole:
            return received
    if trouble is not None:
        raise trouble
    raise TargetError(
        f"the results in pod {puller.pod} did not arrive whole, {tries} times",
        "what arrived is kept; groundspeed collect goes on where it stopped",
    )


def receiver_of(run_dir: Path) -> Receiver:
    """Make the receiver of a run directory, and the directory where there is none.

    Raises StoreError.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store_error(error, run_dir) from None
    return Receiver(run_dir)
