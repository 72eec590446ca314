"""A load generator by what it hears and says; loads of it are in `server/test_generators.py`."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from groundspeed import __version__
from groundspeed.plan import Cell, Command, Trial
from groundspeed.targets import generator_messages as messages
from groundspeed.targets import installation
from tests import leftovers
from tests.local_programs import GROUNDSPEED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from groundspeed.targets.generator_messages import Asked

GENERATOR = (*GROUNDSPEED, "generator")
# So short a silence is taken for the end of whoever asks.
IMPATIENT = (
    "from groundspeed.cli.main import main; from groundspeed.targets import generating;"
    " generating.SILENCE_S = 0.5; main(['generator'])"
)


class Talk:
    """A generator, and what it said."""

    def __init__(self, state: Path, argv: Sequence[str] = GENERATOR) -> None:
        environment = {"GROUNDSPEED_STATE_DIR": str(state), "POD_NAME": "p", "NODE_NAME": "n"}
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def say(self, *asked: Asked | bytes) -> None:
        assert self.process.stdin is not None
        for message in asked:
            line = message if isinstance(message, bytes) else messages.encode(message)
            self.process.stdin.write(line)
        self.process.stdin.flush()

    def rest(self) -> tuple[int, bytes]:
        """End its input, and give how it ended and what it said last."""
        stdout, stderr = self.process.communicate()
        assert stderr == b""
        return self.process.returncode, stdout


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    talks: list[Talk] = []

    def begin(*argv: str) -> Talk:
        talks.append(Talk(tmp_path, argv or GENERATOR))
        return talks[-1]

    yield begin
    for talk in talks:
        if talk.process.poll() is None:
            talk.rest()
        assert not Path(f"/dev/shm/groundspeed-generator-{talk.process.pid}").exists()
    assert leftovers.leases(tmp_path) == []


def test_it_says_who_it_is_and_ends_with_its_input(talk: Callable[..., Talk]) -> None:
    generator = talk()
    before_ns = time.time_ns()
    hello = generator.hear()
    assert (hello["type"], hello["version"]) == ("hello", __version__)
    assert (hello["pod"], hello["node"]) == ("p", "n")
    assert before_ns < hello["wall_ns"] < time.time_ns()
    assert generator.rest() == (0, b"")


def test_it_tells_its_clock_and_that_it_is_alive(talk: Callable[..., Talk]) -> None:
    generator = talk()
    generator.hear()
    generator.say(messages.ClockAsked(number=7), messages.Alive())
    clock = generator.hear()
    assert (clock["type"], clock["number"]) == ("clock", 7)
    assert generator.hear() == {"type": "alive"}
    generator.say(messages.ClockAsked(number=8))
    later = generator.hear()
    assert later["monotonic_ns"] > clock["monotonic_ns"]


def test_it_tells_versions_and_what_is_missing(talk: Callable[..., Talk]) -> None:
    generator = talk()
    generator.hear()
    generator.say(messages.ProgramAsked(name="pgbench", conninfo=""))
    assert generator.hear() == {"type": "program", "version": installation.newest().version}
    generator.say(messages.ProgramAsked(name="pgbanch", conninfo=""))
    told = generator.hear()
    assert told["type"] == "trouble"
    assert "has no pgbanch" in told["message"]
    # And it goes on.
    generator.say(messages.ClockAsked(number=1))
    assert generator.hear()["type"] == "clock"


def load_of(*, start_in_s: float = 0.0, conninfo: str = "host=/nonexistent") -> messages.LoadAsked:
    return messages.LoadAsked(
        number=1,
        command=Command(program="pgbench", arguments=("-c", "1", "-T", "60", conninfo)),
        trial=Trial(
            trial_id="a",
            block_index=0,
            repeat_index=0,
            cell=Cell(environment="a", workload="w", clients=1, threads=1, scale=1),
            duration_s=60,
            warm_up_s=0.0,
            protocol="simple",
            random_seed=1,
        ),
        variables=(("PGCONNECT_TIMEOUT", "2"),),
        secret_files=(),
        start_at_ns=time.time_ns() + round(start_in_s * 1e9),
        limit_s=600.0,
    )


def test_a_load_that_fails_is_a_result(talk: Callable[..., Talk]) -> None:
    """Started when it was to be started, of which it says how late that was."""
    generator = talk()
    generator.hear()
    asked = load_of(start_in_s=0.5)
    generator.say(asked)
    told = generator.hear()
    assert told == {"type": "began", "first_us": None}
    told = generator.hear()
    assert told["type"] == "result"
    assert told["started_ns"] >= asked.start_at_ns
    assert told["late_s"] == pytest.approx((told["started_ns"] - asked.start_at_ns) / 1e9)
    assert told["load"]["returncode"] == 1
    assert "/nonexistent" in told["load"]["stderr"]


def test_one_that_is_told_too_late_says_by_how_much(talk: Callable[..., Talk]) -> None:
    generator = talk()
    generator.hear()
    generator.say(load_of(start_in_s=-5.0))
    generator.hear()
    assert generator.hear()["late_s"] >= 5.0


@pytest.mark.parametrize(
    "how", ["end", "input", "garbage", "unknown message", "SIGTERM", "nothing"]
)
def test_whatever_ends_it_ends_what_it_waits_for(talk: Callable[..., Talk], how: str) -> None:
    """It is to start in ten minutes; nothing of that is waited for."""
    generator = talk(sys.executable, "-c", IMPATIENT) if how == "nothing" else talk()
    generator.hear()
    # Once the version is told, it has nothing to do but the load.
    generator.say(messages.ProgramAsked(name="pgbench", conninfo="host=/nonexistent"))
    generator.hear()
    generator.say(load_of(start_in_s=600.0))
    children = leftovers.children_of(generator.process.pid)
    while not children:
        select.select([], [], [], 0.01)
        children = leftovers.children_of(generator.process.pid)
    if how == "end":
        generator.say(messages.End())
    elif how == "garbage":
        generator.say(b"not JSON\n")
    elif how == "unknown message":
        generator.say(b'{"type":"dance"}\n')
    elif how == "SIGTERM":
        generator.process.send_signal(signal.SIGTERM)
    if how != "input":
        assert generator.process.wait() == 0
    assert generator.rest() == (0, b"")
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


@contextmanager
def held_back(number: signal.Signals) -> Iterator[None]:
    """Programs that are started here get that signal only once they wait for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def test_what_keeps_a_container_ends_by_a_signal_and_not_well(tmp_path: Path) -> None:
    """A Job counts 0 as done, and would not make another pod."""
    state = {"GROUNDSPEED_STATE_DIR": str(tmp_path)}
    with held_back(signal.SIGTERM):
        waiting = subprocess.Popen([*GENERATOR, "--wait"], env={**os.environ, **state})
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait() == 128 + signal.SIGTERM


def test_what_keeps_a_container_takes_in_who_has_no_parent() -> None:
    """As the first process of a container it is the parent of whoever lost theirs."""
    script = (
        "import ctypes, subprocess, sys\n"
        # Children of children that end come to us, as to the first process.
        "ctypes.CDLL(None).prctl(36, 1)\n"
        "from groundspeed.targets import generating\n"
        "script = 'sleep 0.2 >/dev/null & echo $!'\n"
        "orphaned = subprocess.check_output(['sh', '-c', script])\n"
        "print(int(orphaned), flush=True)\n"
        "sys.exit(generating.wait_until_ended())\n"
    )
    with held_back(signal.SIGTERM):
        waiting = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert waiting.stdout is not None
    orphan = int(waiting.stdout.readline())
    # Gone, and no zombie.
    while Path(f"/proc/{orphan}").exists():
        assert waiting.poll() is None
        select.select([], [], [], 0.01)
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait() == 128 + signal.SIGTERM
    waiting.stdout.close()
