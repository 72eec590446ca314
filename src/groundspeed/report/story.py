"""The story of one trial for a terminal: at most twenty lines of 80 columns.

Each line is a word and what there is to say; what is too long for its lines is cut at a word, so
that the whole stays a page that is read at once.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse import digits
from groundspeed.plan import POSTGRES
from groundspeed.record.evidence import AROUND_PROBE, WaitGroup
from groundspeed.report.cluster_view import cluster_story
from groundspeed.report.evidence_words import (
    clue_text,
    course_text,
    diagnosis_name,
    format_share,
    kept_text,
    slow_text,
    stall_text,
    step_text,
)
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import format_bytes, format_seconds, format_tps
from groundspeed.report.timeline_view import trial_line
from groundspeed.report.why_view import Whys, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.analyse import Findings
    from groundspeed.analyse.findings import TrialEvidence
    from groundspeed.record import StorageWork
    from groundspeed.record.evidence import Evidence
    from groundspeed.record.machine import CpuWork, DiskWork

LINE_COUNT = 20
COLUMN_COUNT = 80
_WORD_COLUMNS = 9
_WAIT_COUNT = 5
_GUARD_COUNT = 2
# Columns of the list of trials that are aligned to the right.
_NUMERIC = (1, 2)
BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.:-=+*#"
# What a terminal without UTF-8 gets instead.
_PLAIN = str.maketrans({"µ": "u"})


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A word and what it says, in two lines at most; in one where room is short.

    Of all entries the one with the smallest `weight` gives up its second line first, and says
    `short` instead, where that is given.
    """

    word: str
    text: str
    weight: int
    short: str = ""


def story(trial: TrialEvidence, findings: Findings, *, unicode: bool = True) -> tuple[str, ...]:
    """Tell a trial in lines; without `unicode` they have ASCII only, save names of the user."""
    entries = [*_measured(trial, findings, BARS if unicode else _PLAIN_BARS)]
    entries += _why(trial)
    entries += _seen(trial)
    entries += [_Entry(word=w, text=text, weight=8) for w, text in cluster_story(trial, findings)]
    entries += _doubts(trial, findings)
    return _fit(entries if unicode else [_plain(entry) for entry in entries])


def _plain(entry: _Entry) -> _Entry:
    return msgspec.structs.replace(
        entry, text=entry.text.translate(_PLAIN), short=entry.short.translate(_PLAIN)
    )


def _fit(entries: Sequence[_Entry]) -> tuple[str, ...]:
    laid = [_lay(entry.word, entry.text, 2) for entry in entries]
    for index in sorted(range(len(entries)), key=lambda i: entries[i].weight):
        if sum(map(len, laid)) <= LINE_COUNT:
            break
        entry = entries[index]
        if len(laid[index]) > 1:
            laid[index] = _lay(entry.word, entry.short or entry.text, 1)
    return tuple(line for lines in laid for line in lines)


def trial_lines(findings: Findings) -> tuple[str, ...]:
    """Tell all watched trials, a line each under a header, in the order of the cells."""
    order = {place_of(cell): index for index, cell in enumerate(findings.cells)}
    trials = sorted(
        findings.trials, key=lambda t: (order.get(place_of(t), len(order)), t.repeat_index)
    )
    rows = [("trial", findings.words.rate, "p99", "bottleneck", "course")]
    for trial in trials:
        line = trial_line(trial, findings)
        rows.append((line.trial_id, line.tps, line.p99, line.name, line.course))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    laid: list[str] = []
    for row in rows:
        cells = (
            f"{cell:>{width}}" if column in _NUMERIC else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        laid.append("  ".join(cells).rstrip())
    return tuple(laid)


def _lay(word: str, text: str, most: int) -> list[str]:
    return textwrap.wrap(
        # Names are the user's own, and nothing in them may steer the terminal.
        "".join(c if c.isprintable() else " " for c in text),
        width=COLUMN_COUNT,
        initial_indent=f"{word:<{_WORD_COLUMNS}}",
        subsequent_indent=" " * _WORD_COLUMNS,
        max_lines=most,
        placeholder=" ...",
        # A trial's id stays whole, to be copied.
        break_on_hyphens=False,
    )


def _measured(trial: TrialEvidence, findings: Findings, bars: str) -> Iterator[_Entry]:
    # Other engines have no data set of a scale.
    scale = f"scale {trial.scale:,}, " if findings.engine == POSTGRES else ""
    factors = (
        f"{trial.clients:,} client{'' if trial.clients == 1 else 's'} on {trial.threads:,} "
        f"thread{'' if trial.threads == 1 else 's'}, {scale}"
        f"repeat {trial.repeat_index + 1}"
    )
    label = label_of(trial.environment, findings.emulated)
    yield _Entry(word="trial", text=f"{trial.trial_id}: {label}, {trial.workload}", weight=20)
    words = findings.words
    result = f"{format_tps(trial.tps_per_s)} {words.rate}, p99 {format_seconds(trial.p99_s)}"
    yield _Entry(word="result", text=f"{result}; {factors}", weight=19)
    line = next((line for line in findings.seconds if line.trial_id == trial.trial_id), None)
    if line is not None and len(line.rows) > 1:
        rates = [row.count / line.log_sampling_ratio for row in line.rows]
        short = words.rate if len(words.rate) < _WORD_COLUMNS else "rate"
        yield _Entry(word=short, text=_sparkline(rates, bars), weight=18)


def _sparkline(values: Sequence[float], bars: str) -> str:
    """Draw values as bars from zero; where seconds share a bar, it is the lowest of them.

    Not their mean: a stall of one second would vanish.
    """
    most = max(values)
    words = f" 0 to {digits(most)}/s in {len(values):,} s"
    room = COLUMN_COUNT - _WORD_COLUMNS - len(words)
    every = math.ceil(len(values) / room)
    lows = [min(values[start : start + every]) for start in range(0, len(values), every)]
    top = len(bars) - 1
    return "".join(bars[round(top * v / most) if most else 0] for v in lows) + words


def _why(trial: TrialEvidence) -> Iterator[_Entry]:
    found = trial.diagnosis
    others = f"; next: {', '.join(other.value for other in found.others)}" if found.others else ""
    yield _Entry(word="why", text=f"{diagnosis_name(found)}{others}", weight=17)
    for place, clue in enumerate(found.clues[:3]):
        bare = clue_text(msgspec.structs.replace(clue, source=""))
        yield _Entry(word="", text=f"- {clue_text(clue)}", short=f"- {bare}", weight=2 - place)
    if found.remedy:
        yield _Entry(word="remedy", text=found.remedy, weight=9)


def _seen(trial: TrialEvidence) -> Iterator[_Entry]:
    evidence = trial.evidence
    if waits := _waits(evidence):
        yield _Entry(word="waits", text=waits, weight=12)
    if evidence.host is not None:
        yield _cpu(evidence.host.cpu)
    yield _Entry(word="storage", text=_storage(trial), weight=8)
    if trial.evidence.persistence is not None:
        yield _Entry(word="kept", text=kept_text(trial.evidence), weight=7)
    if slow := slow_text(trial.evidence):
        yield _Entry(word="slow", text=slow, weight=2)
    yield _Entry(word="time", text=course_text(trial.course), weight=6)
    if happened := _happened(trial):
        yield _Entry(word="stalls", text=happened, weight=10)


def _waits(evidence: Evidence) -> str:
    """Give the waits that took most of the clients' time, as shares of it."""
    counts: dict[str, int] = {}
    for wait in evidence.waits:
        if wait.group is WaitGroup.CLIENT:
            name = f"{wait.wait_class}:{wait.event}" if wait.event else wait.wait_class
            counts[name] = counts.get(name, 0) + wait.sample_count
    total = sum(counts.values())
    if not total:
        return ""
    most = sorted(counts.items(), key=lambda item: -item[1])[:_WAIT_COUNT]
    return ", ".join(f"{name} {format_share(count / total)}" for name, count in most)


def _cpu(cpu: CpuWork) -> _Entry:
    owners = (
        ("server", cpu.server_cpu_count),
        ("load tool", cpu.load_cpu_count),
        ("groundspeed", cpu.own_cpu_count),
        ("others", cpu.other_cpu_count),
    )
    known = ", ".join(f"{name} {count:.2f}" for name, count in owners if count is not None)
    burnt = f"{known or format_share(1 - cpu.idle_ratio)} of {cpu.core_count} cores"
    rest = (
        f"{format_share(cpu.idle_ratio)} idle, "
        f"busiest core {format_share(cpu.busiest_core_ratio)}, "
        f"steal {format_share(cpu.steal_ratio)}"
    )
    return _Entry(word="CPU", text=f"{burnt}; {rest}", short=burnt, weight=4)


def _storage(trial: TrialEvidence) -> str:
    if trial.storage_work is not None:
        return _emulated(trial.storage_work)
    host = trial.evidence.host
    if host is None or host.disk is None:
        return "no disk was seen"
    log = f"; log on {_disk(host.wal_disk)}" if host.wal_disk is not None else ""
    return f"{_disk(host.disk)}{log}"


def _emulated(work: StorageWork) -> str:
    per_s = 1 / work.elapsed_s if work.elapsed_s else math.nan
    sync = (
        f", {format_seconds(work.sync_waited_s / work.sync_call_count)} a sync"
        if (work.sync_call_count)
        else ""
    )
    held = f", held {format_seconds(work.throttled_s)} at limits" if work.throttled_s else ""
    return (
        f"emulated: {digits(work.read_request_count * per_s)} reads/s + "
        f"{digits(work.write_request_count * per_s)} writes/s{sync}, "
        f"depth {digits(work.mean_depth_count)} (most {digits(work.max_depth_count)}){held}"
    )


def _disk(disk: DiskWork) -> str:
    waits = " + ".join(
        format_seconds(wait) for wait in (disk.read_wait_s, disk.write_wait_s) if wait is not None
    )
    bytes_per_s = disk.read_bytes_per_s + disk.write_bytes_per_s
    return (
        f"{disk.device}: {digits(disk.reads_per_s)} reads/s + {digits(disk.writes_per_s)} writes/s"
        f"{f' of {waits}' if waits else ''}, {format_bytes(bytes_per_s)}/s, "
        f"depth {digits(disk.depth_count)}, {format_share(disk.utilisation_ratio)} busy"
    )


def _happened(trial: TrialEvidence) -> str:
    course = trial.course
    parts = [] if course.step is None else [f"step down: {step_text(course.step)}"]
    if course.stalls:
        worst = max(course.stalls, key=lambda stall: stall.second_count)
        further = f"; {len(course.stalls) - 1:,} more" if len(course.stalls) > 1 else ""
        parts.append(f"{stall_text(worst)}{further}")
    return "; ".join(parts)


def _doubts(trial: TrialEvidence, findings: Findings) -> Iterator[_Entry]:
    whys = Whys(findings)
    touching = [whys.ordered[number - 1] for number in whys.marks(trial)]
    for guard in touching[:_GUARD_COUNT]:
        yield _Entry(word="!", text=guard.message, weight=11)
    if further := [guard.code for guard in touching[_GUARD_COUNT:]]:
        yield _Entry(word="!", text=f"{len(further)} more: {', '.join(further)}", weight=1)
    evidence = trial.evidence
    if evidence.absent:
        absent = "; ".join(f"{a.what} ({a.reason})" for a in evidence.absent)
        yield _Entry(word="unseen", text=absent, weight=5)
    yield _Entry(word="cost", text=_cost(evidence), weight=3)


def _cost(evidence: Evidence) -> str:
    if not evidence.costs or not evidence.elapsed_s:
        return f"what watching cost was not told (probes: {evidence.level.value})"
    # What is asked before and after a trial takes nothing from it.
    costs = [cost for cost in evidence.costs if cost.probe != AROUND_PROBE] or evidence.costs
    cpu = sum(cost.cpu_s for cost in costs) / evidence.elapsed_s
    slowest = max(cost.slowest_s for cost in costs)
    calls = sum(cost.call_count for cost in costs)
    return (
        f"watching ({evidence.level.value}) took {format_share(cpu)} of a core: {calls:,} looks, "
        f"the slowest {format_seconds(slowest)}"
    )
