"""Which Redis programs are chosen, and what is said where none fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.targets import redis_programs

if TYPE_CHECKING:
    from pathlib import Path


def program(folder: Path, name: str, said: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return path


def test_a_folder_is_taken_at_its_word(tmp_path: Path) -> None:
    path = program(tmp_path, "valkey-server", "Valkey server v=8.0.1 sha=00000000:1 malloc=libc")
    found = redis_programs.find_server(None, str(tmp_path))
    assert (found.path, found.title, found.major, found.source) == (
        *(path, "Valkey 8.0.1", 8, "bin_dir"),
    )
    assert redis_programs.find_server(8, str(tmp_path)) == found
    with pytest.raises(TargetError, match=r"holds Valkey 8\.0\.1, the suite asks for 7") as caught:
        redis_programs.find_server(7, str(tmp_path))
    assert "version: 8" in caught.value.hint


def test_a_folder_without_one_and_one_that_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no redis-server there"):
        redis_programs.find_server(None, str(tmp_path))
    program(tmp_path, "redis-server", "what?")
    with pytest.raises(TargetError, match="reports no version"):
        redis_programs.find_server(None, str(tmp_path))


def test_servers_that_are_too_old_are_refused(tmp_path: Path) -> None:
    program(tmp_path, "redis-server", "Redis server v=5.0.14 sha=00000000:0 malloc=libc")
    with pytest.raises(TargetError, match=r"Redis 5\.0\.14, which is too old"):
        redis_programs.find_server(None, str(tmp_path))


def test_a_version_that_is_not_here_names_what_is() -> None:
    with pytest.raises(TargetError) as caught:
        redis_programs.find_server(3)
    assert caught.value.message.startswith("Redis or Valkey 3 is not on this machine (found: ")
    assert "redis-server" in caught.value.hint


def test_a_load_tool_that_counts_refusals_is_refused(tmp_path: Path) -> None:
    program(tmp_path, "redis-benchmark", "redis-benchmark 6.2.2")
    with pytest.raises(TargetError, match="counts requests that the server refused"):
        redis_programs.find_load_tool(str(tmp_path))
    program(tmp_path, "redis-benchmark", "redis-benchmark 6.2.3")
    assert redis_programs.find_load_tool(str(tmp_path)).version == "6.2.3"


def test_a_load_tool_without_tls_is_refused_where_tls_is_asked_for(tmp_path: Path) -> None:
    path = program(tmp_path, "redis-benchmark", "redis-benchmark 7.0.15")
    said = path.read_text()
    path.write_text(said.replace("\n", "\n[ $1 = --tls ] && exit 1\n", 1))
    assert redis_programs.find_load_tool(str(tmp_path), for_url="redis://h").path == path
    with pytest.raises(TargetError, match="was built without TLS, which rediss://h asks for"):
        redis_programs.find_load_tool(str(tmp_path), for_url="rediss://h?ssl_ca_certs=/c")


def test_nothing_on_the_path_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "redis-server", "Redis server v=7.2.4 sha=00000000:0 malloc=libc")
    assert redis_programs.find_server(7).title == "Redis 7.2.4"
    (tmp_path / "redis-server").unlink()
    if not redis_programs.find_servers():
        with pytest.raises(TargetError, match=r"not on this machine \(found: none\)") as caught:
            redis_programs.find_server(None)
        assert "redis-server" in caught.value.hint
        with pytest.raises(TargetError) as caught:
            redis_programs.find_load_tool()
        assert "redis-tools" in caught.value.hint
