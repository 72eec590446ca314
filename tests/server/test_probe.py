"""`groundspeed probe` with a real fio on a real disk: small, short, and cleaned up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import ExitCode, TargetError
from groundspeed.storage import catalogue
from groundspeed.storage.profile import Standing
from groundspeed.targets import probing
from tests import leftovers, small_runs
from tests.interrupted.driving import command, driven

if TYPE_CHECKING:
    from pathlib import Path

    from tests.small_runs import Place

SMALL = ("--size", "64MiB", "--time", "6s", "--seed", "1")

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not on this machine")


def call(place: Place, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "groundspeed.cli.main", "probe", *arguments],
        cwd=place.root,
        env=small_runs.variables(**more),
        capture_output=True,
        text=True,
        check=False,
    )


def nothing_left(place: Place, path: Path) -> bool:
    return list(path.iterdir()) == [] and leftovers.leases(place.state) == []


def test_it_writes_a_profile_that_can_be_emulated_and_keeps_all(place: Place) -> None:
    path, output, page = (
        place.storage,
        place.root / "disk.yaml",
        place.root / "disk.html",
    )
    done = call(place, str(path), *SMALL, "-o", str(output), "--html", str(page), "--name", "disk")
    assert done.returncode == 0, done.stderr
    assert "block 1 of 1" in done.stderr
    assert "write+fdatasync" in done.stdout
    profile = catalogue.parse(output.read_text(), source="disk.yaml")
    assert profile.name == "disk"
    assert 0 < profile.device.read.median_s <= profile.device.read.p99_s
    assert profile.device.parallel_count >= 1
    assert {f.standing for f in profile.figures} >= {Standing.MEASURED, Standing.FITTED}
    raw = {file.name for file in output.with_name("disk.yaml.raw").iterdir()}
    assert {"probed.json", "fill.json", "long.json", "block-01.json", "block-01.fio"} <= raw
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert nothing_left(place, path)

    compared = call(place, "--compare", str(output), str(output), "--json")
    figures = json.loads(compared.stdout)["figures"]
    assert figures
    assert all(figure["ratio"]["ratio"] == 1.0 for figure in figures)
    shown = call(place, "--compare", str(output), str(output))
    assert "No intervals can be given" in shown.stdout


def test_json_goes_alone_to_standard_output(place: Place) -> None:
    path = place.storage
    done = call(place, str(path), *SMALL, "--json", "--name", "disk")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {"probed", "fit", "caps", "cautions"} <= set(told)
    assert (place.root / "disk.yaml").is_file()


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == ExitCode.TARGET, done.stderr
    lines = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"], done.stderr
    return lines[0]


def test_a_file_a_device_and_nothing_are_refused(place: Place) -> None:
    file = place.root / "file"
    file.write_text("")
    assert "is no directory" in refused(call(place, str(file), *SMALL))
    assert "is a device" in refused(call(place, "/dev/null", *SMALL))
    assert "No such file" in refused(call(place, str(place.root / "none"), *SMALL))
    assert file.read_text() == ""


def test_more_than_there_is_room_for_is_refused(place: Place) -> None:
    path = place.storage
    assert "free" in refused(call(place, str(path), "--size", "900TiB", "--time", "6s"))
    assert nothing_left(place, path)


def test_without_fio_there_is_a_hint(place: Place, tmp_path: Path) -> None:
    for program in ("setpriv", "test"):
        found = shutil.which(program)
        assert found is not None
        (tmp_path / program).symlink_to(found)
    done = call(place, str(place.storage), *SMALL, PATH=str(tmp_path))
    assert "fio is missing" in refused(done)
    assert "apt-get install fio" in done.stderr


def test_a_directory_that_gets_full_while_it_is_filled_fails_in_a_line(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A fio that meets a full disk, as other programs take the room that was there before.
    programs = place.root / "programs"
    programs.mkdir(mode=0o755)
    program = programs / "fio"
    program.write_text(
        "#!/bin/sh\necho 'fio: pid=1, err=28/file:io_u.c:1876, func=io_u error,"
        " error=No space left on device' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    path = place.storage
    done = call(place, str(path), *SMALL, PATH=f"{programs}:{os.environ['PATH']}")
    assert done.returncode == ExitCode.TARGET
    assert "No space left on device" in done.stderr
    assert nothing_left(place, path)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(TargetError, match="free"):
        probing.refuse_unfit(path, 2**60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["filling", "block 1"])
def test_a_signal_leaves_nothing(place: Place, number: signal.Signals, step: str) -> None:
    path = place.storage
    arguments = command("probe", path, "--size", "64MiB", "--time", "45s", "--name", "disk")
    with driven(arguments, place.root) as run:
        run.wait_for(step)
        os.kill(run.pid, number)
        assert run.finish() == ExitCode.INTERRUPTED
    assert nothing_left(place, path)
    assert not (place.root / "disk.yaml").exists()


def test_what_a_killed_probe_left_is_swept_by_the_next_command(place: Place) -> None:
    path = place.storage
    with driven(command("probe", path, *SMALL[:2], "--time", "45s"), place.root) as run:
        run.wait_for("block 1")
        os.kill(run.pid, signal.SIGKILL)
        run.finish()
    (left,) = path.iterdir()
    assert leftovers.leases(place.state)
    subprocess.run(
        [sys.executable, "-m", "groundspeed.cli.main", "presets"],
        env=small_runs.variables(),
        check=True,
        capture_output=True,
    )
    assert not left.exists()
    assert nothing_left(place, path)
    assert leftovers.processes_of(left.name) == []
