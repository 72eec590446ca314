"""What was asked: the suite file, decoded from YAML into frozen models and checked.

Every complaint names its path in the file and says what to write instead. This room reads no file,
starts nothing and orders nothing.
"""

from groundspeed.spec.complaints import Form, complaints
from groundspeed.spec.decode import apply_override, load_suite, parse_yaml
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
    "Form",
    "Measure",
    "Pgbench",
    "Postgres",
    "ScriptWorkload",
    "ServerEnvironment",
    "Suite",
    "Workload",
    "apply_override",
    "complaints",
    "json_schema",
    "load_suite",
    "parse_yaml",
]
