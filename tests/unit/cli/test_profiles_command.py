from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.storage import catalogue

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


def test_every_profile_has_its_medians_caps_and_what_it_is(groundspeed: Groundspeed) -> None:
    head, *lines = groundspeed("profiles").out.splitlines()
    assert head.split() == ["read", "write", "sync", "caps"]
    named = [line.split() for line in lines if not line.startswith(" ")]
    assert [words[0] for words in named] == list(catalogue.names())
    (gp3,) = [line for line in lines if line.startswith("aws-gp3 ")]
    assert gp3.split() == [
        *("aws-gp3", "463", "µs", "750", "µs", "-", "3000/s,", "125MiB/s"),
    ]
    assert any("under an ordinary PostgreSQL" in line for line in lines)


def test_the_list_as_json(groundspeed: Groundspeed) -> None:
    listed = json.loads(groundspeed("profiles", "--json").out)
    assert [each["name"] for each in listed] == list(catalogue.names())
    gp3 = next(each for each in listed if each["name"] == "aws-gp3")
    assert gp3["median_s"] == {"read": 0.000463, "write": 0.00075, "sync": 0.0}
    assert [parameter["name"] for parameter in gp3["takes"]] == ["iops", "throughput"]


def test_one_is_explained_figure_by_figure(groundspeed: Groundspeed) -> None:
    done = groundspeed("profiles", "longhorn-2r", "--set", "link=1Gbit/s")
    assert done.code == 0
    text = " ".join(done.out.split())
    assert done.out.startswith("longhorn-2r (link=1Gbit/s)\n")
    assert "replicas 2, 2 acknowledge a write, reads spread, link 1Gbit/s" in text
    assert "front 1 at once" in text
    for figure in catalogue.profile("longhorn-2r").figures:
        told = f"- {figure.what}. Source: {figure.source}, {figure.date}."
        assert told in text
    standings = [line.strip() for line in done.out.splitlines() if not line.startswith("   ")]
    places = [standings.index(word) for word in ("published", "derived", "fitted", "assumed")]
    assert places == sorted(places)


def test_what_can_be_provisioned_is_told_with_its_range(groundspeed: Groundspeed) -> None:
    out = groundspeed("profiles", "aws-gp3", "--set", "iops=16000").out
    assert "caps  16000/s, 125MiB/s" in out
    assert "--set iops=16000  from 3000 to 80000" in out


def test_one_as_json(groundspeed: Groundspeed) -> None:
    one = json.loads(groundspeed("profiles", "aws-gp3", "--set", "iops=16000", "--json").out)
    assert one["label"] == "aws-gp3 (iops=16000)"
    assert one["profile"]["device"]["limits"][0]["rate_per_s"] == 16000
    assert catalogue.parse(one["yaml"], source="x") == catalogue.profile(
        "aws-gp3", {"iops": "16000"}
    )


@pytest.mark.parametrize("name", catalogue.names())
def test_a_printed_profile_is_a_profile_file(groundspeed: Groundspeed, name: str) -> None:
    Path("mine.yaml").write_text(groundspeed("profiles", name, "--yaml").out)
    own = groundspeed("profiles", "mine.yaml", "--json")
    assert own.code == 0
    packaged = json.loads(groundspeed("profiles", name, "--json").out)
    assert json.loads(own.out)["profile"] == packaged["profile"]


def test_provisioned_yaml_says_with_what(groundspeed: Groundspeed) -> None:
    text = groundspeed("profiles", "aws-gp2", "--set", "size=20GiB", "--yaml").out
    made = catalogue.parse(text, source="x")
    assert made == catalogue.profile("aws-gp2", {"size": "20GiB"})
    assert "provisioned: {size: 20GiB}" in text


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["aws-pg3"], 3, "aws-pg3: no such profile", "did you mean aws-gp3?"),
        (["aws-gp3", "--set", "iops"], 3, "--set iops: not an assignment", "as in iops=16000"),
        (["aws-gp3", "--set", "iops="], 3, "--set iops=: not an assignment", "as in iops=16000"),
        (
            ["aws-gp3", "--set", "iops=4000", "--set", "iops=5000"],
            3,
            "--set iops: written twice",
            "write each parameter once",
        ),
        (["aws-gp3", "--set", "iops=1"], 3, "aws-gp3: iops=1: not possible", "from 3000 to 80000"),
        (["mine.yaml"], 3, "mine.yaml: No such file or directory", "groundspeed profiles lists"),
        (["--yaml"], 2, "which profile is not said", "groundspeed profiles NAME"),
        (["--set", "iops=4000"], 2, "which profile is not said", "groundspeed profiles NAME"),
        (["weka", "--yaml", "--json"], 2, "exclude each other", "leave one of them out"),
    ],
)
def test_a_mistake_is_told(
    groundspeed: Groundspeed, arguments: list[str], code: int, message: str, hint: str
) -> None:
    done = groundspeed("profiles", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.errors[0]
    assert hint in done.errors[1]


def test_the_schema_knows_what_an_inline_profile_looks_like(groundspeed: Groundspeed) -> None:
    schema = json.loads(groundspeed("schema").out)
    emulate = schema["$defs"]["Storage"]["properties"]["emulate"]["anyOf"][0]["oneOf"]
    assert {"$ref": "#/$defs/WrittenProfile"} in emulate
    properties = schema["$defs"]["WrittenProfile"]["properties"]
    assert "request_size" in properties
    assert schema["$defs"]["WrittenLatency"]["properties"]["p99"]["anyOf"][0]["type"] == "string"
