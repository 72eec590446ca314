from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from groundspeed.cli.main import cli
from tests.unit.cli.conftest import write_run

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


def completed(*words: str) -> list[str]:
    complete = ShellComplete(cli, {}, "groundspeed", "_GROUNDSPEED_COMPLETE")
    found = complete.get_completions(list(words[:-1]), words[-1])
    return [item.value for item in found if item.type == "plain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(groundspeed: Groundspeed, shell: str) -> None:
    done = groundspeed("completion", shell)
    assert done.code == 0
    assert "_GROUNDSPEED_COMPLETE" in done.out


def test_another_shell_is_refused(groundspeed: Groundspeed) -> None:
    assert groundspeed("completion", "tcsh").code == 2


def test_commands_and_presets_complete() -> None:
    assert completed("re") == ["resume", "report"]
    assert completed("run", "q") == ["quick"]
    assert completed("plan", "m") == ["matrix-39"]
    assert completed("presets", "s") == ["storage-sweep"]


def test_run_directories_complete(groundspeed: Groundspeed) -> None:
    del groundspeed  # it goes into an empty directory
    write_run(Path("runs"), "20260131-120000-quick")
    assert completed("report", "ru") == ["runs/20260131-120000-quick"]
    assert completed("resume", "runs/2") == ["runs/20260131-120000-quick"]
