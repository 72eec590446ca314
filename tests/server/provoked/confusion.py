"""What was provoked against what was named: noted by each test, printed once at the end.

Tests run in several processes, so each adds a line to one file; the table at the end of pytest's
output (tests/conftest.py) is made of the properties of the tests' reports.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.analyse.diagnosis import Bottleneck
from tests.parallel import shared_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pytest

    from tests.server.provoked.cases import Provocation
    from tests.server.provoked.driving import Provoked

PROPERTY = "provoked"
NOTHING = "nothing"
FILE = "provoked-bottlenecks.tsv"


def provoked_name(case: Provocation) -> str:
    """What a case provokes, as the table has it."""
    return NOTHING if case.name.startswith(NOTHING) else case.named[0].value


def note(
    case: Provocation,
    named: Bottleneck,
    record_property: Callable[[str, object], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Keep one case in the report of its test, and in the file of this run of pytest."""
    record_property(PROPERTY, [provoked_name(case), named.value])
    path = shared_directory(tmp_path_factory) / FILE
    # One short write at the end of the file: processes do not tear each other's lines.
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{provoked_name(case)}\t{named.value}\t{case.name}\n")


def table(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of the confusion table: provoked down, named across, counts; in the enum's order."""
    counts = Counter(pairs)
    order = [b.value for b in Bottleneck] + [NOTHING]
    provoked = [name for name in order if any(p == name for p, _ in counts)]
    named = [name for name in order if any(n == name for _, n in counts)]
    width = max(map(len, ["provoked", *provoked]))
    lines = [f"{'provoked':{width}}  named"]
    for row in provoked:
        cells = [f"{column} {counts[row, column]}" for column in named if counts[row, column]]
        lines.append(f"{row:{width}}  {', '.join(cells)}")
    return lines


def story(found: Provoked) -> str:
    """What was seen, for a test that fails."""
    diagnosis, evidence = found.diagnosis, found.record.evidence
    lines = [f"named {diagnosis.bottleneck.value}, {diagnosis.confidence.value}"]
    lines += [f"  {c.value:g} {c.unit} {c.name} ({c.source})" for c in diagnosis.clues]
    lines.append(f"  others: {', '.join(b.value for b in diagnosis.others)}")
    if evidence is not None:
        samples = max(1, evidence.activity_sample_count)
        for wait in evidence.waits[:12]:
            mean = wait.sample_count / samples
            where = wait.backend_type or "clients"
            lines.append(f"  {mean:.2f} {where} {wait.wait_class}:{wait.event}")
        lines += [f"  {evidence.host}", f"  {evidence.postgres}", f"  {evidence.absent}"]
    lines += [f"  {found.record.outcome!r:.600}", f"  {found.record.storage_work!r:.900}"]
    return "\n".join(lines)
