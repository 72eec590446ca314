"""The shapes of advice in a report: sentences and rows of text. Types without logic."""

from __future__ import annotations

import msgspec


class ChoiceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One purpose; `best` and `runner_up` are names for people, or "not decided"."""

    purpose: str
    # "throughput of tpcb-like"
    by: str
    best: str
    runner_up: str
    reason: str
    is_decided: bool


class AdviceView(msgspec.Struct, frozen=True, kw_only=True):
    """Findings as sentences and the selection table; both may be empty."""

    sentences: tuple[str, ...] = ()
    choices: tuple[ChoiceRow, ...] = ()
