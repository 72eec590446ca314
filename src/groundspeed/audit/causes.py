"""Claims of one cause ("the only variable is the storage") against tables of settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.audit.cube import Cube, Grid, normal
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Check, Place, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.document import Sentence

_SOLE = (
    r"\b(?:the )?(?:only|sole|single) (?:variable|difference|change|thing (?:that|"
    r"we) (?:differs?|changed?|varied)|factor|parameter)\b"
    r"|\bonly (?:the )?[\w\s]{1,30}(?:differs?|changed|was changed|varies)\b|"
    r"\bnothing else (?:changed|differs|was changed)"
    r"|\ball else (?:being )?equal|\beverything else (?:is|was|being|stayed|"
    "remained) (?:identical|equal|the same|constant)"
    r"|\botherwise identical|\b(?:due|thanks|owed|attributable|down) (?:solely|"
    r"entirely|purely|only) to|\b(?:solely|purely|entirely) (?:due|thanks|"
    "attributable|down) to"
    r"|\bidentical (?:hardware|configuration|settings) (?:on|in|for) (?:both|all)|"
    r"\balone (?:explains|accounts|gives|gave|brings|brought|is responsible|makes)"
)
_SETTINGS = (
    r"instance|postgres|version|memory|\bram\b|cpu|cores|shared.?buffers|wal|"
    r"storage|disk|volume|kernel|\bos\b|node|region|replica|max.connections|"
    "work.mem|synchronous|fsync|huge|machine|hardware|iops|network|filesystem|file "
    "system|scale|setting|component|parameter|pooler|checkpoint|autovacuum|"
    "compression|jit|driver|client"
)
_CAUSES = {
    "storage": r"storage|disk|volume|iops|ssd|nvme|ebs|throughput|filesystem|device|drive|raid",
    "memory": r"memory|\bram\b|buffers|cache",
    "cpu": r"cpu|cores|processor|governor",
    "version": r"version|postgres|release|server",
    "instance": r"instance|machine|node|hardware|cpu|cores|memory|\bram\b|vcpu",
    "platform": r"platform|cloud|provider|region",
    "setting": r"setting|parameter|config",
}
_LEAST_ENVIRONMENTS = 2


class _Setting(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    values: tuple[str, ...]
    place: Place


def check(cube: Cube) -> list[Remark]:
    """Hold every claim of a sole difference against the tables that list what differs."""
    made = []
    for sentence in cube.document.sentences:
        found = re.search(_SOLE, sentence.text, re.IGNORECASE)
        if found is None or re.search(r"\bnot (?:the )?(?:only|sole|single)\b", sentence.text):
            continue
        for grid in cube.grids:
            remark = _remark(sentence, grid)
            if remark is not None:
                made.append(remark)
                break
    return made


def _settings(grid: Grid) -> list[_Setting]:
    """Read a table of settings, whichever way it lies; nothing where it holds measurements."""
    if any(c.measure and c.measure.kind is Kind.LATENCY for c in grid.columns) or any(
        grid.row_measures
    ):
        return _attributes(grid)
    table = grid.table
    names = [row[0].text for row in table.rows]
    down = sum(bool(re.search(_SETTINGS, n, re.IGNORECASE)) for n in names)
    across = sum(bool(re.search(_SETTINGS, c.text, re.IGNORECASE)) for c in table.header[1:])
    if down > across and 2 * down >= len(names) and len(table.header) > _LEAST_ENVIRONMENTS:
        return [
            _Setting(
                name=row[0].text,
                values=tuple(cell.text for cell in row[1:]),
                place=table.place(at),
            )
            for at, row in enumerate(table.rows)
        ]
    return _attributes(grid) if across else []


def _attributes(grid: Grid) -> list[_Setting]:
    table = grid.table
    firsts = {row[0].text for row in table.rows}
    if len(firsts) != len(table.rows) or len(table.rows) < _LEAST_ENVIRONMENTS:
        return []
    return [
        _Setting(
            name=column.header,
            values=tuple(row[column.index].text for row in table.rows),
            place=table.place(None, column.index),
        )
        for column in grid.columns[1:]
        if (
            column.measure is None
            or column.measure.kind is Kind.CLIENTS
            or "iops" in column.header.lower()
        )
        and re.search(_SETTINGS, column.header, re.IGNORECASE)
    ]


def _same(values: tuple[str, ...]) -> bool:
    """Tell whether a setting is the same everywhere; "4GB" and "4 GB" are."""
    return len({re.sub(r"\s+", "", normal(value)) for value in values if normal(value)}) <= 1


def _cause_of(text: str) -> str:
    found = re.search(_SOLE, text, re.IGNORECASE)
    assert found is not None  # noqa: S101 - asked by the caller
    around = text[max(0, found.start() - 60) : found.end() + 80].lower()
    named = [
        (match.start(), rule) for rule in _CAUSES.values() for match in re.finditer(rule, around)
    ]
    near = found.end() - max(0, found.start() - 60)
    after = [pair for pair in named if pair[0] >= near]
    rules = [rule for _, rule in sorted(after)[:2]] or [rule for _, rule in sorted(named)[-2:]]
    words = re.findall(r"[a-z_]{5,}", around)
    return "|".join([*rules, *(re.escape(word) for word in words if "_" in word)])


def _remark(sentence: Sentence, grid: Grid) -> Remark | None:
    settings = _settings(grid)
    cause = _cause_of(sentence.text)
    differing = [s for s in settings if not _same(s.values)]
    unrelated = [s for s in differing if not cause or not re.search(cause, s.name.lower())]
    unrelated = [s for s in unrelated if not _named(sentence.text, s) and not _is_result(s)]
    if not cause or not unrelated or len(differing) < _LEAST_ENVIRONMENTS:
        return None
    return Remark(
        check=Check.CAUSE,
        severity=Severity.ERROR,
        place=sentence.place,
        quote=sentence.text,
        message=f"{len(differing)} settings differ, by the article's own table",
        arithmetic=tuple(f"{s.name}: {' / '.join(s.values)} ({s.place.text})" for s in differing),
    )


def _named(text: str, setting: _Setting) -> bool:
    """Leave out what the sentence itself names as differing."""
    return normal(setting.name) in normal(text)


def _is_result(setting: _Setting) -> bool:
    """Leave out what a setting costs or how busy it was."""
    return bool(re.search(r"cost|price|\$|month|hour|\buse|busy|util", setting.name.lower()))
