"""What was asked: the suite file, decoded from YAML into frozen models and checked.

Every complaint names its path in the file and says what to write instead. This room reads no file,
starts nothing and orders nothing.
"""

from groundspeed.spec.complaints import Form, complaints
from groundspeed.spec.decode import apply_override, load_suite, parse_yaml
from groundspeed.spec.designs import Bound
from groundspeed.spec.environments import EmbeddedEnvironment, Replica, ServerEnvironment, Storage
from groundspeed.spec.kubernetes import ClusterStorage, KubernetesEnvironment
from groundspeed.spec.models import (
    NEWEST_POSTGRES,
    OLDEST_POSTGRES,
    POSTGRES,
    Measure,
    Pgbench,
    Postgres,
    Suite,
    json_schema,
)
from groundspeed.spec.workloads import BUILTIN_WORKLOADS, LoadWorkload, ScriptWorkload, Workload

__all__ = [
    "BUILTIN_WORKLOADS",
    "NEWEST_POSTGRES",
    "OLDEST_POSTGRES",
    "POSTGRES",
    "Bound",
    "ClusterStorage",
    "EmbeddedEnvironment",
    "Form",
    "KubernetesEnvironment",
    "LoadWorkload",
    "Measure",
    "Pgbench",
    "Postgres",
    "Replica",
    "ScriptWorkload",
    "ServerEnvironment",
    "Storage",
    "Suite",
    "Workload",
    "apply_override",
    "complaints",
    "json_schema",
    "load_suite",
    "parse_yaml",
]
