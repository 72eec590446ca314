"""Text as a terminal may have it: never markup, and nothing that steers."""

from __future__ import annotations

from rich.text import Text


def plain(text: str, style: str = "") -> Text:
    """Take text as it is, without characters that could steer the terminal."""
    return Text("".join(c if c.isprintable() else " " for c in text), style=style)
