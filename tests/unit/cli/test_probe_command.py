from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.probe_profile import outcome
from groundspeed.cli import probe_files
from groundspeed.errors import ExitCode
from groundspeed.storage.encode import encode_yaml
from tests.probe_example import Disk, probe

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


def write(name: str, disk: Disk) -> Path:
    probed = probe(disk)
    file = Path(name)
    probe_files.write(file, encode_yaml(outcome(probed).fit.profile), probed, [("a.json", "{}")])
    return file


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "takes one directory"),
        ((".", ".."), "takes one directory"),
        (("--compare", "a.yaml"), "takes two profiles"),
        ((".", "--time", "1s"), "at least 6 s"),
        ((".", "--size", "1MiB"), "at least 32 MiB"),
        ((".", "--size", "lots"), "not a size"),
        ((".", "--name", "../up"), "no name of a profile"),
    ],
)
def test_a_mistake_is_two_lines(
    groundspeed: Groundspeed, arguments: tuple[str, ...], said: str
) -> None:
    done = groundspeed("probe", *arguments)
    assert done.code == ExitCode.USAGE
    assert said in done.errors[0]
    assert len(done.errors) == 2


def test_a_file_that_cannot_be_written_is_refused_before_measuring(
    groundspeed: Groundspeed,
) -> None:
    done = groundspeed("probe", ".", "-o", "none/a.yaml")
    assert done.code == ExitCode.TARGET
    assert "no such directory" in done.errors[0]


def test_two_profiles_are_compared_with_intervals(groundspeed: Groundspeed) -> None:
    write("a.yaml", Disk())
    write("b.yaml", Disk(read_s=3e-4))
    done = groundspeed("probe", "--compare", "a.yaml", "b.yaml")
    assert done.code == 0
    assert "intervals" in done.out
    assert "2.9" in done.out or "3.0" in done.out


def test_a_profile_of_the_same_name_replaces_profile_and_measurements(
    groundspeed: Groundspeed,
) -> None:
    del groundspeed
    file = write("a.yaml", Disk())
    before = probe_files.read_probed(file)
    stray = probe_files.companion(file) / "stray.json"
    stray.write_text("")
    write("a.yaml", Disk(read_s=3e-4))
    assert probe_files.read_probed(file) != before
    assert not stray.exists()


def test_damage_is_told_and_absence_is_not(groundspeed: Groundspeed) -> None:
    file = write("a.yaml", Disk())
    (probe_files.companion(file) / "probed.json").write_text('{"format":')
    done = groundspeed("probe", "--compare", "a.yaml", "a.yaml")
    assert done.code == ExitCode.TARGET
    assert "probed.json" in done.errors[0]
    (probe_files.companion(file) / "probed.json").unlink()
    done = groundspeed("probe", "--compare", "a.yaml", "a.yaml")
    assert done.code == 0
    assert "No intervals can be given" in done.out
