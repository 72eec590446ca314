"""Names made safe for file names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def slugs(names: Sequence[str]) -> tuple[str, ...]:
    """Make names safe for file names: lower-case letters, digits and dashes, each one unique."""
    taken: list[str] = []
    for name in names:
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"
        slug, number = stem, 2
        while slug in taken:
            slug, number = f"{stem}-{number}", number + 1
        taken.append(slug)
    return tuple(taken)
