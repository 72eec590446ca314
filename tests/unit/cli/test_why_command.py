"""`groundspeed why`: the list, the story, and what is said where there is nothing to tell."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.cli.why_command import command, tell
from groundspeed.errors import ExitCode, UsageError
from tests.evident import evident_findings
from tests.unit.cli.conftest import write_run

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed

RUN = Path("runs/one")


def test_without_a_trial_they_are_listed_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    findings = evident_findings()
    tell(findings, RUN, None, as_json=False)
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1 + len(findings.trials)
    assert "WAL-sync-bound" in out
    assert err.splitlines() == [
        "35 measured without probes: nothing says why",
        "groundspeed why runs/one TRIAL tells the story of one",
    ]


def test_a_trial_is_told_in_at_most_twenty_lines(capsys: pytest.CaptureFixture[str]) -> None:
    findings = evident_findings()
    tell(findings, RUN, findings.trials[-1].trial_id, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert 10 < len(lines) <= 20
    assert lines[0].split()[1] == f"{findings.trials[-1].trial_id}:"


def test_a_run_of_one_trial_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    findings = evident_findings()
    one = msgspec.structs.replace(findings, trials=findings.trials[:1])
    tell(one, RUN, None, as_json=False)
    assert capsys.readouterr().out.startswith("trial    ")


def test_json_is_a_list_without_a_trial_and_an_object_with_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = evident_findings()
    one = msgspec.structs.replace(findings, trials=findings.trials[:1])
    tell(one, RUN, None, as_json=True)
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 1
    tell(one, RUN, findings.trials[0].trial_id, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["bottleneck"], len(found["clues"])) == ("lock-bound", 3)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("diska.tpcb-like-c1-j1.r19", "did you mean diska.tpcb-like-c1-j1.r"),
        ("nothing like it", "groundspeed why RUN_DIR lists them"),
    ],
)
def test_an_unknown_trial_is_refused_with_near_names(asked: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        tell(evident_findings(), RUN, asked, as_json=False)
    assert caught.value.message == f"{asked}: no such trial was watched"
    assert caught.value.hint.startswith(hint)


def test_a_terminal_without_utf_8_gets_ascii() -> None:
    # As under LC_ALL=C: bars cannot be written there.
    raw = io.BytesIO()
    findings = evident_findings()
    with redirect_stdout(io.TextIOWrapper(raw, encoding="ascii", write_through=True)):
        for trial_id in (None, findings.trials[-1].trial_id):
            tell(findings, RUN, trial_id, as_json=False)
        told = raw.getvalue().decode("ascii")
    assert "TPS      *#_#*" in told


def test_a_run_without_evidence_says_how_to_get_some(groundspeed: Groundspeed) -> None:
    run_dir = write_run(Path("runs"), "one")
    done = groundspeed("why", str(run_dir))
    assert done.code == ExitCode.USAGE
    assert done.errors == [
        "error: runs/one: no evidence was recorded, so nothing says why",
        "hint: measure again with groundspeed run --probes full",
    ]


def test_what_is_no_run_is_refused(groundspeed: Groundspeed) -> None:
    done = groundspeed("why", "nope")
    assert done.code == ExitCode.USAGE
    assert done.errors[0] == "error: nope: not a run directory"


def test_trials_complete_from_the_plan(groundspeed: Groundspeed) -> None:
    del groundspeed  # it goes into the directory first
    run_dir = write_run(Path("runs"), "one")
    (argument,) = [p for p in command.params if p.name == "trial_id"]
    context = command.make_context("why", [str(run_dir)])
    found = [item.value for item in argument.shell_complete(context, "one.")]
    assert len(found) == 6
    assert all(name.startswith("one.select-only") for name in found)
    nowhere = command.make_context("why", [], resilient_parsing=True)
    assert argument.shell_complete(nowhere, "one.") == []
