from __future__ import annotations

import pytest

from groundspeed.analyse import setting_text
from groundspeed.record import Setting


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        ("16384", "8kB", "128MB"),
        ("16385", "8kB", "131080kB"),
        ("64", "16MB", "1GB"),
        ("1024", "MB", "1GB"),
        ("300", "s", "5min"),
        ("200", "ms", "200ms"),
        ("86400000", "ms", "1d"),
        ("-1", "8kB", "-1"),
        ("0", "ms", "0"),
        ("0.9", None, "0.9"),
        ("off", None, "off"),
        ("", "ms", ""),
        ("5", "furlongs", "5 furlongs"),
    ],
)
def test_a_setting_is_written_as_show_does(value: str, unit: str | None, text: str) -> None:
    setting = Setting(name="x", value=value, unit=unit, source="default")

    assert setting_text(setting) == text
