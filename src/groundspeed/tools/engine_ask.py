"""What a suite asks of an engine, handed to the one that understands it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class EngineAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite asks of an engine in words that only that one understands.

    `loads` are by workload, `options` and `settings` by environment; those of its replica are under
    its name with "/replica" behind. `longest_load_s` is the longest trial with its warm-up, and
    `clients` the most of them. `addresses` are those of given servers, by environment.
    """

    loads: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Mapping[str, str]]
    longest_load_s: float
    clients: int
    addresses: Mapping[str, str] = {}
