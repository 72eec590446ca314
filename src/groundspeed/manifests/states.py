"""What the states of objects in a cluster mean for a person: one line of what, one of what to do.

Pure: an object as the API server has it, with its events, in; at most one trouble out.
"""

from groundspeed.manifests.states_claims import claim_trouble
from groundspeed.manifests.states_containers import last_ending, restart_count
from groundspeed.manifests.states_makers import cluster_trouble, is_cluster_ready, job_trouble
from groundspeed.manifests.states_pods import disruption, is_ready, pod_trouble
from groundspeed.manifests.trouble import Trouble

__all__ = [
    "Trouble",
    "claim_trouble",
    "cluster_trouble",
    "disruption",
    "is_cluster_ready",
    "is_ready",
    "job_trouble",
    "last_ending",
    "pod_trouble",
    "restart_count",
]
