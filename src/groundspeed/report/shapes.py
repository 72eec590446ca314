"""The shapes of a report: tables of text and figures of numbers. Types without logic.

Table cells are text; figures carry numbers in base units, because a picture needs an axis. All
text is plain: names are the user's own and are escaped by whoever lays them out.
"""

from __future__ import annotations

import msgspec

from groundspeed.analyse import Answer
from groundspeed.plan import TRANSACTIONS, Words
from groundspeed.report.advice_shapes import AdviceView
from groundspeed.report.beside_shapes import BesideView
from groundspeed.report.capacity_shapes import CapacityView
from groundspeed.report.cluster_shapes import ClusterView
from groundspeed.report.evidence_shapes import (
    GuardNotes,
    ScalingFigure,
    TimelineGroup,
    WhyRow,
)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A numbered footnote; `number` counts from 1 and is what rows point at."""

    number: int
    code: str
    text: str


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cell; every text is scaled and worded. `tps_interval` is "-" where n is too small."""

    environment: str
    # The name for people: with "(emulated)" where its storage was.
    label: str
    workload: str
    clients: int
    threads: int
    scale: int
    n: int
    tps: str
    tps_interval: str
    tps_range: str
    # "1,234 [1,200, 1,260]" or "1,234 (n=3, no 95% interval (6 needed); range 1,100 to 1,300)".
    tps_sentence: str
    p50: str
    p95: str
    p99: str
    p999: str
    maximum: str
    failed_transactions: str
    notes: tuple[int, ...]
    # The bottleneck's name, empty without evidence; guards by number.
    bottleneck: str
    guards: tuple[int, ...]


class ResultTable(msgspec.Struct, frozen=True, kw_only=True):
    """All cells. The `varies` fields say whether a column tells anything."""

    rows: tuple[ResultRow, ...]
    threads_vary: bool
    scale_varies: bool
    # False where no row has an interval: then the range is all there is.
    has_intervals: bool


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One environment against the baseline in one cell."""

    workload: str
    clients: int
    threads: int
    scale: int
    baseline: str
    environment: str
    label: str
    pairs: int
    tps_ratio: str
    tps_interval: str
    p99_ratio: str
    p99_interval: str
    answer: Answer
    # "faster", "slower" or "not decided: 3 pairs, 6 are needed for a 95% interval".
    answer_text: str
    # What holds the environment back here, empty without evidence.
    bottleneck: str
    # Guards that touch one of the two cells, by number.
    guards: tuple[int, ...]


class ComparisonTable(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons; empty `rows` where there is one environment."""

    baseline: str
    baseline_label: str
    rows: tuple[ComparisonRow, ...]
    threads_vary: bool
    scale_varies: bool


class DeviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the emulated device of one cell did; waits are of one transaction."""

    environment: str
    label: str
    workload: str
    clients: int
    threads: int
    scale: int
    read_wait: str
    write_wait: str
    sync_wait: str
    # "0 s" where no limit was met.
    throttled_wait: str
    # Requests a second, "1,200 + 340": reads and writes.
    iops: str
    bandwidth: str
    # "3.4 (12.0)": the mean, and the busiest second.
    depth: str
    hit_ratio: str
    credits_left: str


class DeviceTable(msgspec.Struct, frozen=True, kw_only=True):
    """All emulated devices; empty `rows` where none was."""

    rows: tuple[DeviceRow, ...]
    threads_vary: bool
    scale_varies: bool
    has_credits: bool


class FigureMetric(msgspec.Struct, frozen=True, kw_only=True):
    """What the y axis of a figure shows. `key` is `tps` or `p99`; `unit` is a base unit."""

    key: str
    label: str
    unit: str


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One cell in a figure, base units; `low` and `high` are None where n is too small."""

    clients: int
    n: int
    median: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float
    # The median and its interval or range, scaled and worded, for a tooltip or a table.
    text: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One environment in a panel; `environment_index` is its place in `ReportView.environments`."""

    environment: str
    environment_index: int
    points: tuple[Point, ...]


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One workload at one number of threads and one scale, all environments."""

    title: str
    workload: str
    threads: int
    scale: int
    lines: tuple[Line, ...]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A metric against the number of clients."""

    title: str
    metric: FigureMetric
    panels: tuple[Panel, ...]


class SecondsSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One trial second by second; the three tuples have one length. p99 is None without answers."""

    environment: str
    environment_index: int
    trial_id: str
    repeat_index: int
    second: tuple[int, ...]
    tps_per_s: tuple[float, ...]
    p99_s: tuple[float | None, ...]


class SecondsPanel(msgspec.Struct, frozen=True, kw_only=True):
    """All trials of one workload, number of clients and threads."""

    title: str
    workload: str
    clients: int
    threads: int
    series: tuple[SecondsSeries, ...]


class FactRow(msgspec.Struct, frozen=True, kw_only=True):
    """One fact, one text for each environment; `differs` where they are not all the same."""

    fact: str
    values: tuple[str, ...]
    differs: bool


class FactTable(msgspec.Struct, frozen=True, kw_only=True):
    """Facts by environment; `environments` are the column titles."""

    environments: tuple[str, ...]
    rows: tuple[FactRow, ...]
    # Names for people, one each.
    labels: tuple[str, ...] = ()


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a report. `counts` is one line such as "34 of 36 trials measured, 1 failed"."""

    title: str
    description: str
    run_ids: tuple[str, ...]
    counts: str
    period: str
    baseline: str


class ReportView(msgspec.Struct, frozen=True, kw_only=True):
    """All that is laid out, in reading order. Every tuple may be empty."""

    summary: Summary
    environments: tuple[str, ...]
    verdicts: tuple[str, ...]
    guards: GuardNotes
    whys: tuple[WhyRow, ...]
    scalings: tuple[ScalingFigure, ...]
    comparisons: ComparisonTable
    results: ResultTable
    devices: DeviceTable
    figures: tuple[Figure, ...]
    seconds: tuple[SecondsPanel, ...]
    timelines: tuple[TimelineGroup, ...]
    facts: FactTable
    # The settings and storage in which environments differ: what is compared, or what confounds.
    differences: FactTable
    notes: tuple[Note, ...]
    cautions: tuple[Note, ...]
    advice: AdviceView = AdviceView()
    beside: BesideView = BesideView()
    capacity: CapacityView = CapacityView()
    cluster: ClusterView = ClusterView()
    # What is counted, in words.
    words: Words = TRANSACTIONS
    # What it saved to stop when it was decided, and against what; empty for a fixed design.
    saving: str = ""
