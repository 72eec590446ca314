"""How a new run directory is called: shared by run and import."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from groundspeed import plan as plans

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import Plan


def new_run_id(plan: Plan, results_dir: Path) -> str:
    """Name a run by its start, so that names sort by time, and by its suite."""
    started = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    stem = f"{started}-{plans.slugs((plan.suite_name,))[0]}"
    run_id, number = stem, 2
    while (results_dir / run_id).exists():
        run_id, number = f"{stem}-{number}", number + 1
    return run_id
