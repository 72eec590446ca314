"""`groundspeed emulate` around real programs: its exit code, signals, figures and refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from groundspeed.cli import session
from groundspeed.errors import TargetError
from groundspeed.targets import emulation, installation, remains
from groundspeed.targets.leases import Lease
from tests import leftovers, small_runs
from tests.interrupted.driving import wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.small_runs import Place

NULL = ("emulate", "null", "--memory", "64MiB")
SLOW = """\
profile: slow
about: every synced write takes the same
device: {read: 2ms, write: 2ms, sync: 8ms, parallel: 8}
request_size: 128KiB
figures: [{what: all, standing: assumed, source: a test, date: 2026-01}]
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Emulate:
    """Runs the command in a directory of its own, as a person would."""

    def __init__(self, place: Place) -> None:
        # In memory: a slow or busy disk would be refused for aws-gp3.
        self.directory = Path(tempfile.mkdtemp(prefix="small-run-", dir="/dev/shm"))
        self.directory.chmod(0o755)
        (self.directory / "slow.yaml").write_text(SLOW)
        self.variables = small_runs.variables(GROUNDSPEED_STATE_DIR=str(place.state))

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "groundspeed.cli.main", *map(str, arguments)],
            cwd=self.directory,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __call__(self, *arguments: str | Path) -> Done:
        with self.start(*arguments) as process:
            out, err = process.communicate()
        return Done(process.returncode, out, err)


def devices(state: Path) -> set[Path]:
    """The devices that leases name: of this test alone, whatever runs beside it."""
    last = [path.read_bytes().split(b"\n")[-2] for path in leftovers.leases(state)]
    named = [name for line in last for name in msgspec.json.decode(line, type=Lease).directories]
    return {Path(name) for name in named if name.endswith("-device")}


@pytest.fixture
def emulate(place: Place) -> Iterator[Emulate]:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)
    made = Emulate(place)
    yield made
    shutil.rmtree(made.directory)
    # A shell that was ended leaves its last child for a moment, and with it the device.
    left = devices(place.state)
    for device in left:
        for pid in {pid for file in device.glob("device-*") for pid in remains.users_of(file)}:
            wait_until_gone(pid)
    assert session.sweep() == ()
    assert not any(device.exists() for device in left)
    assert not leftovers.leases(place.state)


def test_a_program_waits_for_the_device_and_is_told_what_it_did(emulate: Emulate) -> None:
    dd = ("dd", "if=/dev/zero", "of=file", "bs=8k", "count=20", "oflag=dsync")
    done = emulate("emulate", "slow.yaml", "--memory", "64MiB", "--json", "--", *dd)
    assert done.code == 0
    told = json.loads(done.err.splitlines()[-1])
    assert (told["device"], told["emulated"]) == ("slow", True)
    work = told["work"]
    assert work["write_call_count"] == 20
    assert work["write_bytes"] == 20 * 8192
    # A synced write is the write and the flush: 10 ms.
    assert work["write_waited_s"] + work["sync_waited_s"] == pytest.approx(0.2, rel=0.2)
    assert (emulate.directory / "file").stat().st_size == 20 * 8192


def test_for_people_it_is_a_head_and_a_few_lines(emulate: Emulate) -> None:
    script = "echo out; echo text > file; cat file; sync file"
    done = emulate("emulate", "aws-gp3", "--set", "iops=4000", "--", "sh", "-c", script)
    assert done.code == 0
    assert done.out == "out\ntext\n"
    head, *rest = done.err.splitlines()
    assert head.startswith("groundspeed: aws-gp3 (iops=4000) (emulated) for the files below ")
    assert head.endswith("that of this machine")
    text = "\n".join(rest)
    for word in ("reads", "writes", "syncs", "waited", "requests of", "depth"):
        assert word in text


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_the_exit_code_is_the_program_s_own(emulate: Emulate, script: str, code: int) -> None:
    assert emulate(*NULL, "--", "sh", "-c", script).code == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_program_once(emulate: Emulate, number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    script = f"trap 'echo seen; n=1' {name}; echo ready; while [ -z \"$n\" ]; do sleep 0.05; done"
    with emulate.start(*NULL, "--", "sh", "-c", script + "; sleep 0.2; exit 3") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == "seen\n"
        process.communicate()
    assert process.returncode == 3


def test_ctrl_c_is_not_sent_twice(emulate: Emulate) -> None:
    """A terminal sends it to the whole group, the program among it."""
    script = "trap 'echo seen' INT; echo ready; while :; do sleep 0.05; done"
    master, terminal = os.openpty()
    # A session of its own whose terminal this is: there the kernel sends SIGINT by itself.
    code = (
        "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        "os.execv(sys.executable, [sys.executable, '-m', 'groundspeed.cli.main', *sys.argv[1:]])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *NULL, "--", "sh", "-c", script],
        cwd=emulate.directory,
        env=emulate.variables,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.write(master, b"\x03")
        assert process.stdout.readline() == "seen\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == ""
    finally:
        process.communicate()
        os.close(master)
        os.close(terminal)
    assert process.returncode == 143


def test_a_program_that_uses_no_file_of_the_directory_is_told_so(emulate: Emulate) -> None:
    done = emulate(*NULL, "--", "true")
    assert done.code == 0
    assert f"note: no file below {emulate.directory} was used" in done.err


def test_files_elsewhere_are_left_alone(emulate: Emulate, tmp_path: Path) -> None:
    script = f"echo x > {tmp_path}/file; sync {tmp_path}/file"
    done = emulate("emulate", "slow.yaml", "--", "sh", "-c", script)
    assert "was used, so nothing was slowed down" in done.err


def test_an_earlier_preload_stays(emulate: Emulate) -> None:
    emulate.variables["LD_PRELOAD"] = "libm.so.6"
    done = emulate(*NULL, "--", "sh", "-c", 'echo "$LD_PRELOAD"')
    first, _, ours = done.out.strip().partition(":")
    assert first == "libm.so.6"
    assert ours.endswith("storage_shim.so")


def test_a_static_program_is_refused_before_it_runs(emulate: Emulate) -> None:
    source, program = emulate.directory / "p.c", emulate.directory / "p"
    source.write_text('#include <stdio.h>\nint main(void) { puts("ran"); return 0; }\n')
    if (
        shutil.which("gcc") is None
        or subprocess.run(
            ["gcc", "-static", "-o", program, source], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("no static program can be built here")
    done = emulate(*NULL, "--", program)
    assert done.code == 4
    assert done.out == ""
    assert "statically linked" in done.err


def test_a_program_that_was_never_under_emulation_is_an_error(emulate: Emulate) -> None:
    """Whatever kept the shim out and was not seen before."""
    code = (
        "import sys; from groundspeed.targets.emulation import EmulatedDevice as D;"
        "D.variables = lambda *_: {}; from groundspeed.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *NULL, "--", "true"],
        cwd=emulate.directory,
        env=emulate.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "was never under emulation: it ran at native speed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("emulate",), 2, "a profile and a command are needed"),
        (("emulate", "aws-gp3"), 2, "a profile and a command are needed"),
        (("emulate", "aws-gp4", "--", "true"), 3, "aws-gp4: no such profile"),
        (("emulate", "nothing.yaml", "--", "true"), 3, "nothing.yaml"),
        (("emulate", "aws-gp3", "--", "no-such-program"), 2, "no-such-program: no such program"),
        (("emulate", "aws-gp3", "--set", "iops", "--", "true"), 3, "iops"),
        (("emulate", "aws-gp3", "--set", "iops=1", "--", "true"), 3, "iops=1"),
        (("emulate", "aws-gp3", "--memory", "8", "--", "true"), 2, "--memory"),
        (("emulate", "aws-gp3", "--memory", "lots", "--", "true"), 2, "--memory"),
        (("emulate", "aws-gp3", "--directory", "nowhere", "--", "true"), 2, "nowhere"),
        (("emulate", "--status", "/nowhere/at/all"), 2, "no such device"),
    ],
)
def test_what_cannot_be_done_is_a_line_and_a_hint(
    emulate: Emulate, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = emulate(*arguments)
    assert done.code == code
    error, hint, *more = done.err.splitlines()
    assert error.startswith("error: ")
    assert words in error
    assert hint.startswith("hint: ")
    assert more == []


def test_a_killed_groundspeed_ends_neither_the_program_nor_its_device(
    emulate: Emulate, place: Place
) -> None:
    """The program is the user's; what it uses is taken away by the next command after its end."""
    command = ("python3", "-c", "print('ready', flush=True); input()")
    arguments = (sys.executable, "-m", "groundspeed.cli.main", *NULL, "--", *command)
    process = subprocess.Popen(
        arguments,
        cwd=emulate.directory,
        env=emulate.variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process:
        assert process.stdout.readline() == "ready\n"
        (device,) = devices(place.state)
        (state,) = device.glob("device-*")
        (pid,) = remains.users_of(state)
        process.kill()
        process.wait()
        assert session.sweep() == ()
        assert remains.users_of(state) == (pid,)
        process.stdin.close()
        wait_until_gone(pid)
    assert leftovers.leases(place.state)
    assert session.sweep() == ()
    assert not device.exists()


def test_a_server_that_daemonises_stays_on_the_device(emulate: Emulate, place: Place) -> None:
    """The command pg_ctl start ends at once; its server is on the device until it is stopped."""
    home = emulate.directory / "pg"
    home.mkdir()
    user = small_runs.account()
    as_user: list[str] = []
    if user is not None:
        os.chown(home, user.uid, user.gid)
        as_user = ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", "--"]
    programs = installation.find(16).bin_dir
    if user is not None and str(programs).startswith("/root"):
        pytest.skip("the server's user may not enter the folder of PostgreSQL")
    data, socket = home / "data", home
    subprocess.run(
        [*as_user, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"],
        check=True,
        capture_output=True,
        cwd=home,
    )
    control = [*as_user, str(programs / "pg_ctl"), "-D", str(data), "-w"]
    options = f"-k {socket} -c listen_addresses="
    told_to = emulate.directory / "told"
    with told_to.open("w") as told_file:
        started = subprocess.run(
            [
                *(sys.executable, "-m", "groundspeed.cli.main", "emulate", "aws-gp3"),
                *("--directory", home, "--memory", "1GiB", "--"),
                *(*control, "-l", home / "log", "-o", options, "start"),
            ],
            cwd=emulate.directory,
            env=emulate.variables,
            stdin=subprocess.DEVNULL,
            # Not pipes: the server would keep them open.
            stdout=subprocess.DEVNULL,
            stderr=told_file,
            check=False,
        )
    told = told_to.read_text()
    try:
        assert started.returncode == 0, told
        assert "still run on the device" in told
        state = told.partition("--status ")[2].split()[0]
        # The next commands leave it alone.
        for _ in range(2):
            status = emulate("emulate", "--status", state, "--json")
            assert status.code == 0, status.err
        assert json.loads(status.err.splitlines()[-1])["work"]["sync_call_count"] > 0
        assert leftovers.leases(place.state)
    finally:
        pid = int((data / "postmaster.pid").read_text().split()[0])
        subprocess.run([*control, "stop"], check=True, capture_output=True, cwd=home)
    wait_until_gone(pid)
    # The next command of any kind takes away what nobody uses any more.
    emulate("presets")
    assert not Path(state).exists()
