"""The frozen models of a suite file: its keys, their types, units and defaults.

Passwords are taken out of a DSN here, before anything else of the project can see them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from psycopg import conninfo
from psycopg import errors as psycopg_errors
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    Tag,
    model_validator,
)

from groundspeed.spec.quantities import (
    Count,
    Counts,
    Duration,
    Margin,
    Name,
    PositiveDuration,
    Rate,
    Size,
    Slice,
    WholeDuration,
    word_or_words,
    yaml_off,
)

BuiltinWorkload = Literal["select-only", "simple-update", "tpcb-like"]
BUILTIN_WORKLOADS: tuple[BuiltinWorkload, ...] = ("select-only", "simple-update", "tpcb-like")
OLDEST_POSTGRES, NEWEST_POSTGRES = 13, 18


def _threads_kind(value: object) -> str:
    return "word" if isinstance(value, str) else "list"


# A tagged union and not a plain one: complaints then speak of the form that was written, not of
# both.
Threads = Annotated[
    Annotated[Literal["clients"], Tag("word")] | Annotated[Counts, Tag("list")],
    Discriminator(_threads_kind),
]
SettingName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$")]
Settings = Mapping[SettingName, str | int | float | bool]


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


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


ProvisionName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _profile_kind(value: object) -> str:
    return "inline" if isinstance(value, dict) else "named"


class Storage(_Model):
    """Where the files of an environment live: a directory as it is, or an emulated device."""

    directory: str | None = Field(
        default=None,
        description="Directory on the storage to be measured; the run makes its own below it."
        " With emulate: where the real files lie, if the run shall not choose.",
    )
    wal_directory: str | None = Field(
        default=None,
        description="Directory for the write-ahead log, where it lives on a storage of its own.",
    )
    # What is inside an inline profile is checked with the profile: this room knows no storage.
    emulate: (
        Annotated[
            Annotated[str, Field(min_length=1), Tag("named")]
            | Annotated[Mapping[str, Any], Tag("inline")],
            Discriminator(_profile_kind),
        ]
        | None
    ) = Field(
        default=None,
        description="Storage profile to emulate: its name, a YAML file relative to the suite, or"
        " the profile itself.",
    )
    provision: Mapping[ProvisionName, str | int | float] = Field(
        default={}, description="What the profile is provisioned with, as in iops: 16000."
    )

    @model_validator(mode="before")
    @classmethod
    def _emulates_something(cls, data: object) -> object:
        # Or an environment whose profile is written as a bare null would run at native speed.
        if isinstance(data, dict) and "emulate" in data and data["emulate"] is None:
            msg = 'has an empty emulate: name a profile; the one called null is written "null"'
            raise ValueError(msg)
        return data

    @model_validator(mode="after")
    def _one_kind(self) -> Storage:
        if self.directory is None and self.emulate is None:
            msg = "needs either directory or emulate"
            raise ValueError(msg)
        if self.emulate is not None and self.wal_directory is not None:
            msg = "takes no wal_directory with emulate: the log lies on the emulated device too"
            raise ValueError(msg)
        if self.emulate is None and self.provision:
            msg = "takes provision only with emulate: name the profile that is provisioned"
            raise ValueError(msg)
        return self


class EmbeddedEnvironment(_Model):
    """A server that the run creates, starts, stops and removes."""

    target: Literal["embedded"]
    storage: Storage = Field(description="Where its files live.")
    version: int | None = Field(
        default=None,
        ge=OLDEST_POSTGRES,
        le=NEWEST_POSTGRES,
        description="PostgreSQL major version, where it differs from the suite's.",
    )
    bin_dir: str | None = Field(
        default=None, description="Folder with postgres and initdb, where it differs."
    )
    settings: Settings = Field(
        default={}, description="PostgreSQL settings on top of those of the suite."
    )
    listen: Literal["socket", "loopback"] = Field(
        default="socket",
        description="How the load reaches it: a private unix socket, or TCP on 127.0.0.1.",
    )
    memory: Size | None = Field(
        default=None,
        description="Memory of the emulated machine, of its server and its page cache together;"
        " only with storage.emulate.",
    )

    @model_validator(mode="after")
    def _memory_is_emulated(self) -> EmbeddedEnvironment:
        if self.memory is not None and self.storage.emulate is None:
            msg = "takes memory only with storage.emulate: this machine has the memory it has"
            raise ValueError(msg)
        return self


class ServerEnvironment(_Model):
    """A given PostgreSQL; the run makes a database of its own in it and drops that after."""

    target: Literal["server"]
    dsn: str = Field(description="libpq connection string or URI; its own TLS modes are kept.")
    password_env: str | None = Field(
        default=None, description="Name of the environment variable that holds the password."
    )
    # Never in the JSON Schema and never written: `model_dump` leaves it out.
    password: SecretStr | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _split_password(cls, data: object) -> object:
        if not isinstance(data, dict) or not isinstance(data.get("dsn"), str):
            return data
        if data.get("password") is not None:
            msg = "takes no password: put the name of an environment variable in password_env"
            raise ValueError(msg)
        try:
            parameters = conninfo.conninfo_to_dict(data["dsn"])
        except psycopg_errors.ProgrammingError:
            # libpq's own words may quote the password, so they are not passed on.
            msg = "has a dsn that libpq cannot read, write it as postgresql://user@host:5432/"
            raise ValueError(msg) from None
        if "sslpassword" in parameters:
            msg = "has sslpassword in its dsn: use a key file without a passphrase"
            raise ValueError(msg)
        password = parameters.pop("password", None)
        return {
            **data,
            "dsn": conninfo.make_conninfo("", **parameters),
            "password": None if password is None else SecretStr(str(password)),
        }


Environment = Annotated[
    Annotated[EmbeddedEnvironment, Tag("embedded")] | Annotated[ServerEnvironment, Tag("server")],
    Discriminator("target"),
]


class ScriptWorkload(_Model):
    """A pgbench script of the user's own."""

    script: str = Field(description="Path of the pgbench script, relative to the suite file.")
    name: Name = Field(description="The name it has in the results.")
    writes: bool = Field(
        default=True, description="Whether it changes data, so that trials reset the dataset."
    )


def _workload_kind(value: object) -> str:
    return "built-in" if isinstance(value, str) else "script"


Workload = Annotated[
    Annotated[BuiltinWorkload, Tag("built-in")] | Annotated[ScriptWorkload, Tag("script")],
    Discriminator(_workload_kind),
]


class Postgres(_Model):
    """The PostgreSQL of the embedded environments."""

    version: int = Field(default=16, ge=OLDEST_POSTGRES, le=NEWEST_POSTGRES)
    bin_dir: str | None = Field(default=None, description="Folder with postgres and initdb.")
    settings: Settings = Field(default={}, description="Settings, as in postgresql.conf.")


# Servers stay warm between slices, and the connections of the measured load are new in any case.
_SLICE_WARM_UP = "0s"


class Measure(_Model):
    """How long and how often each cell is measured, or until what is decided."""

    duration: WholeDuration = Field(default=60.0, description="Measured time of a trial.")
    warm_up: Duration = Field(
        default=5.0,
        description=f"Load before it that is not counted; {_SLICE_WARM_UP} with until.",
    )
    repeats: Count = Field(default=3, description="Trials of each cell, each in its own block.")
    until: Literal["decided"] | None = Field(
        default=None,
        description="Measure slices of seconds in rounds, and stop where it is decided which"
        " environment is faster, or that none is; instead of duration and repeats.",
    )
    margin: Margin = Field(
        default=0.03,
        description="Environments that differ by less count as equivalent; with until.",
        json_schema_extra={"default": "3%"},
    )
    slice: Slice = Field(
        default="auto",
        description="Measured time of a trial with until: auto is 1s for workloads that only read"
        " and 2s for those that write.",
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
        """Refuse keys that would be silently ignored: those of the other design."""
        if not isinstance(data, dict):
            return data
        if data.get("until") is None:
            for key in ("margin", "slice", "at_most"):
                if key in data:
                    msg = f"takes {key} only with until: write until: decided, or leave {key} out"
                    raise ValueError(msg)
            return data
        for key, instead in (("duration", "slice"), ("repeats", "at_most")):
            if key in data:
                msg = f"takes no {key} with until: {instead} bounds it, leave {key} out"
                raise ValueError(msg)
        return {"warm_up": _SLICE_WARM_UP, **data}


class Pgbench(_Model):
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


class Suite(_Model):
    """A suite file: the environments compared and the load they are compared under."""

    suite: Name = Field(description="Name of the suite.")
    description: str = Field(default="", description="One line on what it is for.")
    seed: int = Field(default=1, ge=0, description="Seed of the order of trials and of pgbench.")
    postgres: Postgres = Postgres()
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
    scale: Count = Field(default=100, description="pgbench scale: 100,000 accounts, about 15 MiB.")
    measure: Measure = Measure()
    pgbench: Pgbench = Pgbench()
    vary: Vary | None = Field(
        default=None,
        description="In what the environments are meant to differ, settings.NAME for one setting. A"
        " report then names every other difference at the verdicts it could confound.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Suite:
        names = [w if isinstance(w, str) else w.name for w in self.workloads]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"has two workloads named {twice[0]!r}"
            raise ValueError(msg)
        if isinstance(self.threads, tuple) and min(self.threads) > max(self.clients):
            msg = "has more threads than clients in every combination: pgbench would refuse it"
            raise ValueError(msg)
        if self.measure.until is not None and len(self.environments) < 2:  # noqa: PLR2004 - a pair
            msg = "needs two environments to decide between: name another one"
            raise ValueError(msg)
        return self


def json_schema() -> dict[str, Any]:
    """Describe a suite file as JSON Schema (draft 2020-12), for editors."""
    schema = Suite.model_json_schema()
    schema["$defs"]["ServerEnvironment"]["properties"].pop("password")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
