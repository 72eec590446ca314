"""Evidence on the page: time lines of trials and the scaling of environments, drawn and grouped."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup

from groundspeed.report import capacity_svg, scaling_svg, timeline_svg
from groundspeed.report.evidence_shapes import TrialLine
from groundspeed.report.page_templates import drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.report.capacity_shapes import CapacityFigure
    from groundspeed.report.evidence_shapes import ScalingFigure, Timeline, TimelineGroup
    from groundspeed.report.html_figures import Style


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One drawing with its words."""

    caption: str
    sentence: str
    drawing: Markup
    # Of a time line: what `groundspeed why` takes.
    trial_id: str = ""


class CellTimelines(msgspec.Struct, frozen=True, kw_only=True):
    """The trial that stands for a cell, and the others that fold away."""

    first: Picture
    others: tuple[Picture, ...]
    rest: tuple[TrialLine, ...]
    undrawn_count: int


class WorkloadTimelines(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of one workload."""

    workload: str
    cells: tuple[CellTimelines, ...]


class WorkloadCapacities(msgspec.Struct, frozen=True, kw_only=True):
    """Latency against the rate of all environments under one workload, side by side."""

    workload: str
    pictures: tuple[Picture, ...]


class WorkloadScaling(msgspec.Struct, frozen=True, kw_only=True):
    """How all environments scale under one workload, side by side."""

    workload: str
    pictures: tuple[Picture, ...]


def draw_timelines(groups: Sequence[TimelineGroup]) -> tuple[WorkloadTimelines, ...]:
    """Draw all time lines, the fewer points each the more of them there are."""
    most = timeline_svg.points_each(t for g in groups for t in (g.first, *g.others))

    def picture(timeline: Timeline) -> Picture:
        return Picture(
            caption=timeline.caption,
            sentence=timeline.sentence,
            trial_id=timeline.trial_id,
            drawing=drawn(timeline_svg.draw(timeline, most)),
        )

    return tuple(
        WorkloadTimelines(
            workload=workload,
            cells=tuple(
                CellTimelines(
                    first=picture(group.first),
                    others=tuple(picture(timeline) for timeline in group.others),
                    rest=group.rest,
                    undrawn_count=group.undrawn_count,
                )
                for group in members
            ),
        )
        for workload, members in groupby(groups, key=attrgetter("workload"))
    )


def draw_scalings(
    figures: Sequence[ScalingFigure], styles: Mapping[str, Style]
) -> tuple[WorkloadScaling, ...]:
    """Draw how environments scale, side by side for each workload."""
    found: list[WorkloadScaling] = []
    for workload, group in groupby(figures, key=attrgetter("workload")):
        members = tuple(group)
        pictures = tuple(
            Picture(
                caption=figure.label,
                sentence=figure.sentence,
                drawing=drawn(scaling_svg.draw(figure, members, styles[figure.environment].index)),
            )
            for figure in members
        )
        found.append(WorkloadScaling(workload=workload, pictures=pictures))
    return tuple(found)


def draw_capacities(
    figures: Sequence[CapacityFigure], styles: Mapping[str, Style]
) -> tuple[WorkloadCapacities, ...]:
    """Draw latency against the rate, side by side for each workload."""
    found: list[WorkloadCapacities] = []
    for workload, group in groupby(figures, key=attrgetter("workload")):
        members = tuple(group)
        pictures = tuple(
            Picture(
                caption=figure.caption,
                sentence=figure.sentence,
                drawing=drawn(capacity_svg.draw(figure, members, styles[figure.environment].index)),
            )
            for figure in members
        )
        found.append(WorkloadCapacities(workload=workload, pictures=pictures))
    return tuple(found)
