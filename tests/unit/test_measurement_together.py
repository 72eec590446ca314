"""What speaks against adding up what several generators did."""

from __future__ import annotations

import msgspec
import pytest

from groundspeed.measurement.together import Part, doubts
from groundspeed.stats.clock_offset import Offset

MS_NS = 1_000_000


def part_of(  # noqa: PLR0913 - each is one thing to doubt
    number: int,
    *,
    began_s: float = 100.0,
    ahead_ms: float = 0.5,
    error_ms: float = 0.4,
    after_ms: float | None = None,
    node: str = "",
) -> Part:
    error_ns = round(error_ms * MS_NS)
    after_ms = ahead_ms if after_ms is None else after_ms
    return Part(
        name=f"generator {number}",
        node=node or f"node-{number}",
        began_s=began_s,
        before=Offset(ahead_ns=round(ahead_ms * MS_NS), error_ns=error_ns),
        after=Offset(ahead_ns=round(after_ms * MS_NS), error_ns=error_ns),
    )


def told(*parts: Part, duration_s: float = 60.0, nodes: tuple[str, ...] = ()) -> dict[str, str]:
    found = doubts(parts, duration_s=duration_s, server_nodes=frozenset(nodes))
    return {caution.code: caution.message for caution in found}


def test_three_that_ran_together_are_not_doubted() -> None:
    parts = (part_of(1), part_of(2, began_s=100.04), part_of(3, ahead_ms=-9.0))
    assert told(*parts, nodes=("node-4",)) == {}


@pytest.mark.parametrize(
    ("apart_s", "duration_s", "is_doubted"),
    [(0.04, 60.0, False), (0.06, 60.0, True), (0.012, 1.0, True), (0.008, 1.0, False)],
)
def test_starts_that_lie_apart(apart_s: float, duration_s: float, *, is_doubted: bool) -> None:
    found = told(part_of(1), part_of(2, began_s=100.0 + apart_s), duration_s=duration_s)
    assert ("generators-apart" in found) is is_doubted
    if is_doubted:
        assert f"{apart_s * 1000:.0f} ms apart" in found["generators-apart"]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (part_of(2, ahead_ms=12.34), "generator 2 is 12.3 ms ahead of the runner's"),
        (part_of(2, ahead_ms=-2000.0), "generator 2 is 2000.0 ms behind the runner's"),
        (part_of(2, error_ms=11.0), "known to 11.0 ms only"),
        (part_of(2, ahead_ms=0.0, after_ms=-30.0), "generator 2 was set by -30.0 ms during"),
    ],
)
def test_clocks_that_differ_or_are_not_known(part: Part, words: str) -> None:
    found = told(part_of(1), part, part_of(3))
    assert list(found) == ["clock-skew"]
    assert words in found["clock-skew"]


def test_a_clock_that_could_not_be_asked_again() -> None:
    gone = msgspec.structs.replace(part_of(2), after=None)
    found = told(part_of(1), gone)
    assert list(found) == ["clock-skew"]
    assert "generator 2 was not measured again" in found["clock-skew"]


def test_a_clock_that_moved_within_its_error_may_have_stood() -> None:
    assert told(part_of(1), part_of(2, ahead_ms=0.0, after_ms=20.0, error_ms=6.0)) == {}


def test_a_generator_beside_the_server() -> None:
    found = told(part_of(1), part_of(2), nodes=("node-2", "node-9"))
    assert list(found) == ["generator-node"]
    assert "(node-2)" in found["generator-node"]
