"""Charts are drawn where the numbers say, and whatever a name holds they stay well-formed."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundspeed.report import svg, svg_axes

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>\"'&\x00]]>"


def parse(text: str) -> ET.Element:
    # Inside HTML the name space is implied; a parser of XML has to be told.
    return ET.fromstring(text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def make_axis(low: float, high: float, kind: svg_axes.ScaleKind) -> svg_axes.Axis:
    ticks = tuple((v, svg_axes.number(v)) for v in (low, high))
    return svg_axes.Axis(kind=kind, low=low, high=high, ticks=ticks, unit="things")


def make_mark(
    x: float, y: float, spread: float = 0.0, whisker: svg.Whisker = svg.Whisker.INTERVAL
) -> svg.Mark:
    return svg.Mark(x=x, y=y, low=y - spread, high=y + spread, whisker=whisker, title="a mark")


def draw_marks(*traces: svg.Trace, title: str = "title", top: float = 1000.0) -> ET.Element:
    return parse(
        svg.interval_chart(
            traces,
            x=svg_axes.counts(
                sorted({round(m.x) for t in traces for m in t.marks}) or [1],
                "clients",
                width_px=260,
            ),
            y=make_axis(0.0, top, svg_axes.ScaleKind.LINEAR),
            title=title,
            description="description",
        )
    )


def tick_heights(root: ET.Element) -> dict[str, float]:
    """Read back where the drawing itself puts each value of its y axis."""
    labels = [t for t in root.iter(f"{SVG}text") if t.get("text-anchor") == "end"]
    lines = [p for p in root.iter(f"{SVG}path") if p.get("class") == "grid"]
    heights = [float(p.get("d", "").split(" ")[1].split("H")[0]) for p in lines]
    return {label.text or "": height for label, height in zip(labels, heights, strict=True)}


class TestTicks:
    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (0, 10, (0, 2, 4, 6, 8, 10)),
            (0, 100, (0, 20, 40, 60, 80, 100)),
            (0, 0.3, (0, 0.1, 0.2, 0.3)),
            (0, 4321, (0, 1000, 2000, 3000, 4000)),
            (0.93, 1.08, (0.95, 1.0, 1.05)),
        ],
    )
    def test_linear_ticks_are_round(
        self, low: float, high: float, expected: tuple[float, ...]
    ) -> None:
        assert svg_axes.linear_ticks(low, high) == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (0.4, 6, (0.5, 1, 2, 5)),
            (0.9, 12_000, (1, 10, 100, 1000, 10_000)),
            (0.9, 1.1, (0.9, 0.95, 1.0, 1.05, 1.1)),
        ],
    )
    def test_log_ticks_are_round(
        self, low: float, high: float, expected: tuple[float, ...]
    ) -> None:
        assert svg_axes.log_ticks(low, high) == pytest.approx(expected)

    @given(st.floats(1e-9, 1e12), st.floats(1.001, 1e9))
    @example(0.95, 1.1)
    def test_log_ticks_are_few_ascending_and_inside(self, low: float, ratio: float) -> None:
        high = low * ratio
        ticks = svg_axes.log_ticks(low, high)
        assert 1 <= len(ticks) <= 7
        assert all(a < b for a, b in pairwise(ticks))
        assert all(low * 0.999999 <= t <= high * 1.000001 for t in ticks)

    @given(st.floats(1e-9, 1e12))
    def test_an_axis_from_zero_holds_its_values_and_ends_on_a_tick(self, most: float) -> None:
        axis = svg_axes.from_zero([most], "s")
        assert axis.low == 0
        assert axis.high >= most * (1 - 1e-9)
        assert axis.high < 1.5 * most or len(axis.ticks) == 2
        assert axis.ticks[-1][0] == pytest.approx(axis.high)
        assert len(axis.ticks) <= 6

    @pytest.mark.parametrize("values", [[], [0.0]])
    def test_an_axis_without_values_can_still_be_drawn(self, values: list[float]) -> None:
        axis = svg_axes.from_zero(values, "s")
        assert axis.low < axis.high

    def test_numbers_have_thousands_separators_and_no_binary_dust(self) -> None:
        assert svg_axes.number(120_000) == "120,000"
        assert svg_axes.number(0.1 + 0.2) == "0.3"

    @given(st.sets(st.integers(1, 2000), min_size=1, max_size=40))
    def test_labels_of_counts_never_touch(self, counts: set[int]) -> None:
        axis = svg_axes.counts(counts, "clients", width_px=260)
        assert [value for value, _ in axis.ticks] == sorted(counts)
        assert axis.ticks[0][1]
        place = axis.scale(0, 260).px
        shown = [
            (place(v), len(label) * svg_axes.CHARACTER_PX / 2) for v, label in axis.ticks if label
        ]
        assert all(a + a_half < b - b_half for (a, a_half), (b, b_half) in pairwise(shown))


class TestScale:
    @pytest.mark.parametrize("kind", svg_axes.ScaleKind)
    def test_the_ends_fall_on_the_ends(self, kind: svg_axes.ScaleKind) -> None:
        scale = make_axis(2.0, 50.0, kind).scale(10.0, 110.0)
        assert scale.px(2.0) == pytest.approx(10.0)
        assert scale.px(50.0) == pytest.approx(110.0)

    def test_equal_steps_are_equal_on_a_linear_and_equal_ratios_on_a_log_axis(self) -> None:
        linear = make_axis(0.0, 8.0, svg_axes.ScaleKind.LINEAR).scale(0.0, 80.0)
        log = make_axis(1.0, 8.0, svg_axes.ScaleKind.LOG).scale(0.0, 30.0)
        assert linear.px(2.0) == pytest.approx(20.0)
        assert [log.px(v) for v in (1, 2, 4, 8)] == pytest.approx([0, 10, 20, 30])


class TestIntervalChart:
    @given(st.floats(1.0, 900.0))
    @example(500.0)
    def test_a_mark_stands_where_its_own_axis_says(self, value: float) -> None:
        trace = svg.Trace(style_index=0, marks=(make_mark(1, value),))
        root = draw_marks(trace)
        heights = tick_heights(root)
        dot = next(root.iter(f"{SVG}circle"))
        per_px = 1000 / (heights["0"] - heights["1,000"])
        drawn = (heights["0"] - float(dot.get("cy", "nan"))) * per_px
        # 0.1 px is how finely coordinates are written; 10% off would be far out at every value.
        assert drawn == pytest.approx(value, abs=0.11 * per_px)

    def test_the_whisker_spans_low_to_high(self) -> None:
        root = draw_marks(svg.Trace(style_index=0, marks=(make_mark(1, 500, spread=250),)))
        heights = tick_heights(root)
        whisker = next(p for p in root.iter(f"{SVG}path") if p.get("class") == "whisker")
        low, high = whisker.get("d", "").split("M")[1].split(" ")[1].split("V")
        per_px = 1000 / (heights["0"] - heights["1,000"])
        assert (heights["0"] - float(low)) * per_px == pytest.approx(250, abs=1)
        assert (heights["0"] - float(high)) * per_px == pytest.approx(750, abs=1)

    def test_a_range_looks_unlike_an_interval(self) -> None:
        def drawn(whisker: svg.Whisker) -> tuple[str, str]:
            root = draw_marks(svg.Trace(style_index=0, marks=(make_mark(1, 5, 2, whisker),)))
            group = next(g for g in root.iter(f"{SVG}g") if "mark" in g.get("class", ""))
            line = next(p for p in group.iter(f"{SVG}path") if p.get("class") == "whisker")
            return group.get("class", ""), line.get("d", "")

        interval_class, interval_line = drawn(svg.Whisker.INTERVAL)
        range_class, range_line = drawn(svg.Whisker.RANGE)
        assert (interval_class, range_class) == ("mark interval", "mark range")
        assert "h6" in interval_line
        assert "h" not in range_line

    @given(st.integers(1, 9), st.sets(st.sampled_from([1, 2, 4, 8, 16, 32]), min_size=1))
    def test_environments_never_stand_on_each_other(
        self, environments: int, clients: set[int]
    ) -> None:
        traces = tuple(
            # Every fourth style is a circle, whose centre is easily read back.
            svg.Trace(style_index=4 * i, marks=tuple(make_mark(c, 5) for c in sorted(clients)))
            for i in range(environments)
        )
        xs = sorted(float(c.get("cx", "nan")) for c in draw_marks(*traces).iter(f"{SVG}circle"))
        assert len(xs) == environments * len(clients)
        assert all(b - a >= 0.7 * 30 / environments * 0.9 for a, b in pairwise(xs))

    def test_it_is_told_aloud_and_escaped(self) -> None:
        root = draw_marks(
            svg.Trace(
                style_index=0,
                marks=(
                    svg.Mark(x=1, y=1, low=1, high=1, whisker=svg.Whisker.RANGE, title=HOSTILE),
                ),
            ),
            title=HOSTILE,
        )
        assert root.get("role") == "img"
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
        assert root[0].text == HOSTILE.replace("\x00", "\ufffd")
        assert not list(root.iter(f"{SVG}script"))

    def test_a_chart_without_marks_is_an_empty_frame(self) -> None:
        assert not list(draw_marks().iter(f"{SVG}circle"))

    @given(st.integers(0, 40))
    def test_every_style_has_a_shape(self, style_index: int) -> None:
        root = parse(svg.swatch(style_index))
        assert [e for e in root.iter() if e.get("class") == "dot"]
        assert root.get("aria-hidden") == "true"


class TestSecondsChart:
    def draw(self, *curves: svg.Curve) -> ET.Element:
        return parse(
            svg.seconds_chart(
                curves,
                x=make_axis(0.0, 60.0, svg_axes.ScaleKind.LINEAR),
                y=make_axis(0.0, 1000.0, svg_axes.ScaleKind.LINEAR),
                title=HOSTILE,
                description=HOSTILE,
            )
        )

    def test_a_curve_goes_through_its_points(self) -> None:
        points = ((0.0, 0.0), (30.0, 500.0), (60.0, 1000.0))
        root = self.draw(svg.Curve(style_index=1, faint=False, points=points))
        heights = tick_heights(root)
        line = next(root.iter(f"{SVG}polyline"))
        drawn = [tuple(map(float, p.split(","))) for p in line.get("points", "").split(" ")]
        ys = [y for _, y in drawn]
        assert ys[0] == pytest.approx(heights["0"], abs=0.11)
        assert ys[1] == pytest.approx((heights["0"] + heights["1,000"]) / 2, abs=0.11)
        assert ys[2] == pytest.approx(heights["1,000"], abs=0.11)
        assert drawn[1][0] == pytest.approx((drawn[0][0] + drawn[2][0]) / 2, abs=0.11)

    def test_faint_curves_lie_behind(self) -> None:
        bold = svg.Curve(style_index=0, faint=False, points=((0, 1), (1, 1)))
        faint = svg.Curve(style_index=0, faint=True, points=((0, 1), (1, 1)))
        lines = list(self.draw(bold, faint).iter(f"{SVG}polyline"))
        assert ["faint" in line.get("class", "") for line in lines] == [True, False]


class TestStrip:
    AXIS = svg_axes.logarithmic([0.5, 4.0], "ratio")

    def draw(self, value: float, low: float, high: float) -> ET.Element:
        ratio = svg.Ratio(value=value, low=low, high=high, whisker=svg.Whisker.INTERVAL)
        return parse(
            svg.strip(ratio, axis=self.AXIS, style="faster", title=HOSTILE, description=HOSTILE)
        )

    @given(st.floats(0.5, 4.0))
    @example(1.1)
    @example(0.9)
    def test_the_dot_stands_at_its_ratio(self, value: float) -> None:
        root = self.draw(value, value, value)
        dot = float(next(root.iter(f"{SVG}circle")).get("cx", "nan"))
        line = next(p for p in root.iter(f"{SVG}path") if p.get("class") == "one")
        one = float(line.get("d", "").removeprefix("M").split(" ")[0])
        # The axis runs over log(4.6 / 0.4348) = 2.359 in 232 px; 10% off would be 9.4 px off.
        assert (dot - one) / 232 * 2.359 == pytest.approx(math.log(value), abs=0.002)

    def test_the_whisker_spans_the_interval(self) -> None:
        root = self.draw(2.0, 1.0, 4.0)
        along = svg.strip_scale(self.AXIS)
        whisker = next(p for p in root.iter(f"{SVG}path") if p.get("class") == "whisker")
        assert whisker.get("d", "").startswith(f"M{along.px(1.0):.1f} 16H{along.px(4.0):.1f}")

    def test_the_head_of_the_table_has_the_ticks(self) -> None:
        root = parse(svg.strip_axis(self.AXIS, title="ratio"))
        along = svg.strip_scale(self.AXIS)
        drawn = {t.text: float(t.get("x", "nan")) for t in root.iter(f"{SVG}text")}
        assert drawn == pytest.approx(
            {label: along.px(v) for v, label in self.AXIS.ticks}, abs=0.06
        )
