"""Plans as JSON text: written for people to read, refused when they are of another format."""

from __future__ import annotations

import msgspec

from groundspeed.errors import StoreError
from groundspeed.plan.parts import PLAN_FORMAT, EnvironmentPlan, Plan


def encode(plan: Plan) -> bytes:
    """Write a plan as JSON, indented for people."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def decode(data: bytes, *, source: str) -> Plan:
    """Read a plan. Raises StoreError when it is no plan or of a later format."""
    try:
        plan = msgspec.json.decode(data, type=Plan)
    except msgspec.DecodeError:
        raise StoreError(f"{source}: not a plan", "name a run directory of groundspeed") from None
    if plan.format != PLAN_FORMAT:
        raise StoreError(
            f"{source}: plan format {plan.format}, this groundspeed knows {PLAN_FORMAT}",
            f"use groundspeed {plan.groundspeed_version}",
        )
    environments = tuple(_of_today(environment) for environment in plan.environments)
    return msgspec.structs.replace(plan, environments=environments)


def _of_today(old: EnvironmentPlan) -> EnvironmentPlan:
    if old.postgres_version is None:
        return old
    return msgspec.structs.replace(old, version=old.postgres_version, postgres_version=None)
