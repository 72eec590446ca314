"""When the dataset of an environment is brought back, and when its dirty pages are written.

Before every trial where servers start and stop with it. Where they stay warm, the slices of an
environment together are one long trial interrupted in time: it begins with a dataset brought back
and a checkpoint, as any trial does, and ends after as much load as a trial of the fixed design has.
A checkpoint before every slice would show the log at its thickest alone, as the first change of a
page after a checkpoint logs all of that page.
"""

from __future__ import annotations

from groundspeed.plan import UPKEEP_LOAD_S

# A server left alone makes a checkpoint of its own every 5 minutes (checkpoint_timeout), and that
# would fall into the trials of others.
_LONGEST_S = 240.0


class Upkeep:
    """The upkeep of one environment."""

    def __init__(self, *, is_warm: bool) -> None:
        """Without `is_warm` it is due before every trial."""
        self._is_warm = is_warm
        self._load_s = 0.0
        self._done_at_s = 0.0
        # At first, and where something went wrong.
        self.is_due = True

    def done(self, now_s: float) -> None:
        """Count from here: the dataset is as it should be and all pages are written."""
        self._load_s, self._done_at_s = 0.0, now_s
        self.is_due = not self._is_warm

    def loaded(self, load_s: float, now_s: float) -> None:
        """Count load that wrote; 0 after one that only read."""
        self._load_s += load_s
        over = self._load_s >= UPKEEP_LOAD_S or now_s - self._done_at_s >= _LONGEST_S
        self.is_due = self.is_due or over

    def doubt(self) -> None:
        """Something went wrong: nothing is known of the dataset and its pages."""
        self.is_due = True

    def method(self, target_method: str) -> str:
        """Word how trials come to start from the same state."""
        if not self._is_warm:
            return target_method
        return (
            f"slices: servers stay up, and every {UPKEEP_LOAD_S:g} s of load that writes"
            f" (or {_LONGEST_S:g} s) the dataset is brought back; {target_method}"
        )
