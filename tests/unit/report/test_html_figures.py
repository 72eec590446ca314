"""What is drawn on the page, read back from its pixels, is what the findings hold."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from groundspeed.report import html
from tests.examples import EMULATED, example_findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.analyse import Estimate

# Coordinates are written to 0.1 px; a figure that is off by 10% is far outside.
WITHIN_RATIO = 0.02
UNITS = {"transactions/s": 1.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6}


def pictures(repeats: int) -> list[ET.Element]:
    text = html.render(example_findings(repeats))
    return [ET.fromstring(svg) for svg in re.findall(r"<svg role.*?</svg>", text, re.DOTALL)]


def value_axis(root: ET.Element) -> Callable[[float], float]:
    """Make the inverse of a drawn y axis from two of its own labels: pixels to base units."""
    words = next(t.text or "" for t in root.iter("text") if t.get("class") == "unit")
    labels = [t.text or "" for t in root.iter("text") if t.get("text-anchor") == "end"]
    lines = [p.get("d", "") for p in root.iter("path") if p.get("class") == "grid"]
    ticks = [float(label.replace(",", "")) for label in labels]
    heights = [float(line.split(" ")[1].split("H")[0]) for line in lines]
    unit = UNITS[words.removesuffix(" (log scale)")]

    def value(y: float) -> float:
        share = (y - heights[0]) / (heights[-1] - heights[0])
        if words.endswith("(log scale)"):
            return ticks[0] * math.exp(share * math.log(ticks[-1] / ticks[0])) * unit
        return (ticks[0] + share * (ticks[-1] - ticks[0])) * unit

    return value


def drawn_marks(root: ET.Element) -> dict[str, tuple[float, tuple[float, float] | None]]:
    """Read the marks of a chart by who they stand for: the value and the ends of the whisker."""
    value = value_axis(root)
    marks: dict[str, tuple[float, tuple[float, float] | None]] = {}
    for trace in (g for g in root.iter("g") if g.get("class", "").startswith("trace")):
        joined = next(trace.iter("polyline")).get("points", "").split(" ")
        groups = [g for g in trace.iter("g") if g.get("class", "").startswith("mark")]
        for group, point in zip(groups, joined, strict=True):
            who = (group[0].text or "").split(":")[0]
            whisker = [p.get("d", "") for p in group.iter("path") if p.get("class") == "whisker"]
            ends = None
            if whisker:
                low, high = whisker[0].split(" ")[1].split("M")[0].split("V")
                ends = value(float(low)), value(float(high))
            marks[who] = value(float(point.split(",")[1])), ends
    return marks


@pytest.mark.parametrize("repeats", [3, 7])
@pytest.mark.parametrize("metric", ["Throughput", "p99 latency"])
def test_marks_and_whiskers_are_drawn_at_the_values_of_their_cells(
    repeats: int, metric: str
) -> None:
    findings = example_findings(repeats)
    charts = {
        root[0].text or "": drawn_marks(root)
        for root in pictures(repeats)
        if "against clients" in (root[0].text or "")
    }
    for cell in findings.cells:
        estimate: Estimate = cell.tps_per_s if metric == "Throughput" else cell.p99_s
        title = next(t for t in charts if t.startswith(metric) and t.endswith(cell.workload))
        label = cell.environment + (" (emulated)" if cell.environment == EMULATED else "")
        clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
        median, ends = charts[title][f"{label}, {clients}"]
        assert median == pytest.approx(estimate.median, rel=WITHIN_RATIO)
        expected = (
            (estimate.minimum, estimate.maximum)
            if estimate.low is None or estimate.high is None
            else (estimate.low, estimate.high)
        )
        assert ends == pytest.approx(expected, rel=WITHIN_RATIO)


def test_dots_are_drawn_at_the_ratios_of_their_comparisons() -> None:
    findings = example_findings()
    roots = pictures(9)
    axis = next(root for root in roots if "Ratio of TPS" in (root[0].text or ""))
    places = {float(t.text or ""): float(t.get("x", "")) for t in axis.iter("text")}
    strips = [root for root in roots if " against disk|a, " in (root[0].text or "")]
    per_px = math.log(max(places) / min(places)) / (max(places.values()) - min(places.values()))
    for comparison, root in zip(findings.comparisons, strips, strict=True):
        dot = float(next(root.iter("circle")).get("cx", ""))
        drawn = math.exp((dot - places[1.0]) * per_px)
        assert drawn == pytest.approx(comparison.tps_ratio, rel=WITHIN_RATIO)
        assert comparison.answer.name.lower() in next(root.iter("g")).get("class", "")
