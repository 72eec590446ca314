"""The corpus of made-up articles: what each set must reach, and that its labels are whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import yaml

from bench import audit as bench
from groundspeed.audit import Check

if TYPE_CHECKING:
    from pathlib import Path

ARTICLES = {name: bench.articles(name) for name in bench.SETS}
# Said in the sidecars: two digits agree by chance, and a sentence half in German.
KNOWN_MISSES = {("planted-09-latency.txt", "label"), ("planted-10-eu.csv", "change")}


def planted(article: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = yaml.safe_load(article.with_suffix(".yaml").read_text())[
        "planted"
    ]
    return found


@pytest.mark.parametrize("article", ARTICLES["development"], ids=lambda path: path.name)
def test_the_development_set_is_read_right(article: Path) -> None:
    scored = bench.score(article)
    assert scored.false == ()
    assert {(article.name, mistake["check"]) for mistake in scored.missed} <= KNOWN_MISSES


def test_the_held_out_set_reaches_its_bounds() -> None:
    scored = [bench.score(article) for article in ARTICLES["held-out"]]
    found = sum(each.found for each in scored)
    false = sum(len(each.false) for each in scored)
    missed = sum(len(each.missed) for each in scored)
    assert found / (found + false) >= bench.LEAST_PRECISION
    assert found / (found + missed) >= bench.LEAST_RECALL


@pytest.mark.parametrize("name", bench.SETS)
def test_a_set_has_clean_articles_and_several_of_each_kind(name: str) -> None:
    kinds = Counter(str(m["check"]) for article in ARTICLES[name] for m in planted(article))
    assert set(kinds) <= {check.value for check in Check}
    assert sum(not planted(article) for article in ARTICLES[name]) >= 6
    assert sum(bool(planted(article)) for article in ARTICLES[name]) >= 6
    everywhere = Counter(
        str(m["check"]) for each in ARTICLES.values() for article in each for m in planted(article)
    )
    assert all(everywhere[check.value] >= 2 for check in Check)


def test_every_article_says_that_it_is_made_up() -> None:
    for articles in ARTICLES.values():
        for article in articles:
            assert yaml.safe_load(article.with_suffix(".yaml").read_text())["made_up"] is True
