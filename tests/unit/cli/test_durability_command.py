"""groundspeed durability, as far as no server is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.cli import suites
from groundspeed.errors import ExitCode
from groundspeed.record.losses import Ending
from groundspeed.store.losses import append_loss
from tests.unit.losses import NO_BOUND, failed, loss

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.record.losses import LossRecord
    from tests.unit.cli.conftest import Groundspeed

PLAIN = """\
suite: s
environments:
  disk: {target: embedded, storage: {directory: ./d}}
  given: {target: server, dsn: "host=h"}
"""


def earlier(directory: Path, *records: LossRecord) -> str:
    _, plan = suites.load("durability-postgres", [])
    run_dir = store.create_run(directory, plan, "20260102-example")
    for record in records:
        append_loss(run_dir, record)
    return str(run_dir)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        ([loss(), loss(environment="b", missing=5, oldest_s=1.0, promise=NO_BOUND)], ExitCode.OK),
        ([loss(), loss(environment="b", missing=1, oldest_s=0.0)], ExitCode.PROMISE_BROKEN),
        ([loss(), failed(environment="b")], ExitCode.TRIALS_FAILED),
        # What is worse counts.
        ([loss(missing=1, oldest_s=0.0), failed(environment="b")], ExitCode.PROMISE_BROKEN),
    ],
)
def test_the_exit_code_tells_a_broken_promise(
    groundspeed: Groundspeed, tmp_path: Path, records: list[LossRecord], code: ExitCode
) -> None:
    done = groundspeed("durability", earlier(tmp_path, *records))
    assert done.code == code
    assert "durability-postgres: what was lost" in done.out


def test_a_table_to_paste_and_data(groundspeed: Groundspeed, tmp_path: Path) -> None:
    run_dir = earlier(tmp_path, loss(), loss(ending=Ending.POWER_CUT))
    assert (
        "| a | power cut (emulated) |" in groundspeed("durability", run_dir, "--format", "md").out
    )
    found = json.loads(groundspeed("durability", run_dir, "--format", "json").out)
    assert [each["ending"] for each in found["tries"]] == ["killed", "power-cut"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["suite.yaml"],
            "environments.given: a given server is not killed",
            "name environments with target: embedded alone",
        ),
        (
            ["suite.yaml", "--ending", "power-cut"],
            "environments.disk: only emulated storage can lose its power",
            "give it storage.emulate, or --ending killed",
        ),
    ],
)
def test_what_cannot_be_ended_so_is_refused(
    groundspeed: Groundspeed, tmp_path: Path, arguments: list[str], message: str, hint: str
) -> None:
    (tmp_path / "suite.yaml").write_text(PLAIN)
    done = groundspeed("durability", str(tmp_path / arguments[0]), *arguments[1:])
    assert done.code == ExitCode.SPEC
    assert done.errors == [f"error: {message}", f"hint: {hint}"]


def test_a_run_without_tries_says_so(groundspeed: Groundspeed, tmp_path: Path) -> None:
    done = groundspeed("durability", earlier(tmp_path))
    assert done.code != 0
    assert "holds no tries of durability" in done.errors[0]
