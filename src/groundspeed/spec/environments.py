"""What is compared, as a suite names it: environments, their storage, and a replica's.

Passwords are taken out of a DSN here, before anything else of the project can see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import Discriminator, Field, SecretStr, Tag, model_validator

from groundspeed.spec import conninfo
from groundspeed.spec.quantities import Size
from groundspeed.spec.strict import Strict

SettingName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$")]
Settings = Mapping[SettingName, str | int | float | bool]


ProvisionName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _profile_kind(value: object) -> str:
    return "inline" if isinstance(value, dict) else "named"


class Storage(Strict):
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


Options = Mapping[str, Any]
_OPTIONS = "What only the engine of the suite understands, as in persistence; none with postgres."


class Replica(Strict):
    """A second server that follows the one of an environment; the load goes to the first alone."""

    storage: Storage = Field(description="Where its files live.")
    settings: Settings = Field(default={}, description="Server settings, its own alone.")
    options: Options = Field(default={}, description=_OPTIONS)
    memory: Size | None = Field(
        default=None, description="Memory of its emulated machine; only with storage.emulate."
    )


class EmbeddedEnvironment(Strict):
    """A server that the run creates, starts, stops and removes."""

    target: Literal["embedded"]
    storage: Storage = Field(description="Where its files live.")
    version: int | None = Field(
        default=None,
        ge=1,
        description="Major version of the server, where it differs from the suite's.",
    )
    bin_dir: str | None = Field(
        default=None, description="Folder with the server's programs, where it differs."
    )
    settings: Settings = Field(
        default={}, description="Server settings on top of those of the suite."
    )
    options: Options = Field(default={}, description=_OPTIONS)
    replica: Replica | None = Field(
        default=None, description="A second server that follows it; not with postgres."
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


def _is_foreign_url(dsn: str) -> bool:
    """Tell whether it is the address of another engine's server, which libpq does not read."""
    scheme, separator, _ = dsn.partition("://")
    return bool(separator) and scheme.isalnum() and scheme not in {"postgres", "postgresql"}


def _split_url(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.password is None:
        return {"dsn": url}
    place = parts.netloc.rpartition("@")[2]
    netloc = f"{parts.username}@{place}" if parts.username else place
    return {
        "dsn": urlunsplit(parts._replace(netloc=netloc)),
        "password": SecretStr(unquote(parts.password)),
    }


class ServerEnvironment(Strict):
    """A given server; with postgres the run makes a database in it and drops that after."""

    target: Literal["server"]
    dsn: str = Field(
        description="libpq connection string or URI, its own TLS modes are kept; of another engine"
        " the URL of its server."
    )
    options: Options = Field(default={}, description=_OPTIONS)
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
        if _is_foreign_url(data["dsn"]):
            return {**data, **_split_url(data["dsn"])}
        try:
            parameters = conninfo.parameters_of(data["dsn"])
        except ValueError:
            msg = "has a dsn that libpq cannot read, write it as postgresql://user@host:5432/"
            raise ValueError(msg) from None
        if "sslpassword" in parameters:
            msg = "has sslpassword in its dsn: use a key file without a passphrase"
            raise ValueError(msg)
        password = parameters.pop("password", None)
        return {
            **data,
            "dsn": conninfo.made_of(**parameters),
            "password": None if password is None else SecretStr(str(password)),
        }
