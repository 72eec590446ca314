"""Parity guard: environments that differ in more than what is compared.

A suite says by `vary` what may differ. Whatever else differs could be the reason for a result as
well as the thing compared, and is listed at every comparison it touches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.diagnosis import CellKey, GuardFinding, GuardKind
from groundspeed.analyse.guards import parity_facts
from groundspeed.analyse.guards.parity_facts import ABSENT, DEFAULT, Fact, Known
from groundspeed.analyse.guards.wording import listed
from groundspeed.plan import POSTGRES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.attempts import Settled
    from groundspeed.analyse.findings import Comparison

CONFOUNDED = "confounded"
SEVERAL_SETTINGS = "several-settings"
# A list that is longer is no longer read; the table of differences has them all.
_MOST_SHOWN = 12
# Round trips of one place vary with the load: only a difference that is large both ways is one.
_ROUND_TRIP_RATIO, _ROUND_TRIP_S = 1.5, 100e-6
_TWO = 2


class Differing(NamedTuple):
    """A fact and its two values: of the baseline, then of the environment."""

    fact: Fact
    of_baseline: str
    of_environment: str

    @property
    def text(self) -> str:
        """Name it with both values."""
        return f"{self.fact.name} {self.of_baseline} and {self.of_environment}"


def parity_findings(
    settled: Settled, comparisons: Sequence[Comparison]
) -> tuple[GuardFinding, ...]:
    """Find what confounds comparisons; once for each environment and its baseline."""
    by_pair: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        by_pair.setdefault((comparison.baseline, comparison.environment), []).append(comparison)
    found: list[GuardFinding] = []
    for (baseline, environment), touched in by_pair.items():
        finding = judge(
            (baseline, environment),
            differing(_known(settled, baseline), _known(settled, environment)),
            _vary(settled, baseline, environment),
            cells=tuple(_cell(comparison) for comparison in touched),
        )
        if finding is not None:
            found.append(finding)
    return tuple(found)


def _known(settled: Settled, environment: str) -> Known:
    return parity_facts.known(
        [t for t in settled.measured if t.record.trial.cell.environment == environment]
    )


def _vary(settled: Settled, *names: str) -> frozenset[str] | None:
    """Give what the runs with these environments let differ, all of them; None: they do not say."""
    declared = [
        frozenset(run.vary)
        for run in settled.runs
        if run.vary is not None and set(names) <= set(run.environments)
    ]
    return frozenset.intersection(*declared) if declared else None


def _cell(comparison: Comparison) -> CellKey:
    return CellKey(
        environment=comparison.environment,
        workload=comparison.workload,
        clients=comparison.clients,
        threads=comparison.threads,
        scale=comparison.scale,
    )


def differing(baseline: Known, environment: Known) -> tuple[Differing, ...]:
    """List the facts in which two environments differ, without mere consequences of others.

    Settings come last, by name; the others as facts of the baseline come.
    """
    first, second = _with_defaults(baseline, environment), _with_defaults(environment, baseline)
    found = [
        Differing(fact, first[fact], second[fact])
        for fact in {**first, **second}
        if fact in first and fact in second and first[fact] != second[fact]
    ]
    found += _round_trip(baseline.round_trip_s, environment.round_trip_s)
    facts = {one.fact for one in found}
    told = [one for one in found if not _follows(one, facts)]
    return tuple(sorted(told, key=_settings_last))


def _settings_last(one: Differing) -> tuple[bool, str]:
    is_setting = one.fact.kind == "settings"
    return is_setting, one.fact.name if is_setting else ""


def _with_defaults(one: Known, other: Known) -> dict[Fact, str]:
    """Add what only the other has: pg_settings was asked for what is not default."""
    absent = {"settings": DEFAULT, "extensions": ABSENT}
    if not (one.server_is_known and other.server_is_known):
        return dict(one.facts)
    # What probes asked for in both is no default where one of them could not tell.
    told = {parity_facts.HUGE_PAGES_STATUS.name, "data_checksums"}
    added = {
        fact: one.in_force.get(fact, absent[fact.kind])
        for fact in other.facts
        if fact.kind in absent and fact.name not in told
    }
    return {**added, **one.facts}


def _round_trip(first_s: float | None, second_s: float | None) -> list[Differing]:
    if first_s is None or second_s is None:
        return []
    low_s, high_s = sorted((first_s, second_s))
    if high_s - low_s <= _ROUND_TRIP_S or high_s <= _ROUND_TRIP_RATIO * low_s:
        return []
    fact = Fact("network", "round trip")
    return [Differing(fact, f"{first_s * 1e3:.3g} ms", f"{second_s * 1e3:.3g} ms")]


def _follows(one: Differing, differing_facts: set[Fact]) -> bool:
    """Tell whether a difference is but the consequence of another one that is listed."""
    causes: Mapping[Fact, tuple[Fact, ...]] = {
        parity_facts.HUGE_PAGES_STATUS: (parity_facts.HUGE_PAGES,),
        parity_facts.FIGURES: (parity_facts.STORAGE,),
        Fact("network", "round trip"): (parity_facts.PATH, Fact("network", "client and server")),
        Fact("version", "pgbench"): (parity_facts.version(POSTGRES),),
        Fact("version", "image"): (parity_facts.version(POSTGRES),),
        Fact("cpu", "CPUs it may run on"): (Fact("cpu", "QoS class"), Fact("cpu", "CPU limit")),
    }
    if one.fact.kind == "extensions":
        # Another server brings its extensions in other versions.
        both = ABSENT not in (one.of_baseline, one.of_environment)
        return both and parity_facts.version(POSTGRES) in differing_facts
    return any(cause in differing_facts for cause in causes.get(one.fact, ()))


def judge(
    names: tuple[str, str],
    found: Sequence[Differing],
    vary: frozenset[str] | None,
    *,
    cells: tuple[CellKey, ...] = (),
) -> GuardFinding | None:
    """Say what confounds a comparison of (baseline, environment); None where nothing does.

    Without a declared `vary` one kind of difference is taken for what is compared.
    """
    told = _undeclared(found) if vary is None else _beside(found, vary)
    if told is None:
        return None
    code, message = told
    return GuardFinding(
        kind=GuardKind.PARITY,
        code=code,
        message=f"{names[0]} and {names[1]}: {message}",
        cells=cells,
        environments=names,
    )


def may_differ(fact: Fact, vary: frozenset[str]) -> bool:
    """Tell whether `vary` lets a fact differ: by its kind, or a setting by its name."""
    if fact.kind in vary:
        return True
    return fact.kind == "settings" and f"settings.{fact.name}" in vary


def _beside(found: Sequence[Differing], vary: frozenset[str]) -> tuple[str, str] | None:
    extra = [one for one in found if not may_differ(one.fact, vary)]
    if not extra:
        return None
    meant = dict.fromkeys(_meant(one.fact, vary) for one in found if may_differ(one.fact, vary))
    differ = "differs" if len(extra) == 1 else "differ"
    if meant:
        return CONFOUNDED, f"{_shown(extra)} {differ} besides {listed(list(meant))}"
    words = listed(sorted(vary)) or "nothing"
    return CONFOUNDED, f"{_shown(extra)} {differ}, where only {words} may"


def _meant(fact: Fact, vary: frozenset[str]) -> str:
    return fact.kind if fact.kind in vary else fact.name


def _undeclared(found: Sequence[Differing]) -> tuple[str, str] | None:
    kinds: dict[str, list[Differing]] = {}
    for one in found:
        kinds.setdefault(one.fact.kind, []).append(one)
    if len(kinds) >= _TWO:
        parts = [f"{kind} ({_shown(ones)})" for kind, ones in kinds.items()]
        example = next(iter(kinds))
        return CONFOUNDED, (
            f"they differ in {listed(parts)}, and nothing tells which of them made the difference;"
            f" declare what is compared, as in vary: {example}"
        )
    settings = kinds.get("settings", [])
    if len(settings) >= _TWO:
        return SEVERAL_SETTINGS, (
            f"{_shown(settings)} differ, and nothing tells which of them made the difference;"
            f" declare what is compared, as in vary: settings.{settings[0].fact.name},"
            " or vary: settings where all of them are one step"
        )
    return None


def _shown(ones: Sequence[Differing]) -> str:
    more = len(ones) - _MOST_SHOWN
    text = ", ".join(one.text for one in ones[:_MOST_SHOWN])
    return f"{text} and {more} more" if more > 0 else text
