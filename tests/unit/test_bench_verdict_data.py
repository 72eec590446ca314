"""The recorded data of the verdict's benchmarks carry the figures that are told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench.verdict import alike, kept, matrix, matrix_figures
from groundspeed.stats.paired_ratio import paired_ratio

if TYPE_CHECKING:
    from pathlib import Path


def comparisons_of(path: Path) -> list[dict[str, Any]]:
    rows = kept.rows_of(path) if path.suffix == ".jsonl" else [kept.read(path)]
    return [c for row in rows for c in row.get("comparisons", ())]


@pytest.mark.parametrize("path", [alike.RECORDED, matrix.EARLY], ids=lambda path: path.stem)
def test_recorded_ratios_are_those_of_the_recorded_pairs(path: Path) -> None:
    found = comparisons_of(path)

    assert len(found) >= 60
    for row in (row for row in found if row["pairs"]):
        pairs = [(a, b) for a, b in row["pairs"]]
        assert paired_ratio(pairs).ratio == pytest.approx(row["ratio"], rel=1e-3)


def test_sixty_real_comparisons_of_a_thing_with_itself_were_recorded() -> None:
    rows = alike.measured_rows(kept.rows_of(alike.RECORDED))

    assert [row["run"] for row in rows] == list(range(alike.RUNS))
    assert [f.name for f in alike.figures(rows) if f.met is False] == []


def test_the_recorded_matrix_holds_what_was_asked_of_it() -> None:
    early, long = kept.read(matrix.EARLY), kept.read(matrix.TRUTH)
    asked = [f for f in matrix_figures.figures(early, long) if f.met is not None]
    not_agreement = [f for f in asked if "ratio by slices" not in f.name]

    assert early["family_count"] == 78
    assert len(not_agreement) == 4
    assert [f.name for f in not_agreement if not f.met] == []


@pytest.mark.parametrize("path", [alike.RECORDED, matrix.EARLY, matrix.TRUTH])
def test_recorded_data_say_where_they_are_from(path: Path) -> None:
    first = kept.rows_of(path)[0] if path.suffix == ".jsonl" else kept.read(path)

    assert first["command"].startswith("python -m bench.verdict.")
    assert {"date", "groundspeed_version", "circumstances"} < set(first)
    assert {"cpu_count", "kernel"} < set(first["host"])
