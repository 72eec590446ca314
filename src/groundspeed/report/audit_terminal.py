"""An audit on a terminal: a remark is a line of what, the words it is about, and its arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from groundspeed.audit import Severity
from groundspeed.report import audit_text

if TYPE_CHECKING:
    from rich.console import Console

    from groundspeed.audit import Audit

_STYLES = {Severity.ERROR: "bold red", Severity.DOUBT: "bold yellow", Severity.NOTE: "bold cyan"}
_INDENT = 2


def render(audit: Audit, console: Console, least: Severity) -> None:
    """Print an audit; plain text where the console is no terminal."""
    console.print(_text(audit.source, "bold"), soft_wrap=True)
    for remark in audit_text.shown(audit, least):
        head = Text.assemble(
            (remark.severity.word, _STYLES[remark.severity]),
            _text(f" [{remark.check.value}] {remark.place.text}: {remark.message}"),
        )
        console.print(head, soft_wrap=True)
        _indented(console, f'"{audit_text.quote(remark)}"', "dim", 1)
        for line in remark.arithmetic:
            _indented(console, f"= {line}", "", 2)
    console.print(_text(audit_text.summary(audit, least)), soft_wrap=True)


def _indented(console: Console, text: str, style: str, steps: int) -> None:
    console.print(Padding(_text(text, style), (0, 0, 0, _INDENT * steps), expand=False))


def _text(text: str, style: str = "") -> Text:
    """Take text as it is, without characters that could steer the terminal."""
    return Text("".join(c if c.isprintable() else " " for c in text), style=style)
