"""The settings of a planned server as facts, each written in one way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.analyse.guards.parity_facts import Fact

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan

_SIZE = re.compile(r"(\d+)\s*(kB|MB|GB|TB)")
_SIZES = {"kB": 1, "MB": 1024, "GB": 1024**2, "TB": 1024**3}
_SWITCHES = {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}


def settings_facts(environment: EnvironmentPlan) -> dict[Fact, str]:
    """Tell the settings that an environment asks for, by name."""
    # PostgreSQL reads the names of settings in any case, and takes the last of them.
    return {Fact("settings", n.lower()): _value(value) for n, value in environment.settings}


def _value(written: str) -> str:
    """Write a setting in one way: 1024MB and 1GB are the same, as are true and on."""
    match = _SIZE.fullmatch(written.strip())
    if match is None:
        return _SWITCHES.get(written.lower(), written) if not written.isdigit() else written
    size = int(match[1]) * _SIZES[match[2]]
    unit = next(unit for unit in reversed(_SIZES) if size % _SIZES[unit] == 0)
    return f"{size // _SIZES[unit]}{unit}"
