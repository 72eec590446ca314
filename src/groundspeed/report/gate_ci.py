"""A gate for machines: JUnit XML, annotations of GitHub Actions, JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import msgspec

from groundspeed.analyse.gate import GateAnswer
from groundspeed.report.gate_text import answer_line, cell_line, cell_name, ordered
from groundspeed.report.svg import without_controls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.gate import Gate, GateCell

FORMAT = 1


def to_junit(gate: Gate) -> str:
    """Write one test case a cell: a loss is a failure, what is undecided is skipped."""
    counts = {answer: sum(c.answer is answer for c in gate.cells) for answer in GateAnswer}
    skipped = counts[GateAnswer.UNDECIDED] + len(gate.missing)
    head = (
        f'<testsuite name="groundspeed gate" tests="{len(gate.cells) + len(gate.missing)}"'
        f' failures="{counts[GateAnswer.FAIL]}" errors="0" skipped="{skipped}">'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    lines += [line for cell in gate.cells for line in _case(cell, gate)]
    for missing in gate.missing:
        name, _, what = missing.partition(": ")
        lines.append(f"  <testcase classname={_value('missing')} name={_value(name)}>")
        lines += [f"    <skipped message={_value(what)}/>", "  </testcase>"]
    lines.append(f"  <system-out>{escape(without_controls(_told(gate)))}</system-out>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _told(gate: Gate) -> str:
    return "\n".join([answer_line(gate), *(caution.message for caution in gate.cautions)])


def _case(cell: GateCell, gate: Gate) -> Iterator[str]:
    head = f"  <testcase classname={_value(cell.candidate)} name={_value(cell_name(cell, gate))}"
    if cell.answer is GateAnswer.PASS:
        yield f"{head}/>"
        return
    kind = "failure" if cell.answer is GateAnswer.FAIL else "skipped"
    yield f"{head}>"
    yield f"    <{kind} message={_value(cell_line(cell))}/>"
    yield "  </testcase>"


def _value(text: str) -> str:
    return quoteattr(without_controls(text))


def to_github(gate: Gate, *, is_advisory: bool) -> str:
    """Write workflow commands: errors, in advisory mode warnings; then the answer as a notice.

    GitHub shows ten of a kind for each step, so the worst come first.
    """
    lines = []
    for cell in ordered(gate):
        if cell.answer is GateAnswer.PASS:
            continue
        failed = cell.answer is GateAnswer.FAIL and not is_advisory
        title = f"{cell.answer.value}: {cell_name(cell, gate)}"
        lines.append(_command("error" if failed else "warning", title, cell_line(cell)))
    lines += [_command("warning", "undecided", missing) for missing in gate.missing]
    told = " ".join(caution.message for caution in gate.cautions)
    lines.append(_command("notice", "groundspeed gate", f"{answer_line(gate)}. {told}".strip()))
    return "\n".join(lines) + "\n"


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def to_json(gate: Gate, *, is_advisory: bool) -> str:
    """Write one JSON object with everything, in base units; ends with a newline."""
    document = {
        "kind": "groundspeed-gate",
        "format": FORMAT,
        "is_advisory": is_advisory,
        **msgspec.to_builtins(gate),
    }
    # msgspec writes what is no number as null, which JSON has instead of NaN.
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
