"""docs/profiles.md against the catalogue and the models: no key, profile or figure is forgotten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groundspeed.cli.profiles_command import caps, medians_s
from groundspeed.report.scaling import format_seconds
from groundspeed.storage import catalogue, written

PAGE = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()


def row(name: str) -> str:
    profile = catalogue.profile(name)
    times = [format_seconds(t) if t else "-" for t in medians_s(profile).values()]
    takes = ", ".join(f"`{p.name}` {p.meaning}" for p in catalogue.parameters_of(name))
    return f"| {name} | {' | '.join(times)} | {caps(profile)} | {takes} |"


def test_the_table_is_the_catalogue() -> None:
    head = (
        "| profile | read | write | sync | caps | can be provisioned |\n|---|---|---|---|---|---|\n"
    )
    table = head + "\n".join(row(name) for name in catalogue.names()) + "\n"
    assert table in PAGE, table


def test_the_profile_of_the_page_is_one() -> None:
    blocks = re.findall(r"^```yaml\n(profile:.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (text,) = blocks
    profile = catalogue.parse(text, source="docs/profiles.md")
    assert len(profile.device.write.quantiles) == 4


@pytest.mark.parametrize(
    "model",
    [
        written.WrittenProfile,
        written.WrittenDevice,
        written.WrittenLatency,
        written.WrittenLimit,
        written.WrittenReplication,
        written.WrittenTrouble,
        written.WrittenFigure,
    ],
)
def test_every_key_is_explained(model: type[written.WrittenProfile]) -> None:
    assert [name for name in model.model_fields if f"`{name}`" not in PAGE] == []
