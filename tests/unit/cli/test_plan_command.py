from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


def test_trials_come_in_order_with_their_command_lines(groundspeed: Groundspeed) -> None:
    done = groundspeed("plan", "quick", "--set", "measure.repeats=1", "--set", "scale=1")
    assert done.code == 0
    assert "3 environments: this-disk, gp3 (emulated), longhorn-2r (emulated)" in done.out
    assert "18 trials in 6 blocks, seed 1" in done.out
    assert done.out.count("\n      pgbench -n ") == 18
    assert "'host=SOCKET dbname=groundspeed'" in done.out
    assert "memory: needs up to" in done.out


def test_json_holds_the_same(groundspeed: Groundspeed) -> None:
    document = json.loads(groundspeed("plan", "quick", "--json").out)
    assert document["estimate"]["trial_count"] == len(document["trials"]) == 108
    assert document["trials"][0]["command"].startswith("pgbench ")
    assert document["seed"] == 1


def test_a_password_is_nowhere(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(
        "suite: s\nenvironments: {g: {target: server, dsn: 'postgresql://u:s3cret@h/db'}}\n"
    )
    for arguments in (["plan", "s.yaml"], ["plan", "s.yaml", "--json"]):
        done = groundspeed(*arguments)
        assert done.code == 0
        assert "s3cret" not in done.out + done.err
        assert "dbname=groundspeed" in done.out


def test_no_directory_is_made(groundspeed: Groundspeed) -> None:
    groundspeed("plan", "quick")
    assert list(Path.cwd().iterdir()) == []
