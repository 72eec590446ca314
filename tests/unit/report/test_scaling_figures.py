from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest

from groundspeed.report import scaling_svg
from groundspeed.report.scaling_view import scaling_figures, scaling_sentence
from tests.evident import evident_findings, make_scaling
from tests.examples import AWKWARD, PIPED


def test_the_curve_runs_through_what_was_fitted() -> None:
    scaling = make_scaling()
    figure = scaling_figures(evident_findings())[0]
    curve = dict(figure.curve)
    first, last = min(curve), max(curve)
    assert (first, last) == (pytest.approx(1), pytest.approx(64))
    fitted = {p.clients: p.fitted_per_s for p in scaling.points}
    assert curve[first] == pytest.approx(fitted[1])
    assert curve[last] == pytest.approx(fitted[64])
    assert max(curve, key=curve.__getitem__) == pytest.approx(32, rel=0.1)


def test_a_fit_is_told_with_its_intervals() -> None:
    assert scaling_sentence(make_scaling()) == (
        "About 11 clients reach 90% of the peak; throughput turns down beyond about 32 clients; "
        "fit: 900/s with one client, contention 3.0% [2.1%, 4.2%], "
        "crosstalk 0.095% [0.07%, 0.12%], off by 2.1%."
    )
    rising = msgspec.structs.replace(make_scaling(), peak_clients=None, sigma_low=None)
    assert "does not turn down in the measured range" in scaling_sentence(rising)
    assert "contention 3.0%, crosstalk" in scaling_sentence(rising)


def test_no_fit_says_why_and_has_no_curve() -> None:
    figure = scaling_figures(evident_findings())[1]
    assert figure.environment == AWKWARD
    assert figure.curve == ()
    assert figure.sentence == "No scaling law fitted: a plateau made by a cap, from 8 clients on."


def test_two_numbers_of_clients_are_no_figure() -> None:
    few = make_scaling(why="2 numbers of clients to fit to, it takes 4")
    few = msgspec.structs.replace(few, points=few.points[:2])
    findings = msgspec.structs.replace(evident_findings(), scalings=(few, make_scaling(AWKWARD)))
    assert [figure.environment for figure in scaling_figures(findings)] == [AWKWARD]


def test_marks_outside_of_the_picture_are_told_and_not_drawn() -> None:
    far = msgspec.structs.replace(make_scaling(), peak_clients=400.0)
    findings = msgspec.structs.replace(evident_findings(), scalings=(far,))
    (figure,) = scaling_figures(findings)
    assert figure.peak_clients is None
    assert figure.knee_clients == 11.2
    assert "beyond about 400 clients" in figure.sentence


def test_points_are_drawn_at_their_clients_and_height() -> None:
    figures = scaling_figures(evident_findings())
    figure = figures[0]
    assert figure.environment == PIPED
    root = ET.fromstring(scaling_svg.draw(figure, figures, 0))
    dots = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in root.iter("circle")]
    assert len(dots) == len(figure.points) == 7
    # Clients double from dot to dot, on a log axis.
    steps = [b[0] - a[0] for a, b in itertools.pairwise(dots)]
    assert steps == pytest.approx([steps[0]] * 6, abs=0.2)
    floor = next(
        float(re.findall(r"M[\d.]+ ([\d.]+)H", p.get("d", ""))[0])
        for p in root.iter("path")
        if p.get("class") == "axis"
    )
    heights = [(floor - y) / tps for (_, y), (_, tps, _) in zip(dots, figure.points, strict=True)]
    assert heights == pytest.approx([heights[-1]] * 7, rel=0.02)


def test_what_the_fit_left_out_is_hollow_and_knee_and_peak_are_named() -> None:
    figures = scaling_figures(evident_findings())
    root = ET.fromstring(scaling_svg.draw(figures[0], figures, 0))
    marks = [g for g in root.iter("g") if (g.get("class") or "").startswith("mark")]
    assert [("range" in (g.get("class") or "")) for g in marks] == [False] * 6 + [True]
    words = {t.text for t in root.iter("text") if t.get("class") == "landmark"}
    assert words == {"knee 11", "peak 32"}
    # Without a fit there is nothing to be left out of.
    bare = ET.fromstring(scaling_svg.draw(figures[1], figures, 1))
    assert not [g for g in bare.iter("g") if "range" in (g.get("class") or "")]
