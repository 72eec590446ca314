from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.diagnosis import CellKey, GuardFinding, GuardKind
from groundspeed.record import Evidence
from groundspeed.record.evidence import Absent, ProbeLevel
from groundspeed.report.story import COLUMN_COUNT, LINE_COUNT, story, trial_lines
from tests.evident import (
    evident_findings,
    make_diagnosis,
    make_rows,
    make_trial_evidence,
)
from tests.examples import EMULATED, example_findings

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.findings import TrialEvidence


def words_of(trial: TrialEvidence, findings: Findings) -> dict[str, str]:
    """Join what follows each word, over the lines it takes."""
    said: dict[str, str] = {}
    word = ""
    for line in story(trial, findings):
        word = line[:9].strip() or word
        said[word] = f"{said.get(word, '')} {line[9:].strip()}".strip()
    return said


def test_a_trial_is_told_with_all_that_matters() -> None:
    findings = evident_findings()
    trial = next(t for t in findings.trials if t.environment != EMULATED and t.clients == 8)
    said = words_of(trial, findings)
    assert list(said) == [
        *("trial", "result", "TPS", "why", "remedy", "waits", "CPU", "storage", "time"),
        *("stalls", "!", "unseen", "cost"),
    ]
    assert said["trial"].startswith(trial.trial_id)
    assert "p99 21.6 ms" in said["result"]
    assert said["why"].count("- ") == 3
    assert said["waits"].startswith("IO:WalSync 83%, CPU 9.0%, Lock:transactionid 4.0%")
    # Five of them, and the clients' alone.
    assert said["waits"].count("%") == 5
    assert "WalWriterMain" not in said["waits"]
    assert "server 1.12" in said["CPU"]
    assert "97% busy" in said["storage"]
    assert said["stalls"] == "2 to 3 s, down to 0/s, with a checkpoint"
    assert "pgbench_branches" in said["!"]
    assert "track_io_timing is off" in said["unseen"]
    assert "took 1.0% of a core" in said["cost"]


def test_an_emulated_trial_tells_of_its_device() -> None:
    findings = evident_findings()
    trial = next(t for t in findings.trials if t.environment == EMULATED)
    said = words_of(trial, findings)
    assert "(emulated)" in said["trial"]
    assert said["storage"].startswith("emulated: 60.0 reads/s + 800 writes/s, 2.90 ms a sync")
    assert "step down: 1,400/s until 3.2 s, then 410/s" in said["stalls"]


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("much", [1, 5, 40])
def test_however_much_there_is_to_say_it_is_a_page(much: int, unicode: bool) -> None:  # noqa: FBT001 - a parameter
    key = CellKey(environment="", workload="tpcb-like", clients=8, threads=1, scale=10)
    guards = tuple(
        GuardFinding(
            kind=GuardKind.SANITY, code=f"c{i}", message="a doubt " * 9 * much, cells=(key,)
        )
        for i in range(much)
    )
    diagnosis = msgspec.structs.replace(make_diagnosis(), remedy="change something " * 5 * much)
    trial = make_trial_evidence("x" * 4 * much, length=10 * much, diagnosis=diagnosis)
    absent = tuple(Absent(what=f"w{i}", reason="no right to read it") for i in range(much))
    evidence = msgspec.structs.replace(trial.evidence, absent=absent)
    trial = msgspec.structs.replace(trial, evidence=evidence)
    line = msgspec.structs.replace(
        example_findings().seconds[0],
        trial_id=trial.trial_id,
        rows=make_rows(10 * much, 1000.0),
    )
    findings = msgspec.structs.replace(example_findings(), guards=guards, seconds=(line,))
    lines = story(trial, findings, unicode=unicode)
    assert len(lines) <= LINE_COUNT
    assert max(map(len, lines)) <= COLUMN_COUNT
    assert all(line.isascii() for line in lines) is not unicode
    said = "\n".join(lines)
    for word in ("result", "why", "remedy", "waits", "CPU", "storage", "!", "cost"):
        assert f"\n{word}" in said


def test_the_sparkline_keeps_a_stall_of_one_second() -> None:
    rows = make_rows(3600, 1000.0)
    line = msgspec.structs.replace(example_findings().seconds[0], trial_id="t", rows=rows)
    findings = msgspec.structs.replace(example_findings(), seconds=(line,))
    drawn = words_of(make_trial_evidence(length=3600), findings)["TPS"]
    assert drawn[0] == "▁"
    assert drawn.count("▁") == 1
    assert drawn.endswith("/s in 3,600 s")


def test_a_trial_without_any_transaction_is_told() -> None:
    rows = tuple(msgspec.structs.replace(row, count=0) for row in make_rows(5, 1.0))
    line = msgspec.structs.replace(example_findings().seconds[0], trial_id="t", rows=rows)
    findings = msgspec.structs.replace(example_findings(), seconds=(line,))
    trial = make_trial_evidence(tps_per_s=float("nan"))
    assert words_of(trial, findings)["TPS"] == "▁▁▁▁▁ 0 to 0/s in 5 s"
    assert words_of(trial, findings)["result"].startswith("- TPS")


def test_the_least_that_can_be_seen_makes_a_story() -> None:
    evidence = Evidence(level=ProbeLevel.LIGHT, started_at_s=0.0, elapsed_s=0.0)
    trial = msgspec.structs.replace(make_trial_evidence(), evidence=evidence)
    said = words_of(trial, example_findings())
    assert said["storage"] == "no disk was seen"
    assert said["cost"] == "what watching cost was not told (probes: light)"
    assert not {"waits", "CPU", "TPS", "unseen", "!"} & set(said)


def test_names_steer_no_terminal() -> None:
    trial = msgspec.structs.replace(make_trial_evidence(), environment="\x1b[2Jred\r\nx")
    text = "".join(story(trial, example_findings()))
    assert "\x1b" not in text
    assert "\r" not in text


def test_the_list_has_a_line_a_trial_in_the_order_of_the_cells() -> None:
    findings = evident_findings()
    header, *lines = trial_lines(
        msgspec.structs.replace(findings, trials=tuple(reversed(findings.trials)))
    )
    assert header.split() == ["trial", "TPS", "p99", "bottleneck", "course"]
    assert [line.split()[0] for line in lines] == [t.trial_id for t in findings.trials]
    assert "likely lock-bound  steady from 1 s, 1 stall" in lines[0]
    assert lines[-1].endswith("never steady, 1 stall, a step down")
