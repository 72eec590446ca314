"""The page holds all of the findings, lets no name of a user through and needs nothing else."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from random import Random
from xml.etree import ElementTree as ET

import msgspec
import pytest

from groundspeed.analyse import Findings, analyse
from groundspeed.analyse.diagnosis import GuardFinding, GuardKind
from groundspeed.record import Caution, Measured, Skipped
from groundspeed.report import html, html_figures
from groundspeed.report.html_figures import thin
from groundspeed.report.view import SecondsPanel, SecondsSeries
from tests.examples import (
    AWKWARD,
    EMULATED,
    example_findings,
    make_measured,
    make_provenance,
    make_record,
    make_run,
    make_seconds,
    make_storage,
    make_trial,
)

HOSTILE = "</title></svg><script>alert(1)</script><img src=//x.example/y onerror='a()'>\"&"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """What a browser would find: every element, in order, and the text of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def make_findings(
    environments: tuple[str, ...] = ("a", "b"),
    *,
    workload: str = "tpcb-like",
    repeats: int = 6,
    clients: tuple[int, ...] = (1,),
    length: int = 5,
) -> Findings:
    rng = Random(11)
    records = [
        make_record(
            make_trial(
                environment=environment,
                workload=workload,
                clients=count,
                repeat_index=repeat,
                block_index=repeat * len(clients) + place,
                trial_id=f"{environment}.c{count}.r{repeat}",
            ),
            make_measured(rng.uniform(900, 1100) * (1 + index)),
            provenance=make_provenance(storage=make_storage(label=environment)),
            cautions=(Caution(code="made-up", message=f"{workload} is doubtful"),),
        )
        for repeat in range(repeats)
        for place, count in enumerate(clients)
        for index, environment in enumerate(environments)
    ]
    seconds = {
        r.trial.trial_id: make_seconds(rng, r.outcome.tps_per_s, length)
        for r in records
        if isinstance(r.outcome, Measured)
    }
    return analyse([make_run(records, seconds=seconds)])


def test_the_sections_come_in_reading_order() -> None:
    page = Page(html.render(example_findings()))
    ids = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert ids == [
        "verdict",
        "comparison",
        "figure-tps",
        "figure-p99",
        "seconds",
        "results",
        "devices",
        "environments",
        "cautions",
        "advice",
        "reading",
        "making",
    ]
    assert page.open == []


def test_every_finding_is_on_the_page() -> None:
    findings = example_findings()
    text = Page(html.render(findings)).text
    for verdict in findings.verdicts:
        assert verdict.sentence.removeprefix(f"{verdict.workload}: ") in text
    for footnote in findings.footnotes:
        assert footnote.message in text
    for caution in findings.cautions:
        assert caution.message in text
    for run_id in findings.run_ids:
        assert run_id in text
    assert "1 failed" in text or "2 failed" in text
    assert "the dataset does not fit <on> the device" in text


def test_every_footnote_mark_points_at_a_footnote() -> None:
    page = Page(html.render(example_findings()))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_nothing_is_loaded_and_nothing_runs() -> None:
    text = html.render(example_findings())
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not names & {"src", "srcset", "xlink:href", "action"}
    assert not any(name.startswith("on") for name in names)
    assert "url(" not in text
    assert "@import" not in text
    assert not re.search(r"https?:|//[a-z]", text)
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")


def test_names_are_text_and_never_elements() -> None:
    # Guards know built-in workloads by their names; a made-up one says the same in both.
    told = GuardFinding(kind=GuardKind.SANITY, code="x", message="of x")
    plain = Page(html.render(msgspec.structs.replace(make_findings(), guards=(told,))))
    hostile = make_findings(("a", HOSTILE), workload=f"w {HOSTILE}")
    hostile = msgspec.structs.replace(
        hostile,
        suite_name=HOSTILE,
        description=HOSTILE,
        run_ids=(HOSTILE,),
        guards=(msgspec.structs.replace(told, message=HOSTILE),),
    )
    page = Page(html.render(hostile))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    assert [sorted(a) for _, a in page.elements] == [sorted(a) for _, a in plain.elements]
    assert HOSTILE in " ".join(page.words)


def test_every_picture_is_well_formed_and_told_aloud() -> None:
    text = html.render(make_findings(("a", AWKWARD, HOSTILE)))
    pictures = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    assert pictures
    for picture in pictures:
        root = ET.fromstring(picture)
        if root.get("aria-hidden") == "true":
            continue
        assert root.get("role") == "img"
        assert root[0].tag == "title"
        assert root[0].text
        assert root[1].tag == "desc"


def test_emulated_storage_is_labelled_wherever_the_environment_stands() -> None:
    text = html.render(example_findings())
    rows = re.findall(rf"<span class=\"who\"><i [^>]*></i>{EMULATED}(.*?)</span>", text)
    chips = re.findall(rf"(?:</svg> |<strong>){EMULATED}(.*?)</li>", text, re.DOTALL)
    assert len(rows) > 4
    assert len(chips) > 3
    assert all("emulated" in rest for rest in (*rows, *chips))
    assert f"<title>{EMULATED} (emulated), 8 clients: " in text


def test_a_skipped_environment_is_shown_with_its_reason() -> None:
    records = [
        make_record(make_trial(environment="a")),
        make_record(make_trial(environment="gp3"), Skipped(reason="no right to make a <device>")),
    ]
    text = Page(html.render(analyse([make_run(records)]))).text
    assert "gp3 not measured 1 skipped: no right to make a <device>" in text


def test_too_few_trials_are_drawn_hollow_and_said_so() -> None:
    few, enough = (html.render(make_findings(repeats=n)) for n in (3, 6))
    assert 'class="mark range"' in few
    assert "fewer than 6 trials, so no interval" in few
    assert "3 pairs, 6 are needed" in few
    assert 'class="mark range"' not in enough
    assert "fewer than 6 trials, so no interval" not in enough


def test_findings_without_a_measurement_make_a_page() -> None:
    records = [make_record(make_trial(), Skipped(reason="the disk is full"))]
    text = Page(html.render(analyse([make_run(records)]))).text
    assert "No trial was measured" in text
    assert "the disk is full" in text


def test_a_single_environment_has_no_comparison() -> None:
    page = Page(html.render(make_findings(("a",))))
    assert "comparison" not in {a.get("id") for _, a in page.elements}


def test_the_page_is_the_same_every_time() -> None:
    assert html.render(example_findings()) == html.render(example_findings())


def test_a_thousand_trials_fit_and_are_quick() -> None:
    # 500 cells of two trials: the more cells, the larger the page.
    findings = make_findings(
        ("a", "b", "c", "d"), clients=tuple(range(1, 126)), repeats=2, length=60
    )
    assert findings.measured_count == 1000
    started_s = time.process_time()
    text = html.render(findings)
    assert time.process_time() - started_s < 1
    assert len(text.encode()) < 2_000_000
    assert "of every" in Page(text).text


def test_thinning_keeps_the_one_second_that_matters() -> None:
    points = [(float(second), 1000.0) for second in range(3600)]
    points[1234] = (1234.0, 3.0)
    points[2345] = (2345.0, 4000.0)
    kept = thin(points, 240)
    assert len(kept) <= 240
    assert {points[1234], points[2345]} <= set(kept)
    assert list(kept) == sorted(kept)


def test_what_fits_is_not_thinned() -> None:
    points = [(float(second), 1.0) for second in range(60)]
    assert thin(points, 60) == tuple(points)


@pytest.mark.parametrize(("length", "said"), [(60, 1), (600, 5)])
def test_the_page_says_how_it_was_thinned(length: int, said: int) -> None:
    series = SecondsSeries(
        environment="a",
        environment_index=0,
        trial_id="t",
        repeat_index=0,
        second=tuple(range(length)),
        tps_per_s=tuple(float(s) for s in range(length)),
        p99_s=(None,) * length,
    )
    panel = SecondsPanel(title="w", workload="w", clients=1, threads=1, series=(series,))
    styles = {"a": html_figures.Style(index=0, label="a")}
    drawn = html_figures.draw_seconds((panel,), styles)
    assert drawn.most_seconds_per_bucket == said
    curve = re.findall(r'points="([^"]*)"', drawn.drawings[0].svg)
    assert len(curve) == 1
    assert len(curve[0].split(" ")) == (length if said == 1 else 2 * length // said)
