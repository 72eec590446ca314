"""The base of all that a suite file holds: unknown keys are refused, and nothing changes later."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A mapping of a suite file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
