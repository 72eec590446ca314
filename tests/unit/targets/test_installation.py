from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.targets import installation

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, version: str, *programs: str) -> Path:
    bin_dir = root / "usr" / "lib" / "postgresql" / version / "bin"
    bin_dir.mkdir(parents=True)
    for name in programs:
        (bin_dir / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}.4 (Debian)'\n")
        (bin_dir / name).chmod(0o755)
    return bin_dir


def test_a_client_alone_is_no_installation_but_where_that_is_enough(tmp_path: Path) -> None:
    client = put(tmp_path, "15", "pgbench")
    whole = put(tmp_path, "14", "postgres", "initdb", "pgbench")

    def here(*needed: str) -> list[Path]:
        asked = {"needed": needed} if needed else {}
        found = installation.find_installations(tmp_path, **asked)
        return [one.bin_dir for one in found if one.bin_dir.is_relative_to(tmp_path)]

    assert here() == [whole]
    assert here("pgbench") == [client, whole]
