from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.errors import ExitCode

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


FIXED = "measure={duration: 1s, repeats: 1}"
SEQUENTIAL = "measure={until: decided, slice: 1s, at_most: 5m}"


def test_trials_come_in_order_with_their_command_lines(groundspeed: Groundspeed) -> None:
    done = groundspeed("plan", "quick", *("--set", FIXED, "--set", "clients=[1, 8]"))
    assert done.code == 0
    assert "3 environments: this-disk, gp3 (emulated), longhorn-2r (emulated)" in done.out
    assert "12 trials in 4 blocks, seed 1" in done.out
    assert done.out.count("\n      pgbench -n ") == 12
    assert "'host=SOCKET dbname=groundspeed'" in done.out
    assert "memory: needs up to" in done.out


def test_what_stops_when_it_is_decided_shows_a_round_and_its_times(
    groundspeed: Groundspeed,
) -> None:
    done = groundspeed("plan", "quick", *("--set", SEQUENTIAL, "--set", "clients=[1, 8]"))
    assert done.code == 0
    assert (
        "8 comparisons until they are decided, margin 3%: up to 40 rounds of 4 blocks" in done.out
    )
    assert "first decisions after about 3 min (10 rounds); at most 5 min" in done.out
    # A round, with the baseline measured twice in some of its blocks.
    assert 12 < done.out.count("\n      pgbench -n ") <= 16
    assert done.out.rstrip().endswith("in another order, less what is decided by then")


def test_a_time_in_which_nothing_can_be_decided_is_refused(groundspeed: Groundspeed) -> None:
    shorter = SEQUENTIAL.replace("5m", "1min")
    done = groundspeed("plan", "quick", *("--set", shorter, "--set", "clients=[1, 8]"))
    assert done.code == ExitCode.SPEC
    assert done.errors[0].startswith("error: measure.at_most: 10 rounds take 3 min, more than 60 s")


def test_json_holds_the_same(groundspeed: Groundspeed) -> None:
    document = json.loads(groundspeed("plan", "quick", "--json").out)
    assert document["estimate"]["trial_count"] == len(document["trials"]) > 12
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
