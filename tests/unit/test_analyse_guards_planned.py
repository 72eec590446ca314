"""What guards say of a plan, before anything runs."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
import yaml

from groundspeed import plan as plans
from groundspeed import spec
from groundspeed.analyse.guards import plan_differences, planned_burst
from groundspeed.storage import catalogue
from groundspeed.storage.encode import encode_json


def planned(environments: dict[str, Any], **suite: object) -> plans.Plan:
    text = yaml.safe_dump(
        {
            "suite": "s",
            "environments": {
                name: {"target": "embedded", "storage": {"directory": "./x"}, **asked}
                for name, asked in environments.items()
            },
            "workloads": ["tpcb-like"],
            "measure": {"duration": "60s", "repeats": 6},
            **suite,
        },
        sort_keys=False,
    )
    asked = spec.load_suite(text, source="s.yaml")
    profiles = {
        name: plans.ResolvedProfile(label=profile.label, json=encode_json(profile))
        for name, environment in asked.environments.items()
        if environment.target == "embedded" and isinstance(environment.storage.emulate, str)
        for profile in [catalogue.profile(environment.storage.emulate)]
    }
    return plans.make_plan(
        asked,
        source="s.yaml",
        rng=random.Random(1),
        groundspeed_version="0.1.0",
        scripts={},
        profiles=profiles,
    )


def emulated(name: str, **more: object) -> dict[str, Any]:
    return {"storage": {"emulate": name}, **more}


def messages(plan: plans.Plan) -> list[str]:
    return [finding.message for finding in plan_differences(plan)]


TUNED = {"settings": {"huge_pages": "try", "shared_buffers": "6GB", "max_connections": 200}}


def test_settings_beside_what_is_compared_are_found() -> None:
    plan = planned({"plain": {"settings": {"shared_buffers": "1945MB"}}, "tuned": TUNED})
    [found] = plan_differences(plan)
    assert found.code == "several-settings"
    plan = planned(
        {"plain": {"settings": {"shared_buffers": "1945MB"}}, "tuned": TUNED}, vary="storage"
    )
    [message] = messages(plan)
    assert message == (
        "plain and tuned: huge_pages default and try, max_connections default and 200,"
        " shared_buffers 1945MB and 6GB differ, where only storage may"
    )


def test_the_same_written_otherwise_does_not_differ() -> None:
    first = {"settings": {"shared_buffers": "1024MB", "jit": "true"}}
    second = {"settings": {"Shared_Buffers": "1GB", "jit": "on"}}
    assert messages(planned({"a": first, "b": second}, vary="storage")) == []


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"version": 17}, "PostgreSQL 16 and 17 differs"),
        (
            emulated("aws-gp3", memory="4GiB"),
            "memory of the machine and 4.00 GiB differs besides storage",
        ),
        ({"listen": "loopback"}, "connection unix socket and TCP on loopback differs"),
        ({"bin_dir": "/opt/pg/bin"}, "programs default and /opt/pg/bin differs"),
    ],
)
def test_what_a_plan_knows_is_compared(second: dict[str, Any], told: str) -> None:
    [message] = messages(planned({"a": {}, "b": second}, vary="storage"))
    assert told in message


def test_storage_alone_is_what_is_compared() -> None:
    plan = planned({"a": {}, "b": {"storage": {"directory": "./y"}}, "c": emulated("aws-gp3")})
    assert messages(plan) == []


def test_the_named_baseline_is_compared_with() -> None:
    plan = planned({"a": {}, "b": {}, "c": {"version": 17}}, vary="storage")
    assert [f.environments for f in plan_differences(plan)] == [("a", "c")]
    named = plan_differences(plan, baseline="c")
    assert [f.environments for f in named] == [("c", "a"), ("c", "b")]


def test_of_a_given_server_only_the_way_to_it_is_known() -> None:
    text = yaml.safe_dump(
        {
            "suite": "s",
            "vary": "storage",
            "environments": {
                "a": {"target": "embedded", "storage": {"directory": "./x"}, **TUNED},
                "b": {"target": "server", "dsn": "postgresql://u@db.example/x"},
            },
        }
    )
    plan = plans.make_plan(
        spec.load_suite(text, source="s"),
        source="s",
        rng=random.Random(1),
        groundspeed_version="0",
        scripts={},
    )
    [message] = messages(plan)
    assert message == (
        "a and b: connection unix socket and TCP over a network, server's machine this one and"
        " db.example differ, where only storage may"
    )


def test_a_burst_that_outlasts_the_trials_is_told_before_the_run() -> None:
    [found] = planned_burst(planned({"gp2": emulated("aws-gp2"), "gp3": emulated("aws-gp3")}))
    assert found.environments == ("gp2",)
    assert found.message == (
        "aws-gp2's burst of 3,000 IOPS lasts at least 33 min at full load; a trial lasts 60 s"
        " (6 trials take 6 min and each begins with a full bucket): this measures the burst;"
        " --drain spends the credits first"
    )


def test_a_trial_longer_than_the_burst_may_mix() -> None:
    plan = planned({"gp2": emulated("aws-gp2")}, measure={"duration": "1h", "repeats": 2})
    [found] = planned_burst(plan)
    assert "a trial lasts 60 min" in found.message
    assert "means may mix it with the baseline of 300 IOPS" in found.message


def test_with_drained_credits_there_is_nothing_to_say() -> None:
    plan = planned({"gp2": emulated("aws-gp2"), "real": {}})
    assert len(planned_burst(plan)) == 1
    assert planned_burst(msgspec.structs.replace(plan, drain=True)) == ()
