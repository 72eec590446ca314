"""What was asked: the suite file, decoded from YAML into frozen models and checked.

Every complaint names its path in the file and says what to write instead. This room reads no file,
starts nothing and orders nothing.
"""

from groundspeed.spec.decode import apply_override, load_suite
from groundspeed.spec.models import (
    BUILTIN_WORKLOADS,
    NEWEST_POSTGRES,
    OLDEST_POSTGRES,
    EmbeddedEnvironment,
    Measure,
    Pgbench,
    Postgres,
    ScriptWorkload,
    ServerEnvironment,
    Suite,
    Workload,
    json_schema,
)

__all__ = [
    "BUILTIN_WORKLOADS",
    "NEWEST_POSTGRES",
    "OLDEST_POSTGRES",
    "EmbeddedEnvironment",
    "Measure",
    "Pgbench",
    "Postgres",
    "ScriptWorkload",
    "ServerEnvironment",
    "Suite",
    "Workload",
    "apply_override",
    "json_schema",
    "load_suite",
]
