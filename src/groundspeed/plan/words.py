"""What is counted, by engine: what a report calls a transaction. The only place that knows."""

from __future__ import annotations

import msgspec

from groundspeed.plan.parts import POSTGRES


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """One of what clients repeat, several of them, and the short name of how many a second.

    `per_s` is the unit on an axis; `server` is what the version of a server is listed under.
    """

    one: str
    many: str
    rate: str
    per_s: str
    server: str


TRANSACTIONS = Words(
    one="transaction",
    many="transactions",
    rate="TPS",
    per_s="transactions/s",
    server="PostgreSQL",
)
REQUESTS = Words(
    one="request", many="requests", rate="requests/s", per_s="requests/s", server="server"
)


def words_of(engine: str) -> Words:
    """Say what clients of an engine repeat."""
    return TRANSACTIONS if engine == POSTGRES else REQUESTS
