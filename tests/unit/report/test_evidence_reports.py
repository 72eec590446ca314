"""Every format shows why and warns; what was not watched looks as before."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec
import pytest
from rich.cells import cell_len

from groundspeed.analyse.diagnosis import CellDiagnosis
from groundspeed.report import data, html, markdown
from groundspeed.report.why_data import trial_to_json, trials_to_json
from tests.evident import (
    HOSTILE,
    evident_findings,
    make_diagnosis,
    make_guards,
    make_trial_evidence,
)
from tests.examples import EMULATED, example_findings
from tests.unit.report.test_html import Page, make_findings
from tests.unit.report.test_terminal import render_text

if TYPE_CHECKING:
    from groundspeed.analyse import Findings


def watched(findings: Findings, length: int) -> Findings:
    """Put evidence to every trial that has seconds."""
    trials = tuple(
        msgspec.structs.replace(
            make_trial_evidence(
                s.trial_id,
                environment=s.environment,
                length=length,
                repeat_index=s.repeat_index,
            ),
            clients=s.clients,
            threads=s.threads,
        )
        for s in findings.seconds
    )
    diagnoses = tuple(
        CellDiagnosis(
            environment=c.environment,
            workload=c.workload,
            clients=c.clients,
            threads=c.threads,
            scale=c.scale,
            diagnosis=make_diagnosis(),
            agreeing_count=c.tps_per_s.n,
            trial_count=c.tps_per_s.n,
        )
        for c in findings.cells
    )
    return msgspec.structs.replace(
        findings, trials=trials, diagnoses=diagnoses, guards=make_guards(findings.cells)
    )


class TestTerminal:
    @pytest.mark.parametrize("width", [80, 120, 160])
    @pytest.mark.parametrize("terminal", [False, True])
    def test_it_fits_and_says_why(self, width: int, terminal: bool) -> None:  # noqa: FBT001 - a parameter
        text = render_text(evident_findings(), width=width, terminal=terminal)
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert max(map(cell_len, text.splitlines())) <= width
        for part in ("likely lock-bound", "WAL-sync-bound", "unknown", "83% to 91% of database"):
            assert part in text
        # Where there is no room beside it, the mark stands below.
        assert re.search(r"not decided\s+!2,3", text)

    def test_the_column_is_there_where_it_has_room(self) -> None:
        heads = [
            next(line for line in text.splitlines() if " throughput" in line)
            for text in (render_text(evident_findings(), width=w) for w in (80, 160))
        ]
        assert [head.rstrip().endswith("why") for head in heads] == [False, True]

    def test_guards_stand_beneath_the_verdict_they_touch(self) -> None:
        text = render_text(evident_findings(), width=300)
        order = [
            "tpcb-like: ",
            "!1 8 clients update",
            "select-only: ",
            "this did not measure storage",
            "!2 as above",
            "!4 the machine is a <t3.large>",
            "Compared to",
        ]
        assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)

    def test_a_very_long_name_folds(self) -> None:
        findings = watched(make_findings(("x" * 100, "b")), 5)
        assert max(map(cell_len, render_text(findings).splitlines())) <= 80


class TestMarkdown:
    def test_tables_have_the_column_and_as_many_cells_as_their_header(self) -> None:
        text = markdown.render(evident_findings())
        for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
            cells = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(cells) == 1
        assert text.count("| why |") == 4
        assert "| slower **!1** | WAL-sync-bound |" in text
        assert "<" not in text
        assert "  - **!3** the data of select-only fit" in text

    def test_clues_and_remedies_are_told(self) -> None:
        text = markdown.render(evident_findings())
        assert "83% to 91% of database time waits for the log to be synced" in text
        assert "a device that syncs sooner" in text
        assert "## Scaling with the number of clients" in text


class TestData:
    def test_json_has_every_cells_diagnosis_with_its_clues(self) -> None:
        findings = evident_findings()
        document = json.loads(data.to_json(findings))
        assert len(document["why"]) == len(findings.diagnoses)
        first = document["why"][0]
        assert first["bottleneck"] == "lock-bound"
        assert first["confidence"] == "likely"
        assert first["clues"][0] == {
            "name": "of database time waits for the log to be synced",
            "value": 0.83,
            "unit": "ratio",
            "source": "pg_stat_activity, 600 samples",
        }
        assert first["remedy"].startswith("a device")
        assert document["cells"][0]["bottleneck"] == {"name": "lock-bound", "confidence": "likely"}
        touched = [document["guards"][i]["code"] for i in document["cells"][-1]["guards"]]
        assert "did-not-measure-storage" in touched
        assert len(document["trials"]) == len(findings.trials)
        # A comparison keeps its own `why`: why it is not decided.
        assert document["comparisons"][-1]["why"] == "the interval includes 1"
        assert document["comparisons"][0]["bottleneck"]["name"] == "CPU-bound"

    def test_csv_names_the_bottleneck_and_the_guards(self) -> None:
        rows = list(csv.DictReader(io.StringIO(data.to_csv(evident_findings()))))
        assert rows[0]["bottleneck"] == "lock-bound"
        assert rows[0]["confidence"] == "likely"
        assert "each sync takes: 0.0029 s (pg_stat_io)" in rows[0]["clues"]
        assert rows[-1]["guards"].count("did-not-measure-storage") == 1
        bare = list(csv.DictReader(io.StringIO(data.to_csv(example_findings()))))
        assert bare[0]["bottleneck"] == bare[0]["guards"] == ""

    def test_one_trial_is_told_to_machines_with_its_evidence(self) -> None:
        findings = evident_findings()
        trial = findings.trials[-1]
        document = json.loads(trial_to_json(trial, findings))
        assert (document["kind"], document["trial_id"]) == ("groundspeed-why", trial.trial_id)
        assert document["evidence"]["waits"][0]["event"] == "WalSync"
        assert document["storage_work"]["sync_call_count"] == 1550
        assert [g["code"] for g in document["guards"]] == ["scale-below-clients"]
        assert document["course"]["worst_ratio"] is None
        assert len(json.loads(trials_to_json(findings))["trials"]) == len(findings.trials)


class TestHtml:
    def test_sections_of_evidence_come_where_they_are_looked_for(self) -> None:
        page = Page(html.render(evident_findings()))
        ids = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
        assert ids == [
            *("verdict", "comparison", "why", "figure-tps", "figure-p99", "scaling", "seconds"),
            *("timelines", "results", "devices", "environments", "cautions", "advice"),
            *("reading", "making"),
        ]
        assert page.open == []

    def test_without_evidence_nothing_of_it_is_on_the_page(self) -> None:
        text = html.render(msgspec.structs.replace(example_findings(), guards=()))
        for part in ('id="why"', 'id="timelines"', "guard", "--w-cpu", '<th scope="col">Why'):
            assert part not in text

    def test_every_mark_points_at_its_guard(self) -> None:
        page = Page(html.render(evident_findings()))
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        links = [a["href"] for tag, a in page.elements if tag == "a"]
        assert [i for i in ids if i.startswith("guard")] == [f"guard-{n}" for n in (1, 2, 3, 4)]
        assert {link for link in links if "guard" in link} == {f"#guard-{n}" for n in (1, 2, 3)}
        assert {link[1:] for link in links} <= set(ids)

    def test_why_is_told_with_clues_and_remedy(self) -> None:
        text = Page(html.render(evident_findings())).text
        assert "WAL-sync-bound" in text
        assert "2.90 ms each sync takes (pg_stat_io)" in text
        assert "a device that syncs sooner" in text
        assert "About 11 clients reach 90% of the peak" in text

    def test_pictures_are_well_formed_and_load_nothing(self) -> None:
        text = html.render(evident_findings())
        for picture in re.findall(r"<svg .*?</svg>", text, re.DOTALL):
            ET.fromstring(picture)
        assert "url(" not in text
        assert not re.search(r"https?:|//[a-z]", text)

    def test_wait_classes_and_events_have_a_colour_each(self) -> None:
        text = html.render(evident_findings())
        used = set(re.findall(r'class="(?:area|event|edge|band) ([\w-]+)"', text))
        assert {"w-cpu", "w-io", "u-server", "e-checkpoint", "e-stall"} <= used
        for style in used:
            assert f".{style}{{" in text or f".{style}," in text, style

    def test_names_are_text_and_never_elements(self) -> None:
        plain = Page(html.render(watched(make_findings(), 5)))
        hostile = watched(make_findings(("a", HOSTILE)), 5)
        bad = msgspec.structs.replace(make_diagnosis(), remedy=HOSTILE)
        hostile = msgspec.structs.replace(
            hostile,
            diagnoses=tuple(msgspec.structs.replace(d, diagnosis=bad) for d in hostile.diagnoses),
            guards=tuple(msgspec.structs.replace(g, message=HOSTILE) for g in hostile.guards),
        )
        page = Page(html.render(hostile))
        assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
        assert HOSTILE in " ".join(page.words)

    def test_emulated_storage_is_labelled_at_its_time_lines(self) -> None:
        text = html.render(evident_findings())
        captions = re.findall(rf"<figcaption>({EMULATED}[^<]*)", text)
        assert len(captions) > 4
        assert all(caption.startswith(f"{EMULATED} (emulated)") for caption in captions)

    @pytest.mark.parametrize(("clients", "repeats"), [(tuple(range(1, 126)), 2), ((1, 8), 125)])
    def test_a_thousand_watched_trials_fit_and_are_quick(
        self, clients: tuple[int, ...], repeats: int
    ) -> None:
        findings = watched(
            make_findings(("a", "b", "c", "d"), clients=clients, repeats=repeats, length=60), 60
        )
        assert len(findings.trials) == 1000
        started_s = time.process_time()
        text = html.render(findings)
        assert time.process_time() - started_s < 1.5
        assert len(text.encode()) < 5_000_000
        assert "are not drawn" in text
