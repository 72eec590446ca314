"""Time lines show what was seen: the right trial, the right device, values at their place."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import msgspec
import pytest

from groundspeed.analyse import SecondsLine
from groundspeed.record import Series
from groundspeed.record.evidence import EventKind, ServerEvent
from groundspeed.report import timeline_svg
from groundspeed.report.evidence_shapes import Timeline, TimelinePanel, Track, TrackKind
from groundspeed.report.timeline_view import (
    MOST_TIMELINES,
    by_representative,
    timeline,
    timeline_groups,
)
from tests.evident import (
    HOSTILE,
    evident_findings,
    make_course,
    make_rows,
    make_trial_evidence,
)
from tests.examples import EMULATED, example_findings

LEFT, RIGHT = 84.0, 986.0


def make_line(length: int, *, log_sampling_ratio: float = 1.0) -> SecondsLine:
    return SecondsLine(
        environment="a",
        workload="tpcb-like",
        clients=8,
        threads=1,
        trial_id="t",
        repeat_index=0,
        log_sampling_ratio=log_sampling_ratio,
        rows=make_rows(length, 1000.0),
    )


def make_timeline(length: int = 60, **changes: object) -> Timeline:
    trial = make_trial_evidence(length=length)
    made = timeline(trial, make_line(length), label="a", cell="8 clients")
    return msgspec.structs.replace(made, **changes)


def parse(text: str) -> ET.Element:
    return ET.fromstring(text)


def points_of(path: ET.Element) -> list[tuple[float, float]]:
    pairs = re.findall(r"(-?[\d.]+),(-?[\d.]+)", path.get("d", ""))
    return [(float(x), float(y)) for x, y in pairs]


def lines_of(root: ET.Element, style: str) -> list[ET.Element]:
    found = [p for p in root.iter("path") if p.get("class") == style]
    # Keys of a legend have no points.
    return [p for p in found if points_of(p)]


class TestChoice:
    def test_the_median_trial_stands_for_its_cell(self) -> None:
        trials = [
            make_trial_evidence(f"t{i}", repeat_index=i, tps_per_s=tps)
            for i, tps in enumerate((30.0, 10.0, 20.0))
        ]
        assert [t.trial_id for t in by_representative(trials)] == ["t2", "t0", "t1"]

    def test_of_an_even_number_it_is_the_slower_one_and_unknown_ones_come_last(self) -> None:
        speeds = (40.0, float("nan"), 10.0, 20.0, 30.0)
        trials = [
            make_trial_evidence(f"t{i}", repeat_index=i, tps_per_s=tps)
            for i, tps in enumerate(speeds)
        ]
        assert by_representative(trials)[0].trial_id == "t3"

    def test_trials_whose_throughput_was_not_told_have_one_too(self) -> None:
        trials = [make_trial_evidence(f"t{i}", tps_per_s=float("nan")) for i in range(2)]
        assert len(by_representative(trials)) == 2

    def test_every_cell_has_its_picture_before_any_has_a_second_one(self) -> None:
        groups = timeline_groups(evident_findings())
        assert [g.first.environment for g in groups[:3]] == [
            c.environment for c in evident_findings().cells[:3]
        ]
        assert sum(1 + len(g.rest) for g in groups) == len(evident_findings().trials)
        assert all(len(g.others) + g.undrawn_count == len(g.rest) for g in groups)

    def test_there_are_never_more_pictures_than_a_page_bears(self) -> None:
        trials = tuple(
            msgspec.structs.replace(
                make_trial_evidence(f"t{c}.{i}", repeat_index=i, tps_per_s=100.0 + i), clients=c
            )
            for c in range(1, 31)
            for i in range(5)
        )
        groups = timeline_groups(msgspec.structs.replace(example_findings(), trials=trials))
        assert len(groups) == 30
        assert sum(1 + len(g.others) for g in groups) == MOST_TIMELINES
        assert sum(g.undrawn_count for g in groups) == 150 - MOST_TIMELINES


class TestPanels:
    def test_all_that_was_seen_has_a_panel_and_zero_waits_have_none(self) -> None:
        panels = {p.title: p for p in make_timeline().panels}
        assert list(panels) == ["TPS", "p99", "Waits", "IOPS", "Queue depth", "CPU"]
        assert [t.label for t in panels["Waits"].tracks] == ["CPU", "IO", "LWLock", "Lock"]
        assert [t.label for t in panels["CPU"].tracks] == [
            "server",
            "load tool",
            "groundspeed",
            "others",
        ]

    def test_what_was_not_seen_has_no_panel(self) -> None:
        trial = msgspec.structs.replace(make_trial_evidence(), series=Series())
        assert timeline(trial, None, label="a", cell="c").panels == ()
        assert [p.title for p in timeline(trial, make_line(5), label="a", cell="c").panels] == [
            "TPS",
            "p99",
        ]

    def test_an_emulated_device_stands_before_the_real_disk(self) -> None:
        findings = evident_findings()
        trial = next(t for t in findings.trials if t.environment == EMULATED)
        panels = {p.title: p for p in timeline(trial, None, label="a", cell="c").panels}
        assert "emulated" in panels["IOPS"].unit
        assert panels["IOPS"].tracks[0].values == (60.0,) * 5
        real = msgspec.structs.replace(trial, storage_work=None)
        panels = {p.title: p for p in timeline(real, None, label="a", cell="c").panels}
        assert "emulated" not in panels["IOPS"].unit
        assert panels["IOPS"].tracks[0].values == trial.series.column("disk_reads_per_s")

    def test_counts_of_a_sampled_log_are_scaled(self) -> None:
        trial = make_trial_evidence()
        sampled = timeline(trial, make_line(5, log_sampling_ratio=0.1), label="a", cell="c")
        whole = timeline(trial, make_line(5), label="a", cell="c")
        tps = [t.panels[0].tracks[0].values[0] or 0 for t in (sampled, whole)]
        assert tps[0] == pytest.approx(10 * tps[1])

    def test_events_stalls_and_the_steady_state_are_marked(self) -> None:
        lanes = {lane.label: lane for lane in make_timeline(60).lanes}
        assert list(lanes) == ["checkpoint", "autovacuum", "WAL switch", "stall", "steady"]
        checkpoint = lanes["checkpoint"].spans[0]
        assert (checkpoint.from_s, checkpoint.to_s) == (21.0, 33.0)
        assert "requested" in checkpoint.text
        assert (lanes["stall"].spans[0].from_s, lanes["stall"].spans[0].to_s) == (2.0, 3.0)
        assert lanes["steady"].spans[0].from_s == 1.0

    def test_a_trial_that_never_was_steady_says_so(self) -> None:
        course = msgspec.structs.replace(make_course(), steady_from_s=None)
        trial = msgspec.structs.replace(make_trial_evidence(), course=course)
        lane = timeline(trial, None, label="a", cell="c").lanes[-1]
        assert (lane.label, lane.spans, lane.told) == ("steady", (), "never")


class TestDrawing:
    def test_values_are_drawn_at_their_second_and_height(self) -> None:
        values = (0.0, 50.0, None, 100.0, 100.0)
        track = Track(label="x", style="t0", values=values)
        panel = TimelinePanel(title="x", unit="things", kind=TrackKind.LINES, tracks=(track,))
        root = parse(timeline_svg.draw(make_timeline(panels=(panel,), length_s=5.0), 480))
        (line,) = lines_of(root, "line t0")
        points = points_of(line)
        px_per_s = (RIGHT - LEFT) / 5
        assert [x for x, _ in points] == pytest.approx(
            [LEFT + (i + 0.5) * px_per_s for i in (0, 1, 3, 4)], abs=0.06
        )
        floor, half, most = (points[i][1] for i in (0, 1, 2))
        assert half == pytest.approx((floor + most) / 2, abs=0.1)
        # Where nothing is known, nothing is drawn.
        assert line.get("d", "").count("M") == 2

    def test_a_second_alone_is_a_dot(self) -> None:
        track = Track(label="x", style="t0", values=(None, 3.0, None))
        panel = TimelinePanel(title="x", unit="things", kind=TrackKind.LINES, tracks=(track,))
        root = parse(timeline_svg.draw(make_timeline(panels=(panel,)), 480))
        (line,) = lines_of(root, "line t0")
        assert line.get("d", "").endswith("h0")

    def test_areas_are_stacked_from_the_first_track_up(self) -> None:
        tracks = tuple(
            Track(label=s, style=s, values=(height, height))
            for s, height in (("w-cpu", 1.0), ("w-io", 2.0), ("w-lock", 3.0))
        )
        panel = TimelinePanel(title="x", unit="sessions", kind=TrackKind.STACK, tracks=tracks)
        root = parse(timeline_svg.draw(make_timeline(panels=(panel,), length_s=2.0), 480))
        areas = [p for p in root.iter("path") if (p.get("class") or "").startswith("area")]
        # The topmost is painted first, so that the ones below it show.
        assert [a.get("class") for a in areas] == ["area w-lock", "area w-io", "area w-cpu"]
        heights = {}
        for area in areas:
            corners = points_of(area)
            heights[area.get("class")] = corners[0][1] - corners[1][1]
        assert heights["area w-io"] == pytest.approx(3 * heights["area w-cpu"], abs=0.2)
        assert heights["area w-lock"] == pytest.approx(6 * heights["area w-cpu"], abs=0.2)

    def test_bands_are_as_long_as_their_events(self) -> None:
        root = parse(timeline_svg.draw(make_timeline(60), 480))
        (band,) = [r for r in root.iter("rect") if r.get("class") == "band e-checkpoint"]
        px_per_s = (RIGHT - LEFT) / 60
        assert float(band.get("x", "")) == pytest.approx(LEFT + 21 * px_per_s, abs=0.1)
        assert float(band.get("width", "")) == pytest.approx(12 * px_per_s, abs=0.1)
        assert float(band.get("height", "")) > 400

    def test_events_outside_of_the_trial_stay_in_the_picture(self) -> None:
        events = tuple(
            ServerEvent(kind=EventKind.CHECKPOINT, at_s=at_s, elapsed_s=50.0)
            for at_s in (-20.0, 55.0, 70.0)
        )
        trial = make_trial_evidence(length=60)
        trial = msgspec.structs.replace(
            trial, evidence=msgspec.structs.replace(trial.evidence, events=events)
        )
        root = parse(timeline_svg.draw(timeline(trial, make_line(60), label="a", cell="c"), 480))
        for rect in root.iter("rect"):
            x, width = float(rect.get("x", "")), float(rect.get("width", ""))
            assert x >= LEFT - 0.1
            assert x + width <= RIGHT + 0.1

    def test_thinning_keeps_the_second_that_matters(self) -> None:
        values = [1000.0] * 3600
        values[1234] = 0.0
        line = Track(label="x", style="t0", values=tuple(values))
        panels = tuple(
            TimelinePanel(title="x", unit="things", kind=kind, tracks=(line,))
            for kind in (TrackKind.LINES, TrackKind.STACK)
        )
        root = parse(timeline_svg.draw(make_timeline(panels=panels, length_s=3600.0), 100))
        (curve,) = lines_of(root, "line t0")
        (area,) = lines_of(root, "area t0")
        for path in (curve, area):
            points = points_of(path)
            assert len(points) <= 110
            deep = max(y for _, y in points)
            at = [x for x, y in points if y == deep]
            there = LEFT + 1234.5 * (RIGHT - LEFT) / 3600
            assert any(abs(x - there) < 0.2 for x in at)

    def test_names_are_text_and_the_picture_is_told_aloud(self) -> None:
        made = make_timeline(caption=HOSTILE, sentence=HOSTILE)
        root = parse(timeline_svg.draw(made, 480))
        assert root[0].text == HOSTILE
        assert not list(root.iter("script"))
        assert root.get("role") == "img"

    def test_nothing_seen_is_a_picture_as_well(self) -> None:
        root = parse(timeline_svg.draw(make_timeline(panels=()), 480))
        assert lines_of(root, "line t0") == []

    def test_the_more_pictures_the_fewer_points(self) -> None:
        few, many = ([make_timeline()] * n for n in (1, 100))
        assert timeline_svg.points_each(few) == 480
        assert 24 <= timeline_svg.points_each(many) < 480
        assert timeline_svg.points_each([]) == 480
