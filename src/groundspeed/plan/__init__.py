"""A suite and a seed become a `Plan`: every trial, in order, with all that is needed to run it.

The plan is a file that can be read before anything runs and by which an interrupted run goes on.
This room runs nothing, reads nothing and draws its randomness from the generator it is given.
"""

from groundspeed.plan.codec import decode, encode
from groundspeed.plan.estimating import (
    BACKEND_BYTES,
    DEFAULT_MAX_WAL_BYTES,
    DEFAULT_SHARED_BUFFERS_BYTES,
    EMPTY_CLUSTER_BYTES,
    UPKEEP_LOAD_S,
    warm_memory_bytes,
)
from groundspeed.plan.expanding import make_plan, setting_texts
from groundspeed.plan.kubernetes import (
    ClusterKind,
    ClusterRequest,
    PlacementRequest,
    ResourceRequest,
    ServiceRequest,
    VolumeKind,
    VolumeRequest,
)
from groundspeed.plan.naming import slugs
from groundspeed.plan.ordering import blocks
from groundspeed.plan.parts import (
    DATASET_BYTES_PER_SCALE,
    PLAN_FORMAT,
    POSTGRES,
    Beside,
    CapacitySearch,
    Cell,
    Command,
    EngineNeeds,
    EnvironmentPlan,
    Estimate,
    Plan,
    ResolvedEngine,
    ResolvedProfile,
    Sequential,
    StorageRequest,
    TargetKind,
    Trial,
    WorkloadPlan,
    replica_name,
)
from groundspeed.plan.rounds import AA_PAIRS, first_look
from groundspeed.plan.saving import Saved, saved
from groundspeed.plan.words import REQUESTS, TRANSACTIONS, Words, words_of

__all__ = [
    "AA_PAIRS",
    "BACKEND_BYTES",
    "DATASET_BYTES_PER_SCALE",
    "DEFAULT_MAX_WAL_BYTES",
    "DEFAULT_SHARED_BUFFERS_BYTES",
    "EMPTY_CLUSTER_BYTES",
    "PLAN_FORMAT",
    "POSTGRES",
    "REQUESTS",
    "TRANSACTIONS",
    "UPKEEP_LOAD_S",
    "Beside",
    "CapacitySearch",
    "Cell",
    "ClusterKind",
    "ClusterRequest",
    "Command",
    "EngineNeeds",
    "EnvironmentPlan",
    "Estimate",
    "PlacementRequest",
    "Plan",
    "ResolvedEngine",
    "ResolvedProfile",
    "ResourceRequest",
    "Saved",
    "Sequential",
    "ServiceRequest",
    "StorageRequest",
    "TargetKind",
    "Trial",
    "VolumeKind",
    "VolumeRequest",
    "Words",
    "WorkloadPlan",
    "blocks",
    "decode",
    "encode",
    "first_look",
    "make_plan",
    "replica_name",
    "saved",
    "setting_texts",
    "slugs",
    "warm_memory_bytes",
    "words_of",
]
