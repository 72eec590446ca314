"""The same command line as a plugin of kubectl: `kubectl groundspeed run ...`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from groundspeed.cli import main as groundspeed

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    return groundspeed.main(arguments, program="kubectl groundspeed")


if __name__ == "__main__":
    sys.exit(main())
