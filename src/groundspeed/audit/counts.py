"""Counts in sentences ("nine configurations") against the rows, columns and lists they speak of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.audit.names import COUNT_WORDS, Names, of
from groundspeed.audit.quantities import clients_in
from groundspeed.audit.remark import Check, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube, Grid
    from groundspeed.audit.document import Sentence

_WORDS = "|".join(word for word in COUNT_WORDS if word != "single")
_ENVIRONMENTS = (
    "configurations?|environments?|setups?|systems?|backends?|platforms?|"
    "databases?|engines?|volume types?|storage (?:classes|types|backends|options)|"
    "disks?|instances? types?|instance types?|providers?|options|candidates|"
    "contenders|variants"
)
_LEVELS = (
    "client counts?|concurrency levels?|levels of concurrency|numbers of clients|"
    "client levels?|connection counts?|thread counts?"
)
_WORKLOADS = r"workloads?|queries|tests|benchmarks|scripts|query types?"
_ROWS = r"rows|lines|results|measurements|data points"
_NOUNS = (
    ("rows", _ROWS),
    ("levels", _LEVELS),
    ("environments", _ENVIRONMENTS),
    ("workloads", _WORKLOADS),
)
_TABLE = r"\btables?\b|\bbelow\b|\babove\b|\bfollowing\b"
_VERB = (
    r"\b(?:compar\w+|test(?:ed|s)?|measured?|benchmark(?:ed)?|evaluated?|ran|run|"
    r"lists?|shows?|covers?|gives?|has|contains?|summari[sz]es?)\b"
)
_LEAST = 2
# In "8 clients, repeat 7: ..." the colon belongs to the figure nearer to it.
_UP_TO_COLON = r"[^.:;\d]{0,30}:"
# The comma of 80,970 stands between no two things.
_BETWEEN_ITEMS = r",(?!(?<=\d,)\d{3}(?!\d))\s*(?:and\s+)?|\s+and\s+"
# What was measured is no name of a thing: "8 clients: 5,204 TPS, 1.5 ms".
_MEASURED = (
    r"\d\s?(?:(?:tps|qps|rps|iops|ops|ns|us|\u00b5s|\u03bcs|ms|s|sec|min)\b|(?:ops|req)\w*/s|%)"
)


def check(cube: Cube) -> list[Remark]:
    """Check counts beside a word that says they are of the tables, or before a list."""
    known = of(cube)
    made = []
    sentences = cube.document.sentences
    for sentence in sentences:
        for match, count, noun in _counts(sentence, _first_words(cube)):
            listed = _list_remark(sentence, match, count, named=noun != "list")
            if listed is not None:
                made.append(listed)
            elif noun != "list" and re.search(_VERB, sentence.text, re.IGNORECASE):
                remark = _table_remark(cube, known, sentence, (match, count, noun))
                made += [remark] if remark is not None else []
    return made


def _pattern(rule: str) -> str:
    return (
        rf"(?<![\w.,\-])(?P<count>\d{{1,2}}|{_WORDS})\s+(?:(?:different|distinct|tested|"
        rf"storage|client|other|database|benchmark|\w+ed)\s+){{0,2}}?(?P<noun>{rule})\b"
    )


def _first_words(cube: Cube) -> str:
    """Give what the tables call their rows: "queues" where the first column is headed Queue."""
    words = {
        grid.table.header[0].text.lower()
        for grid in cube.grids
        if (grid.measured() or any(grid.row_measures)) and not grid.columns[0].numeric
    }
    return "|".join(f"{re.escape(w)}s?" for w in sorted(words) if re.fullmatch(r"[a-z]{3,}", w))


def _counts(sentence: Sentence, first: str) -> list[tuple[re.Match[str], int, str]]:
    made: list[tuple[re.Match[str], int, str]] = []
    listed = (
        rf"(?<![\w.,\-])(?P<count>\d{{1,2}}|"
        rf"{_WORDS})\s+(?:(?!of\b)[\w-]+\s+){{0,2}}?(?P<noun>[a-z]+s)(?={_UP_TO_COLON})"
    )
    called = (("called", first),) if first else ()
    for noun, rule in (*_NOUNS, *called, ("list", listed)):
        if noun in {"called", "list"} and made:
            break
        pattern = rule if noun == "list" else _pattern(rule)
        for match in re.finditer(pattern, sentence.text, re.IGNORECASE):
            before = sentence.text[: match.start()]
            if re.search(
                (
                    r"\b(?:of|other|than|each|another|first|last|these|those|least|"
                    r"most)\s+(?:the\s+)?$"
                ),
                before,
                re.IGNORECASE,
            ):
                continue
            word = match["count"].lower()
            if noun == "list" and word in {"one", "1"}:
                continue
            made.append((match, COUNT_WORDS.get(word) or int(word), noun))
    return made


def _list_remark(
    sentence: Sentence, match: re.Match[str], count: int, *, named: bool
) -> Remark | None:
    """Compare with the list that follows: after a colon, or as items below."""
    tail = sentence.text[match.end() :]
    inline = re.match(_UP_TO_COLON + r"\s+(?P<list>[^:;]+?)\.?$", tail)
    if inline is not None:
        text = re.sub(r"\([^)]*\)", "", inline["list"])
        parts = [p for p in re.split(_BETWEEN_ITEMS, text) if p.strip()]
        short = all(len(part.split()) <= 5 for part in parts)  # noqa: PLR2004 - longer ones are no names
        if not re.search(r",", text) or not short or len(parts) == count:
            return None
        if any(re.search(_MEASURED, part, re.IGNORECASE) for part in parts):
            return None
        listed = len(parts)
        # "A and B" inside one name would count twice: only a list that is certain by its commas.
        if len(re.findall(r"\s+and\s+", text)) > 1:
            return None
    elif named and tail.rstrip().endswith(":") and sentence.items_count:
        listed, parts = sentence.items_count, []
        if listed == count or listed < _LEAST:
            return None
    else:
        return None
    where = f": {'; '.join(part.strip() for part in parts)}" if parts else " in the list below it"
    return Remark(
        check=Check.COUNT,
        severity=Severity.ERROR,
        place=sentence.place,
        quote=sentence.text,
        message=f"{match[0]}, but {listed} are listed",
        arithmetic=(f"{count} stated, {listed} counted{where}",),
    )


def _of_grid(grid: Grid, noun: str, known: Names) -> set[int]:
    """Give every number that a count of this noun may mean in a table."""
    rows = [r for r in range(len(grid.table.rows)) if r not in grid.summaries]
    made: set[int] = set()
    if noun == "rows":
        made |= {len(rows), len(grid.table.rows)}
    if noun == "levels":
        columns = [c for c in grid.columns if clients_in(c.header) or "thread" in c.header.lower()]
        made |= {len({grid.table.rows[r][c.index].text for r in rows}) for c in columns}
        across = {c.clients for c in grid.columns if c.clients is not None}
        made |= {len(across)} if across else set()
    if noun in {"environments", "workloads", "called"}:
        made |= _labels_of(grid, rows, known)
    return made


def _labels_of(grid: Grid, rows: list[int], known: Names) -> set[int]:
    del known
    made: set[int] = set()
    for column in grid.columns:
        if column.measure is None and (not column.numeric or column.index == 0):
            texts = [grid.table.rows[r][column.index].text for r in rows]
            made |= {len(set(texts)), len(texts)}
    across = [c.label for c in grid.measured() if c.label]
    made |= {len(set(across)), len(across)} if across else set()
    plain = [c for c in grid.columns[1:] if c.numeric and c.measure is None]
    made |= {len(plain)} if plain else set()
    return made


def _table_remark(
    cube: Cube, known: Names, sentence: Sentence, counted: tuple[re.Match[str], int, str]
) -> Remark | None:
    match, count, noun = counted
    grids = [g for g in cube.grids if g.measured() or any(g.row_measures)]
    pointed = re.search(_TABLE, sentence.text, re.IGNORECASE) is not None
    counts = {n for grid in grids for n in _of_grid(grid, noun, known) if n > 0}
    if noun in {"environments", "workloads"}:
        # A table of settings lists them as well.
        counts |= {n for grid in cube.grids for n in _of_grid(grid, noun, known)}
    direct = _direct(grids, noun)
    if (
        not direct
        or count in counts | direct
        or (not pointed and len(grids) > 1 and noun == "rows")
    ):
        return None
    # Cells are often called configurations, so a product explains as well.
    if any(a * b == count for a in counts for b in counts):
        return None
    number = max(direct)
    if noun != "levels" and not pointed and count < number:
        return None
    first = grids[0]
    return Remark(
        check=Check.COUNT,
        severity=Severity.ERROR if pointed else Severity.DOUBT,
        place=sentence.place,
        quote=sentence.text,
        message=f"{match[0]}, but the tables have {number}",
        arithmetic=(f"{count} stated, {number} counted ({first.table.place().text})",),
    )


def _direct(grids: list[Grid], noun: str) -> set[int]:
    """Count plainly: rows, client counts, or labels of the first column and of the headers."""
    made: set[int] = set()
    for grid in grids:
        rows = [r for r in range(len(grid.table.rows)) if r not in grid.summaries]
        first = grid.columns[0]
        keyed = clients_in(first.header) or "thread" in first.header.lower()
        if noun == "rows" or (noun == "levels" and keyed):
            made.add(len(rows))
        elif noun == "levels":
            across = {c.clients for c in grid.columns if c.clients is not None}
            made |= {len(across)} if across else set()
        elif (_kind_of_rows(first.header) == noun or noun == "called") and not first.numeric:
            made.add(len({grid.table.rows[r][0].text for r in rows}))
        elif noun == "environments" and keyed:
            labels = {c.label for c in grid.measured() if c.label}
            made |= {len(labels)} if len(labels) >= _LEAST else set()
    return made


def _kind_of_rows(header: str) -> str:
    if re.search(_WORKLOADS + r"|operation|query|script", header, re.IGNORECASE):
        return "workloads"
    named = _ENVIRONMENTS + r"|storage|volume|config|name|instance|type|label|cloud|service|variant"
    return "environments" if re.search(named, header, re.IGNORECASE) else ""
