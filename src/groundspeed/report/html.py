"""The report as one HTML page that opens without a network, a script or another file.

It lays out what `view` worded and `html_figures` drew, and computes nothing. Names in it are the
user's own: the template escapes all text, `svg` escapes its own, and the page forbids scripts and
requests by its content security policy should both ever fail.
"""

from __future__ import annotations

from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

import groundspeed
from groundspeed.analyse import CONFIDENCE_RATIO, TRIALS_NEEDED, Answer
from groundspeed.report import evidence_html, html_figures, svg
from groundspeed.report.evidence_shapes import GuardMention
from groundspeed.report.facts import label_of
from groundspeed.report.page_templates import drawn, template
from groundspeed.report.view import ComparisonRow, view
from groundspeed.report.why_view import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from groundspeed.analyse import EnvironmentFacts, Findings
    from groundspeed.report.view import Figure, ReportView

# More panels than this fold away by workload, so that the tables stay within reach.
_OPEN_PANEL_COUNT = 12
_OPEN_TIMELINE_COUNT = 3


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """An environment in the legend: its key, its badges and why it has no numbers."""

    name: str
    style: str
    swatch: Markup
    emulated: bool
    baseline: bool
    measured: bool
    # "2 failed, 14 skipped", or empty; the reasons say why.
    missing: str
    reasons: tuple[str, ...]


class RatioRow(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison in words and its strip of the forest plot."""

    words: ComparisonRow
    answer: str
    why: str
    strip: Markup


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and how sure it is; `sure` is empty where nothing was compared."""

    workload: str
    text: str
    sure: str
    decided: bool
    guards: tuple[GuardMention, ...]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one workload, in order."""

    workload: str
    members: tuple[Any, ...]


def render(findings: Findings) -> str:
    """Lay out findings as one self-contained HTML document."""
    page = view(findings)
    styles = _styles(findings, page)
    seconds = html_figures.draw_seconds(page.seconds, styles, page.words)
    axis = html_figures.ratio_axis(findings.comparisons)
    ratios = _ratio_rows(findings, page, styles)
    whys = {row.why for row in ratios if row.why}
    return template("report.html.j2").render(
        page=page,
        version=groundspeed.__version__,
        trials_needed=TRIALS_NEEDED,
        chips=_chips(findings, styles),
        emulated=set(findings.emulated),
        styles={name: svg.style_class(style.index) for name, style in styles.items()},
        verdicts=_verdicts(findings, page),
        comparisons=_grouped(ratios, "words.workload"),
        # Told once above the table where all rows would repeat it.
        shared_why=whys.pop() if len(whys) == 1 else "",
        ratio_intervals=any(c.tps_low is not None for c in findings.comparisons),
        ratio_ranges=any(c.tps_low is None for c in findings.comparisons),
        ratio_axis=drawn(svg.strip_axis(axis, title=f"Ratio of {page.words.rate}, log scale")),
        ratio_lines_px=tuple(svg.strip_scale(axis).px(tick) for tick, _ in axis.ticks),
        capacities=evidence_html.draw_capacities(page.capacity.figures, styles),
        capacity_rows=_grouped(page.capacity.rows, "workload"),
        figures=[_figure(figure, styles) for figure in page.figures],
        seconds=_merged(_grouped(seconds.drawings, "workload")),
        seconds_open=len(seconds.drawings) <= _OPEN_PANEL_COUNT,
        bucket_s=seconds.most_seconds_per_bucket,
        whys=_grouped(page.whys, "workload"),
        scalings=evidence_html.draw_scalings(page.scalings, styles),
        timelines=evidence_html.draw_timelines(page.timelines),
        timelines_open=len(page.timelines) <= _OPEN_TIMELINE_COUNT,
        undrawn_cells=_undrawn_cells(findings, page),
        evident=bool(
            page.whys or page.timelines or page.scalings or findings.guards or page.capacity.rows
        ),
        results=_grouped(page.results.rows, "workload"),
        devices=_grouped(page.devices.rows, "workload"),
        drawn=drawn,
        made=_made(findings),
    )


def _styles(findings: Findings, page: ReportView) -> dict[str, html_figures.Style]:
    """Give every environment its place in the palette; the baseline has the first, the ink."""
    names = sorted(page.environments, key=lambda name: name != findings.baseline)
    return {
        name: html_figures.Style(index=index, label=label_of(name, findings.emulated))
        for index, name in enumerate(names)
    }


def _chips(findings: Findings, styles: Mapping[str, html_figures.Style]) -> tuple[Chip, ...]:
    return tuple(
        Chip(
            name=facts.environment,
            style=svg.style_class(styles[facts.environment].index),
            swatch=drawn(svg.swatch(styles[facts.environment].index)),
            emulated=facts.environment in findings.emulated,
            baseline=facts.environment == findings.baseline,
            measured=facts.measured_count > 0,
            missing=_missing(facts),
            reasons=facts.reasons,
        )
        for facts in sorted(findings.environments, key=lambda f: styles[f.environment].index)
    )


def _missing(facts: EnvironmentFacts) -> str:
    counts = ((facts.failed_count, "failed"), (facts.skipped_count, "skipped"))
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)


def _ratio_rows(
    findings: Findings, page: ReportView, styles: Mapping[str, html_figures.Style]
) -> tuple[RatioRow, ...]:
    """Join each worded row with its numbers."""
    axis = html_figures.ratio_axis(findings.comparisons)
    rows: list[RatioRow] = []
    for words, numbers in zip(page.comparisons.rows, findings.comparisons, strict=True):
        answer, _, why = words.answer_text.partition(": ")
        strip = html_figures.draw_ratio(numbers, styles[words.environment].label, axis)
        rows.append(RatioRow(words=words, answer=answer, why=why, strip=drawn(strip)))
    return tuple(rows)


def _grouped(members: Iterable[Any], key: str) -> tuple[Group, ...]:
    return tuple(
        Group(workload=workload, members=tuple(group))
        for workload, group in groupby(members, key=attrgetter(key))
    )


def _figure(figure: Figure, styles: Mapping[str, html_figures.Style]) -> dict[str, Any]:
    points = [p for panel in figure.panels for line in panel.lines for p in line.points]
    return {
        "title": figure.title,
        "key": figure.metric.key,
        "has_intervals": any(p.low is not None for p in points),
        "has_ranges": any(p.low is None for p in points),
        "rows": _merged(_grouped(html_figures.draw_figure(figure, styles), "workload")),
    }


def _merged(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Give each workload its own row of panels, unless that would leave most of the page empty."""
    if not groups or max(len(group.members) for group in groups) > 1:
        return groups
    members = tuple(chain.from_iterable(group.members for group in groups))
    return (Group(workload="all workloads", members=members),)


def _verdicts(findings: Findings, page: ReportView) -> tuple[Sentence, ...]:
    sentences: list[Sentence] = []
    for verdict, guards in zip(findings.verdicts, page.guards.by_verdict, strict=True):
        answers = [c.answer for c in findings.comparisons if c.workload == verdict.workload]
        decided = sum(answer is not Answer.UNDECIDED for answer in answers)
        sure = (
            f"{decided} of {len(answers)} comparisons decided, {_together(findings)}"
            f" with {CONFIDENCE_RATIO:.0%} confidence"
        )
        sentences.append(
            Sentence(
                workload=verdict.workload,
                # The page names the workload beside the sentence.
                text=verdict.sentence.removeprefix(f"{verdict.workload}: "),
                sure=sure if answers else "",
                decided=verdict.decided,
                guards=guards,
            )
        )
    return tuple(sentences)


def _together(findings: Findings) -> str:
    adjusted = all(comparison.adjusted for comparison in findings.comparisons)
    return "all of the report together" if adjusted else "each"


def _undrawn_cells(findings: Findings, page: ReportView) -> int:
    return len({place_of(trial) for trial in findings.trials}) - len(page.timelines)


def _made(findings: Findings) -> tuple[str, ...]:
    """Say in sentences what the environments have in common in the making."""
    tools = sorted({e.tool_version for e in findings.environments if e.tool_version})
    resets = sorted({e.reset for e in findings.environments if e.reset})
    return (
        *(f"Load was made by {tool}." for tool in tools),
        *(f"State before a trial that writes: {reset}." for reset in resets),
    )
