"""Doctor on suites of Redis: server and version of each environment, or what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed

SUITE = """
suite: s
engine: redis
environments:
  one: {target: embedded, storage: {directory: /dev/shm}, options: {persistence: none}}
  two:
    target: embedded
    storage: {directory: /dev/shm}
    replica: {storage: {directory: /var/tmp}, options: {persistence: rdb}}
workloads:
  - {name: write, load: {test: set}, writes: true}
clients: [20]
measure: {duration: 1s, repeats: 1}
"""


def test_each_environment_names_server_and_load_tool(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(SUITE)
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if "environment " in line]
    assert [line.split()[2] for line in lines] == ["one", "two", "two/replica"]
    for line in lines:
        assert "Redis " in line or "Valkey " in line
        assert "-benchmark " in line
    assert "on /var/tmp" in lines[2]


def test_a_folder_without_a_server_is_missing(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(SUITE)
    done = groundspeed("doctor", "s.yaml", "--set", "environments.one.bin_dir=/nowhere")
    assert done.code == 4
    assert "environment one: /nowhere: no redis-server there" in done.err


def test_too_few_clients_are_missing(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(SUITE)
    done = groundspeed("doctor", "s.yaml", "--set", "settings.maxclients=20")
    assert done.code == 4
    assert "maxclients is 20, 20 clients need 28" in done.err


def test_a_given_server_that_does_not_answer_is_missing(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(
        "suite: s\nengine: redis\nenvironments:\n  g: {target: server, dsn: 'unix:///nowhere/s'}\n"
        "workloads:\n  - {name: write, load: {test: set}, writes: true}\n"
    )
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 4
    assert "environment g: Redis: No such file or directory" in done.err
