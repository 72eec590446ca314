"""What Redis and Valkey and their load tool may be asked for in a suite, as models of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from groundspeed.spec import Form
from groundspeed.spec.quantities import Count, Size
from groundspeed.tools.redis_load import AUTO


def dashes_to_underscores(data: object) -> object:
    """Let keys be written as redis.conf has them."""
    if not isinstance(data, Mapping):
        return data
    return {str(key).replace("-", "_"): value for key, value in data.items()}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


YesNo = Annotated[
    Literal["yes", "no"],
    # YAML 1.1, which PyYAML reads, takes a bare yes for true.
    BeforeValidator(lambda value: {True: "yes", False: "no"}.get(value, value)),
]
_SAVE_POINTS = re.compile(r"\d+ \d+( \d+ \d+)*")


def _are_save_points(value: str) -> str:
    if _SAVE_POINTS.fullmatch(value) is None:
        msg = (
            f"{value!r} is no list of save points: write seconds and changes, as in 3600 1 300 100"
        )
        raise ValueError(msg)
    return value


SavePoints = Annotated[str, AfterValidator(_are_save_points)]


def _is_request_count(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if not is_number and value != AUTO:
        msg = f"{value!r} is no number of requests: write one, or auto"
        raise ValueError(msg)
    return value


# Looked at before: of a plain union, complaints would speak of both its members.
RequestCount = Annotated[Literal["auto"] | int, BeforeValidator(_is_request_count)]
Persistence = Literal["none", "rdb", "aof always", "aof everysec", "aof no"]


class Preload(_Model):
    """Keys that are there before the first trial."""

    keys: Count = Field(description="How many.")
    bytes: Size = Field(description="Size of each value.")


class EnvironmentOptions(_Model):
    """What an environment may ask for, beside settings as redis.conf has them."""

    persistence: Persistence = Field(
        default="none", description="What the server keeps of its data on storage, and how soon."
    )
    save: SavePoints | None = Field(
        default=None,
        description="Save points of a snapshot, as in 3600 1 300 100; beside an append-only file"
        " too.",
    )
    no_appendfsync_on_rewrite: YesNo | None = None
    auto_aof_rewrite_percentage: Annotated[int, Field(ge=0)] | None = None
    auto_aof_rewrite_min_size: Size | None = None
    aof_use_rdb_preamble: YesNo | None = None
    preload: Preload | None = Field(default=None, description="Keys that are there before.")


class LoadOptions(_Model):
    """What a workload may ask of redis-benchmark."""

    test: str = Field(description="One of its tests, as in set, get or ping_mbulk.")
    payload: Size = Field(default=3, description="Size of a value.")
    keyspace: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Requests go to so many keys at random; 0 is one and the same key."
    )
    pipeline: Count = Field(default=1, description="Requests a client sends before it waits.")
    requests: RequestCount = Field(
        default="auto", description="How many, or as many as fill the time of a trial."
    )
    keep_alive: YesNo = Field(default="yes", description="Whether clients keep their connection.")


FORM_OF_OPTIONS = Form(
    "options",
    lambda path: tuple(Preload.model_fields if path else EnvironmentOptions.model_fields),
    "see docs/redis.md",
)
FORM_OF_LOADS = Form("load", lambda _: tuple(LoadOptions.model_fields), "see docs/redis.md")
