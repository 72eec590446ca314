from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import native
from groundspeed.cli.checks import State, machine_checks
from groundspeed.probes.host import Host
from groundspeed.targets.installation import Installation
from tests.unit.cli.conftest import SMALL_SUITE, TOO_FAST

if TYPE_CHECKING:
    from groundspeed.cli.checks import Check
    from tests.unit.cli.conftest import Groundspeed

LOOKED_AT = (
    "PostgreSQL",
    "pgbench",
    "cores",
    "memory",
    "disk here",
    "/dev/shm",
    "huge pages",
    "transparent huge pages",
    "governor",
    "clock source",
    "compiler",
    "log reader",
    "storage emulation",
    "server's user",
    "setpriv",
)


def by_name(checks: tuple[Check, ...]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def machine(root: Path, files: dict[str, str]) -> Host:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Host(proc=root / "proc", sys=root / "sys")


def test_everything_promised_is_looked_at(groundspeed: Groundspeed) -> None:
    done = groundspeed("doctor", "--json")
    assert done.code == 0
    names = {check["name"] for check in json.loads(done.out)["checks"]}
    assert set(LOOKED_AT) <= names


def test_for_people_it_is_a_line_each(groundspeed: Groundspeed) -> None:
    out = groundspeed("doctor").out
    assert all(name in out for name in LOOKED_AT)


def test_doubts_come_with_a_hint(tmp_path: Path) -> None:
    host = machine(
        tmp_path,
        {
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
            "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        },
    )
    checks = by_name(machine_checks(host, ()))
    for name in ("governor", "clock source", "transparent huge pages", "cores", "PostgreSQL"):
        assert checks[name].state is State.CAUTION
        assert checks[name].hint


def test_a_quiet_machine_has_no_doubts(tmp_path: Path) -> None:
    host = machine(
        tmp_path,
        {
            "proc/self/status": "Cpus_allowed_list: 0-7",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        },
    )
    found = Installation(version="16.4", major=16, bin_dir=Path("/x"), source="distribution")
    checks = by_name(machine_checks(host, (found,)))
    for name in ("governor", "clock source", "transparent huge pages", "cores", "PostgreSQL"):
        assert checks[name].state is State.OK
    assert checks["pgbench"].value == "16.4 in /x"


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("clients=[99]", "max_connections is 100, 99 clients need 103"),
        ("postgres.bin_dir=/nowhere", "/nowhere: no complete PostgreSQL there"),
        ("scale=100000000", "needs up to"),
        ("environments.one.storage.directory=/proc/version/x", "cannot be written"),
    ],
)
def test_a_suite_that_cannot_run_here_is_exit_code_4(
    groundspeed: Groundspeed, override: str, what: str
) -> None:
    Path("s.yaml").write_text(SMALL_SUITE)
    done = groundspeed("doctor", "s.yaml", "--set", override, "--json")
    assert done.code == 4
    assert "s.yaml cannot run here" in done.errors[0]
    assert any(what in error for error in done.errors)
    assert not json.loads(done.out)["can_run"]


def test_a_server_that_does_not_answer_is_missing(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(
        "suite: s\nenvironments: {g: {target: server, dsn: 'host=/nonexistent user=u'}}\n"
    )
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 4
    assert "environment g" in done.err


def test_a_suite_of_emulated_devices_cannot_be_measured(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(
        f"suite: s\nscale: 1\nenvironments:\n  g:\n    target: embedded\n    storage:\n{TOO_FAST}"
    )
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 4
    assert "no environment can be measured" in done.errors[0]
    assert "is slower than too-fast" in done.out
    assert "its trials will be skipped" in done.out


def test_a_suite_with_an_emulated_device_says_what_is_emulated(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(
        "suite: s\nscale: 1\nenvironments:\n"
        "  g: {target: embedded, memory: 1GiB, storage: {emulate: aws-gp3, directory: /dev/shm}}\n"
    )
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 0
    assert "on aws-gp3 (emulated), files in /dev/shm, page cache 896 MiB" in done.out


def test_an_emulated_environment_without_room_for_its_buffers_is_missing(
    groundspeed: Groundspeed,
) -> None:
    Path("s.yaml").write_text(
        "suite: s\nscale: 1\npostgres: {settings: {shared_buffers: 1GB}}\nenvironments:\n"
        "  g: {target: embedded, memory: 1GiB, storage: {emulate: aws-gp3}}\n"
    )
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 4
    assert "shared_buffers take 1024 MiB of 1024 MiB of memory" in done.err


def test_without_the_shim_only_emulation_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native, "PROGRAMS_DIRECTORY", tmp_path)
    check = by_name(machine_checks(Host(), ()))["storage emulation"]
    assert check.state is State.CAUTION
    assert "has not been built" in check.value
    assert "compiler" in check.hint
