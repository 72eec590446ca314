"""A short name for what a plan says, by which two makings of it are known to be the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from groundspeed.plan.parts import Plan


def digest(plan: Plan) -> str:
    """Hash a plan: 64 hexadecimal digits of SHA-256 over its JSON.

    Without the version of groundspeed and the place of the suite: a plan made from one suite on two
    machines is the same plan, or it is told that it is not.
    """
    told = msgspec.structs.replace(plan, groundspeed_version="", source="")
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()
