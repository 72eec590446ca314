"""How sure an interval is asked to be, and what that takes. One constant for the whole project."""

from __future__ import annotations

from groundspeed.stats.median import values_needed

CONFIDENCE_RATIO = 0.95
# Trials for an interval of a median, pairs for one of a ratio: the bound is the same.
TRIALS_NEEDED = values_needed(CONFIDENCE_RATIO)
