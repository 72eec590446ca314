from __future__ import annotations

from importlib import resources

import pytest

from groundspeed.probes import sql


@pytest.mark.parametrize(
    ("version_num", "names_view_of_17"),
    [(130000, False), (160014, False), (170000, True), (180004, True)],
)
def test_the_newest_statement_that_the_server_knows(
    version_num: int,
    names_view_of_17: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    text = sql.statement("checkpoints", version_num)
    assert text is not None
    assert ("pg_stat_checkpointer" in text) == names_view_of_17


def test_what_an_old_server_does_not_know_is_no_statement() -> None:
    assert sql.statement("wal", 139999) is None
    assert sql.statement("wal", 140000) is not None
    assert sql.statement("io", 150000) is None


def test_a_name_with_dashes_is_no_version() -> None:
    assert "pg_database_size" in (sql.statement("database-size", 130000) or "")
    assert sql.statement("no-such-question", 180000) is None


def test_every_statement_carries_the_mark_by_which_it_is_known() -> None:
    files = [file for file in resources.files(sql).iterdir() if file.name.endswith(".sql")]
    assert files
    assert [f.name for f in files if not f.read_text().startswith("-- groundspeed probe: ")] == []
