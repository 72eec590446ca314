from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from groundspeed import __version__
from groundspeed.cli.main import COMMANDS, cli

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Groundspeed

PROGRAM = (sys.executable, "-m", "groundspeed.cli.main")


def test_version(groundspeed: Groundspeed) -> None:
    assert groundspeed("--version").out == f"groundspeed {__version__}\n"


def test_help_names_every_command(groundspeed: Groundspeed) -> None:
    done = groundspeed("--help")
    assert done.code == 0
    assert all(name in done.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(groundspeed: Groundspeed, name: str) -> None:
    done = groundspeed(name, "--help")
    assert done.code == 0
    assert f"Example:\n    groundspeed {name}" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_of_its_help(name: str) -> None:
    module, line = COMMANDS[name]
    command = import_module(f"groundspeed.cli.{module}").command
    assert command.name == name
    assert (command.help or "").splitlines()[0] == line


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        (["pln"], ["error: no such command 'pln'", "hint: did you mean plan?"]),
        (["rum", "quick"], ["error: no such command 'rum'", "hint: did you mean run?"]),
        (["plan"], ["error: missing argument 'SUITE'", "hint: groundspeed plan --help"]),
        (["runs", "--jsn"], ["error: no such option --jsn", "hint: did you mean --json?"]),
        (["--nope"], ["error: no such option --nope", "hint: groundspeed --help"]),
        (
            ["schema", "x"],
            ["error: got unexpected extra argument (x)", "hint: groundspeed schema --help"],
        ),
    ],
)
def test_a_wrong_command_line_is_two_lines(
    groundspeed: Groundspeed, arguments: list[str], errors: list[str]
) -> None:
    done = groundspeed(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == errors


def test_a_command_like_no_other_lists_them(groundspeed: Groundspeed) -> None:
    done = groundspeed("xyzzy")
    assert done.errors[1].startswith("hint: commands are run, plan")


def test_without_arguments_help_and_a_usage_error(groundspeed: Groundspeed) -> None:
    done = groundspeed()
    assert done.code == 2
    assert "Commands:" in done.err


def test_all_complaints_about_a_suite_are_printed(groundspeed: Groundspeed) -> None:
    done = groundspeed("plan", "quick", "--set", "scael=1", "--set", "pgbench.protocl=simple")
    assert done.code == 3
    assert sorted(done.errors) == sorted(
        [
            "error: quick: scael: no such key",
            "hint: did you mean 'scale'?",
            "error: quick: pgbench.protocl: no such key",
            "hint: did you mean 'protocol'?",
        ]
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        (*PROGRAM, "plan", "matrix-39"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_an_interruption_before_a_run_is_130(tmp_path: Path) -> None:
    # A suite that is a pipe: opening it to write returns when the command has opened it to read,
    # and nothing is ever written, so the command waits for the signal.
    pipe = tmp_path / "suite.yaml"
    os.mkfifo(pipe)
    with subprocess.Popen((*PROGRAM, "plan", str(pipe)), stderr=subprocess.PIPE) as process:
        with pipe.open("wb"):
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == b"interrupted"


def test_help_loads_no_room() -> None:
    code = (
        "import sys; from groundspeed.cli.main import main; main(['--help']);"
        "print([m for m in sys.modules if m.split('.')[0] in ('pydantic', 'psycopg', 'pyarrow',"
        " 'rich') or m.startswith('groundspeed.') and not m.startswith(('groundspeed.cli',"
        " 'groundspeed.errors'))])"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_group_lists_commands_in_their_order() -> None:
    assert list(cli.list_commands(cli.make_context("groundspeed", ["run"]))) == list(COMMANDS)
