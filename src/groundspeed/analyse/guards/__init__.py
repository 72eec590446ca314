"""Guards: comparisons and cells that fool people, found in records, each told once with figures.

They judge what was compared, never what came out of it: a guard looks at circumstances, and at the
figures only to see whether they can be what they claim to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.guards.burst import burst_findings
from groundspeed.analyse.guards.cluster import cluster_findings
from groundspeed.analyse.guards.dataset import dataset_findings
from groundspeed.analyse.guards.parity import CONFOUNDED, parity_findings
from groundspeed.analyse.guards.planned import plan_differences, planned_burst
from groundspeed.analyse.guards.sanity import sanity_findings
from groundspeed.errors import ConfoundedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import Settled
    from groundspeed.analyse.diagnosis import GuardFinding
    from groundspeed.analyse.findings import Comparison

__all__ = ["guards", "plan_differences", "planned_burst", "refuse_confounded"]


def guards(settled: Settled, comparisons: Sequence[Comparison]) -> tuple[GuardFinding, ...]:
    """Look for all that may fool a reader: dataset, parity, burst, sanity, cluster, in this order.

    Each finding is told once for its cause, with the cells it touches in reading order.
    """
    return (
        *dataset_findings(settled),
        *parity_findings(settled, comparisons),
        *burst_findings(settled, comparisons),
        *sanity_findings(settled),
        *cluster_findings(settled),
    )


def refuse_confounded(found: Sequence[GuardFinding]) -> None:
    """Raise ConfoundedError where environments differ in more than what is compared."""
    complaints = tuple(
        (
            f"refused: {finding.message}",
            "make them alike, or name in the suite what may differ, as in vary: [storage, memory]",
        )
        for finding in found
        if finding.code == CONFOUNDED
    )
    if complaints:
        raise ConfoundedError(*complaints[0], further=complaints[1:])
