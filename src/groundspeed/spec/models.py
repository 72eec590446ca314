"""The frozen models of a suite file: its keys, their types, units and defaults.

What is compared is in `spec.environments`, what the clients do in `spec.workloads`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from groundspeed.spec import designs
from groundspeed.spec.environments import EmbeddedEnvironment, ServerEnvironment, Settings
from groundspeed.spec.kubernetes import KubernetesEnvironment
from groundspeed.spec.quantities import (
    Count,
    Counts,
    Duration,
    Margin,
    Name,
    PositiveDuration,
    Rate,
    Slice,
    WholeDuration,
    Within,
    word_or_words,
    yaml_off,
)
from groundspeed.spec.strict import Strict
from groundspeed.spec.workloads import BUILTIN_WORKLOADS, LoadWorkload, Workload

OLDEST_POSTGRES, NEWEST_POSTGRES = 13, 18
POSTGRES = "postgres"


def _threads_kind(value: object) -> str:
    return "word" if isinstance(value, str) else "list"


# A tagged union and not a plain one: complaints then speak of the form that was written, not of
# both.
Threads = Annotated[
    Annotated[Literal["clients"], Tag("word")] | Annotated[Counts, Tag("list")],
    Discriminator(_threads_kind),
]
ProbeLevel = Annotated[Literal["off", "light", "full"], yaml_off]
Varied = Literal[
    "storage",
    "settings",
    "version",
    "memory",
    "cpu",
    "host",
    "network",
    "connection",
    "extensions",
]


Environment = Annotated[
    Annotated[EmbeddedEnvironment, Tag("embedded")]
    | Annotated[ServerEnvironment, Tag("server")]
    | Annotated[KubernetesEnvironment, Tag("kubernetes")],
    Discriminator("target"),
]


def _varied_kind(value: object) -> str:
    return "setting" if str(value).startswith("settings.") else "word"


_VARIED_SETTING = r"^settings\.[a-z_][a-z0-9_.]*$"


def _is_setting(value: str) -> str:
    # In lower case, as the server tells them.
    if not re.fullmatch(_VARIED_SETTING, value):
        msg = f"{value!r} names no setting: write settings.NAME in lower case"
        raise ValueError(msg)
    return value


VariedSetting = Annotated[str, AfterValidator(_is_setting)]
Vary = Annotated[
    tuple[
        Annotated[
            Annotated[Varied, Tag("word")] | Annotated[VariedSetting, Tag("setting")],
            Discriminator(_varied_kind),
        ],
        ...,
    ],
    *word_or_words(get_args(Varied), _VARIED_SETTING),
]


class Postgres(Strict):
    """The PostgreSQL of the embedded environments."""

    version: int = Field(default=16, ge=OLDEST_POSTGRES, le=NEWEST_POSTGRES)
    bin_dir: str | None = Field(default=None, description="Folder with postgres and initdb.")
    settings: Settings = Field(default={}, description="Settings, as in postgresql.conf.")


class Measure(Strict):
    """How long and how often each cell is measured, or until what is decided."""

    duration: WholeDuration = Field(default=60.0, description="Measured time of a trial.")
    warm_up: Duration = Field(
        default=5.0,
        description=f"Load before it that is not counted; {designs.SLICE_WARM_UP} with until.",
    )
    repeats: Count = Field(default=3, description="Trials of each cell, each in its own block.")
    until: designs.Until | None = Field(
        default=None,
        description="Measure slices of seconds in rounds, and stop where it is decided which"
        " environment is faster, or that none is; or, with capacity, where the highest rate that"
        " holds the bound is found. Instead of duration and repeats.",
    )
    margin: Margin = Field(
        default=0.03,
        description="Environments that differ by less count as equivalent; with until: decided.",
        json_schema_extra={"default": "3%"},
    )
    bound: designs.Bound | None = Field(
        default=None, description="The latency that a rate has to hold; with until: capacity."
    )
    within: Within = Field(
        default=0.1,
        description="How near to each other the ends of the interval of that rate shall come; with"
        " until: capacity.",
        json_schema_extra={"default": "10%"},
    )
    slice: Slice = Field(
        default="auto",
        description="Measured time of a trial with until: auto is 1s for workloads that only read"
        " and 2s for those that write; with capacity 5s, or twenty times the bound.",
    )
    at_most: PositiveDuration = Field(
        default=1800.0,
        description="With until: the whole time, setting up included; what is open then stays"
        " undecided.",
    )
    probes: ProbeLevel = Field(
        default="full",
        description="What is watched while a trial is measured: nothing; counters and the machine,"
        " once a second; or what sessions wait for too, ten times a second.",
    )
    drain: bool = Field(
        default=False,
        description="Whether burst credits of emulated devices are spent before each trial.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_design(cls, data: object) -> object:
        """Refuse keys that would be silently ignored: those of another design."""
        return designs.of_one_design(data) if isinstance(data, dict) else data

    @property
    def capacity_slice_s(self) -> float:
        """How long a slice is with until: capacity."""
        return designs.capacity_slice_s(self)


class Pgbench(Strict):
    """Options of the load tool."""

    protocol: Literal["simple", "extended", "prepared"] = "prepared"
    rate: Rate | None = Field(default=None, description="Scheduled rate (open loop), not a limit.")
    latency_limit: PositiveDuration | None = Field(
        default=None, description="Transactions over it are counted as late."
    )
    max_tries: Count = Field(
        default=1, description="Tries of a transaction that fails to serialize or deadlocks."
    )
    progress: WholeDuration = Field(default=1.0, description="Interval of pgbench's own reports.")


class Suite(Strict):
    """A suite file: the environments compared and the load they are compared under."""

    suite: Name = Field(description="Name of the suite.")
    description: str = Field(default="", description="One line on what it is for.")
    seed: int = Field(default=1, ge=0, description="Seed of the order of trials and of pgbench.")
    engine: Name = Field(
        default=POSTGRES, description="What is measured: postgres, or another engine by name."
    )
    postgres: Postgres = Postgres()
    settings: Settings = Field(
        default={}, description="Settings of all servers of another engine than postgres."
    )
    environments: Mapping[Name, Environment] = Field(
        min_length=1, description="What is compared, by name."
    )
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)] = BUILTIN_WORKLOADS
    clients: Counts = Field(default=(1,), description="Numbers of concurrent clients.")
    threads: Threads = Field(
        default=(1,),
        description="pgbench threads, combinations with more threads than clients are left out;"
        " or the word clients for as many threads as clients.",
    )
    generators: Count = Field(
        default=1,
        description="Pods that make the load together, each with a share of the clients; more than"
        " one only with groundspeed run --on kubernetes.",
    )
    scale: Count = Field(default=100, description="pgbench scale: 100,000 accounts, about 15 MiB.")
    measure: Measure = Measure()
    pgbench: Pgbench = Pgbench()
    vary: Vary | None = Field(
        default=None,
        description="In what the environments are meant to differ, settings.NAME for one setting. A"
        " report then names every other difference at the verdicts it could confound.",
    )
    published: Name | None = Field(
        default=None,
        description="A publication of the catalogue whose figures stand beside those measured, as"
        " groundspeed published lists them.",
    )
    published_environments: Mapping[Name, Name] = Field(
        default={},
        description="What that publication calls an environment, where it is another name.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Suite:
        self._check_engine()
        names = [w if isinstance(w, str) else w.name for w in self.workloads]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"has two workloads named {twice[0]!r}"
            raise ValueError(msg)
        if isinstance(self.threads, tuple) and min(self.threads) > max(self.clients):
            msg = "has more threads than clients in every combination: pgbench would refuse it"
            raise ValueError(msg)
        if self.published_environments and self.published is None:
            msg = "takes published_environments only with published: name a publication"
            raise ValueError(msg)
        if self.generators > min(self.clients):
            msg = (
                f"has fewer clients than its {self.generators} generators: each one needs a client"
            )
            raise ValueError(msg)
        designs.check_design(self)
        return self

    def _check_engine(self) -> None:
        """Refuse what only another engine understands; it would be silently ignored."""
        if self.engine == POSTGRES:
            self._check_postgres()
            return
        foreign = [w if isinstance(w, str) else w.name for w in self.workloads if _is_sql(w)]
        pods = [n for n, e in self.environments.items() if isinstance(e, KubernetesEnvironment)]
        if pods:
            msg = f"has {pods[0]!r} in Kubernetes, where only postgres is measured: leave it out"
        elif self.generators > 1:
            msg = "takes generators only with engine postgres: leave it out"
        elif foreign:
            msg = f"has the workload {foreign[0]!r} of pgbench: give each one a name and a load"
        elif {"postgres", "pgbench", "scale"} & self.model_fields_set:
            key = min({"postgres", "pgbench", "scale"} & self.model_fields_set)
            msg = f"takes {key} only with engine postgres: leave it out"
        else:
            return
        raise ValueError(msg)

    def _check_postgres(self) -> None:
        if any(isinstance(w, LoadWorkload) for w in self.workloads):
            msg = "takes a workload with load only with another engine: write a script"
            raise ValueError(msg)
        if self.settings:
            msg = "takes settings only with another engine: write them below postgres"
            raise ValueError(msg)
        for name, asked in self.environments.items():
            if asked.options or getattr(asked, "replica", None) is not None:
                msg = f"takes options and a replica only with another engine: see {name!r}"
                raise ValueError(msg)
            if isinstance(asked, ServerEnvironment):
                continue
            if asked.version is not None and not (
                OLDEST_POSTGRES <= asked.version <= NEWEST_POSTGRES
            ):
                msg = (
                    f"has PostgreSQL {asked.version} in {name!r}: write a version from"
                    f" {OLDEST_POSTGRES} to {NEWEST_POSTGRES}"
                )
                raise ValueError(msg)


def _is_sql(workload: Workload) -> bool:
    return not isinstance(workload, LoadWorkload)


def json_schema() -> dict[str, Any]:
    """Describe a suite file as JSON Schema (draft 2020-12), for editors."""
    schema = Suite.model_json_schema()
    schema["$defs"]["ServerEnvironment"]["properties"].pop("password")
    schema["$defs"]["KubernetesEnvironment"]["properties"].pop("options")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
