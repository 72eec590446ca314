"""What the clients do, as a suite names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from groundspeed.spec.quantities import Name, WholeDuration
from groundspeed.spec.strict import Strict

BuiltinWorkload = Literal["select-only", "simple-update", "tpcb-like"]
BUILTIN_WORKLOADS: tuple[BuiltinWorkload, ...] = ("select-only", "simple-update", "tpcb-like")


class ScriptWorkload(Strict):
    """A pgbench script of the user's own."""

    script: str = Field(description="Path of the pgbench script, relative to the suite file.")
    name: Name = Field(description="The name it has in the results.")
    writes: bool = Field(
        default=True, description="Whether it changes data, so that trials reset the dataset."
    )


class LoadWorkload(Strict):
    """A load in the words of an engine's own load tool."""

    name: Name = Field(description="The name it has in the results.")
    load: Mapping[str, Any] = Field(description="Options of the load tool; not with postgres.")
    duration: WholeDuration | None = Field(
        default=None, description="Measured time of its trials, where it differs from the others'."
    )
    writes: bool = Field(
        default=True, description="Whether it changes data, so that trials reset the dataset."
    )


def _workload_kind(value: object) -> str:
    if isinstance(value, str):
        return "built-in"
    asked = isinstance(value, LoadWorkload) or (isinstance(value, dict) and "load" in value)
    return "load" if asked else "script"


Workload = Annotated[
    Annotated[BuiltinWorkload, Tag("built-in")]
    | Annotated[ScriptWorkload, Tag("script")]
    | Annotated[LoadWorkload, Tag("load")],
    Discriminator(_workload_kind),
]
