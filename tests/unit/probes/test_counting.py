"""Ticks, seconds and sums against a clock that is set by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.counting import TICKS_PER_S, WHOLE_PROCESS, Count, Guarded, merge, series_of
from groundspeed.probes.sampling import Part
from groundspeed.record import Series
from groundspeed.record.evidence import (
    Absent,
    EventKind,
    PostgresWork,
    ProbeLevel,
    ServerEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Clock:
    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


class Small:
    """Counts its calls; `works` is called with the name of each."""

    def __init__(self, works: Callable[[str], None] = lambda _: None, *, name: str = "a") -> None:
        self.calls: list[str] = []
        self._works = works
        self._name = name
        self._seen = 0

    def _call(self, call: str) -> None:
        self.calls.append(call)
        self._works(call)

    def begin(self) -> None:
        self._call("begin")

    def tick(self) -> None:
        self._seen += 1
        self._call("tick")

    def second(self) -> Mapping[str, float | None]:
        self._call("second")
        seen, self._seen = self._seen, 0
        return {f"{self._name}_count": float(seen)}

    def end(self) -> Part:
        self._call("end")
        return Part(activity_sample_count=self.calls.count("tick"))

    def close(self) -> None:
        self._call("close")


def guarded(sampler: Small, what: str = "small") -> Guarded:
    return Guarded(what, lambda: sampler, "s3cret")


def count_of(
    clock: Clock, *samplers: Small, level: ProbeLevel = ProbeLevel.FULL, begin_s: float = 1e9
) -> Count:
    return Count(level, [guarded(s) for s in samplers], monotonic_s=clock, wall_s=lambda: begin_s)


def live(clock: Clock, count: Count, until_s: float, *, late_s: float = 0.0) -> None:
    """Let time go on from tick to tick; each is made `late_s` after it was due."""
    while clock.now_s + count.wait_s() + late_s <= until_s:
        clock.now_s += count.wait_s() + late_s
        count.turn()
    clock.now_s = until_s


def column(series: Series, name: str = "a_count") -> tuple[float | None, ...]:
    return series.column(name)


def test_ten_ticks_a_second_and_a_row_for_each_whole_second() -> None:
    clock, sampler = Clock(), Small()
    count = count_of(clock, sampler)
    live(clock, count, 53.05)
    seen = count.end()
    assert seen.evidence.activity_sample_count == 30
    assert seen.evidence.elapsed_s == pytest.approx(3.05)
    assert seen.evidence.started_at_s == 1e9
    assert seen.series == Series(
        columns=("second_index", "a_count"), values=((0, 1, 2), (10, 10, 10))
    )
    (cost,) = seen.evidence.costs
    assert (cost.probe, cost.call_count) == (WHOLE_PROCESS, 30)


def test_an_hour_does_not_drift() -> None:
    clock, sampler = Clock(), Small()
    count = count_of(clock, sampler)
    live(clock, count, 50.0 + 3600.5, late_s=0.004)
    seen = count.end()
    assert seen.evidence.activity_sample_count == 36_000 + 4
    assert column(seen.series) == (10.0,) * 3600


def test_ticks_that_were_missed_are_not_made_up_for() -> None:
    clock = Clock()
    slow_s = iter([0.0, 0.35, 0.0])

    def works(call: str) -> None:
        if call == "tick":
            clock.now_s += next(slow_s, 0.0)

    sampler = Small(works)
    count = count_of(clock, sampler)
    live(clock, count, 51.05)
    seen = count.end()
    # Due at 0.1 to 1.0: the second took until 0.55, so those of 0.3, 0.4 and 0.5 are left out.
    assert seen.evidence.activity_sample_count == 7
    (cost,) = seen.evidence.costs
    assert cost.slowest_s == pytest.approx(0.35)
    assert cost.elapsed_s == pytest.approx(0.35)


def test_a_turn_that_comes_too_early_does_nothing() -> None:
    clock, sampler = Clock(), Small()
    count = count_of(clock, sampler)
    clock.now_s += 0.09
    count.turn()
    assert sampler.calls == ["begin"]
    assert count.wait_s() == pytest.approx(0.01)


def test_seconds_that_went_by_unseen_are_unknown_and_keep_their_place() -> None:
    clock, sampler = Clock(), Small()
    count = count_of(clock, sampler)
    live(clock, count, 51.0)
    clock.now_s = 54.02
    count.turn()
    live(clock, count, 55.0)
    seen = count.end()
    assert seen.series.column("second_index") == (0, 1, 2, 3, 4)
    assert column(seen.series) == (10.0, None, None, 1.0, 10.0)


def test_light_watches_seconds_and_never_ticks() -> None:
    clock, sampler = Clock(), Small()
    count = count_of(clock, sampler, level=ProbeLevel.LIGHT)
    live(clock, count, 53.5)
    seen = count.end()
    assert sampler.calls == ["begin", "second", "second", "second", "end"]
    assert seen.evidence.level is ProbeLevel.LIGHT
    assert len(column(seen.series)) == 3


def test_nothing_is_counted_below_a_second() -> None:
    clock, sampler = Clock(), Small()
    count = count_of(clock, sampler)
    live(clock, count, 50.9)
    assert count.end().series == Series()
    assert TICKS_PER_S[ProbeLevel.FULL] == 10


@pytest.mark.parametrize("broken", ["begin", "tick", "second", "end"])
def test_a_sampler_that_breaks_is_absent_and_the_other_goes_on(broken: str) -> None:
    clock = Clock()

    def breaks(call: str) -> None:
        if call == broken:
            raise RuntimeError("no\nway with s3cret")

    whole, half = Small(), Small(breaks, name="b")
    count = count_of(clock, half, whole)
    live(clock, count, 52.0)
    seen = count.end()
    assert seen.evidence.absent == (Absent(what="small", reason="RuntimeError: no way with ***"),)
    assert column(seen.series) == (10.0, 10.0)
    assert half.calls[-1] == broken


def test_a_sampler_that_cannot_be_opened_is_absent() -> None:
    def refuse() -> Small:
        raise ImportError("no psycopg")

    closed = Guarded("database", refuse, None)
    closed.begin()
    closed.tick()
    assert closed.second() == {}
    assert closed.end() == Part(absent=(Absent(what="database", reason="ImportError: no psycopg"),))
    closed.close()


def test_parts_are_merged() -> None:
    late, early = (ServerEvent(kind=EventKind.CHECKPOINT, at_s=at_s) for at_s in (2.0, 1.0))
    absent = Absent(what="x", reason="y")
    merged = merge(
        [
            Part(events=(late,), absent=(absent,)),
            Part(events=(early,), absent=(absent,), wait_source="pg_stat_activity"),
            Part(postgres=PostgresWork(), activity_sample_count=3),
        ]
    )
    assert merged == Part(
        events=(early, late),
        absent=(absent,),
        wait_source="pg_stat_activity",
        postgres=PostgresWork(),
        activity_sample_count=3,
    )


def test_rows_with_other_names_become_columns_with_gaps() -> None:
    assert series_of([{"a_count": 1.0}, {}, {"b_count": 2.0, "a_count": 3.0}]) == Series(
        columns=("second_index", "a_count", "b_count"),
        values=((0, 1, 2), (1.0, None, 3.0), (None, None, 2.0)),
    )
    assert series_of([]) == Series()
