"""Measures the referee on made-up articles: what it finds of what was planted, and false alarms.

    python -m bench.audit [--list]

The articles are in tests/corpus/audit, each with a YAML of what is planted. The held-out set was
written after the checker was done, and the checker was not changed for it. Both sets are made up by
the authors of the checker: they say what it can see, not how often real articles are wrong.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.figures import MISSED
from groundspeed.audit import Remark, audit
from groundspeed.errors import UsageError

CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "audit"
SETS = ("development", "held-out")
# Asked of each set; the held-out one decides.
LEAST_PRECISION = 0.95
LEAST_RECALL = 0.70


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One article: what was planted and found, what was missed, and what was said beyond it."""

    name: str
    clean: bool
    found: int
    missed: tuple[dict[str, Any], ...]
    false: tuple[Remark, ...]


def score(article: Path) -> Scored:
    """Audit one article and hold the remarks against its sidecar."""
    planted = yaml.safe_load(article.with_suffix(".yaml").read_text())["planted"]
    remarks = _remarks(article)
    explained: set[int] = set()
    missed = []
    for mistake in planted:
        hits = {at for at, remark in enumerate(remarks) if matches(remark, mistake)}
        free = hits - explained
        if not free:
            missed.append(mistake)
        explained |= free if mistake.get("every") else set(sorted(free)[:1])
    return Scored(
        name=article.name,
        clean=not planted,
        found=len(planted) - len(missed),
        missed=tuple(missed),
        false=tuple(r for at, r in enumerate(remarks) if at not in explained),
    )


def _remarks(article: Path) -> tuple[Remark, ...]:
    try:
        return audit(article.read_text(), suffix=article.suffix, source=article.name).remarks
    except UsageError:
        # No table was recognised: nothing is said, and all that is planted is missed.
        return ()


def matches(remark: Remark, mistake: dict[str, Any]) -> bool:
    """Tell whether a remark is of this mistake: the same check at the same place."""
    if remark.check.value != mistake["check"]:
        return False
    if "path" in mistake:
        return remark.place.path.startswith(mistake["path"])
    line = remark.place.line
    return line is not None and abs(line - mistake["line"]) <= mistake.get("near", 0)


def articles(name: str) -> list[Path]:
    """List the articles of a set."""
    return sorted(p for p in (CORPUS / name).iterdir() if p.suffix != ".yaml")


def main() -> int:
    """Print precision and recall of both sets; 1 when the held-out set misses a bound."""
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=__doc__)
    parser.add_argument("--list", action="store_true", help="name what was missed or said wrongly")
    parser.add_argument("--quick", action="store_true", help="the same: it takes a second")
    arguments = parser.parse_args()
    met = True
    print("made-up articles; a remark counts as right when it is of a planted mistake")
    print(
        f"{'set':<12} {'articles':>8} {'clean':>6} {'planted':>8} {'found':>6} {'false':>6} "
        f"{'precision':>10} {'recall':>7}"
    )
    for name in SETS:
        scored = [score(article) for article in articles(name)]
        precision, recall = _print(name, scored, listed=arguments.list)
        if name == SETS[-1]:
            met = precision >= LEAST_PRECISION and recall >= LEAST_RECALL
    asked = f"precision {LEAST_PRECISION:.0%}, recall {LEAST_RECALL:.0%} on the held-out set"
    print(f"asked: {asked}: {'met' if met else 'missed'}")
    return 0 if met else MISSED


def _print(name: str, scored: list[Scored], *, listed: bool) -> tuple[float, float]:
    found = sum(each.found for each in scored)
    planted = found + sum(len(each.missed) for each in scored)
    false = sum(len(each.false) for each in scored)
    precision = found / (found + false) if found + false else 1.0
    recall = found / planted if planted else 1.0
    clean = sum(each.clean for each in scored)
    print(
        f"{name:<12} {len(scored):>8} {clean:>6} {planted:>8} {found:>6} {false:>6} "
        f"{precision:>10.1%} {recall:>7.1%}"
    )
    if listed:
        for each in scored:
            for mistake in each.missed:
                where = mistake.get("line", mistake.get("path"))
                print(f"  missed {each.name}: {mistake['check']} at {where}: {mistake['what']}")
            for remark in each.false:
                print(
                    f"  false {each.name}: {remark.check} at {remark.place.text}: {remark.message}"
                )
    return precision, recall


if __name__ == "__main__":
    sys.exit(main())
