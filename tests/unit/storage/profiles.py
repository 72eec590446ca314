"""Profiles drawn at random, as they may stand in a file; for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from groundspeed.storage.profile import (
    NO_TIME,
    Counted,
    CpuTime,
    Device,
    Direction,
    Figure,
    Latency,
    Limit,
    Profile,
    ReadsFrom,
    Replication,
    Standing,
    Trouble,
)

times_s = st.floats(min_value=1e-9, max_value=3600.0)
ratios = st.floats(min_value=0.0, max_value=1.0)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.from_regex(r"[a-z0-9][ -~]{0,20}[a-z0-9]", fullmatch=True)


@st.composite
def latencies(draw: st.DrawFn) -> Latency:
    low, high = sorted((draw(times_s), draw(times_s)))
    points = draw(
        st.dictionaries(st.integers(min_value=1, max_value=9999), times_s, min_size=2, max_size=6)
    )
    quantiles = tuple(
        zip((p / 10_000 for p in sorted(points)), sorted(points.values()), strict=True)
    )
    return draw(
        st.sampled_from(
            [
                NO_TIME,
                Latency(median_s=low, p99_s=high),
                Latency(median_s=low, p99_s=high, quantiles=quantiles),
            ]
        )
    )


limits = st.builds(
    Limit,
    of=st.just(Counted.REQUESTS),
    on=st.sampled_from(Direction),
    rate_per_s=st.floats(min_value=1e-3, max_value=1e12),
    credits_count=st.floats(min_value=1.0, max_value=1e12),
    start_ratio=ratios,
    slice_s=st.just(0.0) | times_s,
) | st.builds(
    Limit,
    of=st.just(Counted.BYTES),
    on=st.sampled_from(Direction),
    rate_per_s=st.floats(min_value=1e-3, max_value=1e12),
    credits_count=st.integers(min_value=0, max_value=2**45).map(float),
)


def devices(fewest: int) -> st.SearchStrategy[Device]:
    return st.builds(
        Device,
        read=latencies(),
        write=latencies(),
        sync=latencies(),
        parallel_count=st.integers(min_value=fewest, max_value=256),
        limits=st.lists(limits, max_size=3).map(tuple),
    )


@st.composite
def replications(draw: st.DrawFn) -> Replication:
    count = draw(st.integers(min_value=1, max_value=8))
    return Replication(
        replicas_count=count,
        acknowledge_count=draw(st.integers(min_value=1, max_value=count)),
        round_trip=draw(latencies()),
        reads=draw(st.sampled_from(ReadsFrom)),
        one_is_local=draw(st.booleans()),
        link_bytes_per_s=draw(st.none() | st.floats(min_value=1.0, max_value=1e12)),
    )


troubles = st.builds(
    Trouble,
    stall_after_s=times_s,
    stall_s=times_s,
    read_error_ratio=ratios,
    write_error_ratio=ratios,
    size_bytes=st.none() | st.integers(min_value=1, max_value=2**60),
) | st.just(Trouble())

cpus = st.builds(CpuTime, read_s=times_s, write_s=times_s, sync_s=times_s) | st.just(CpuTime())

figures = st.builds(
    Figure,
    what=words,
    standing=st.sampled_from(Standing),
    source=words,
    date=st.sampled_from(["2026-03-01", "2026-11", "2026", "in spring"]) | words,
)

profiles = st.builds(
    Profile,
    name=names,
    about=words,
    device=devices(1),
    request_bytes=st.integers(min_value=1, max_value=1024).map(lambda pages: pages * 4096),
    front=st.none() | devices(0),
    replication=st.none() | replications(),
    trouble=troubles,
    cpu=cpus,
    readahead_bytes=st.integers(min_value=0, max_value=2**30),
    writeback_depth_count=st.integers(min_value=1, max_value=1024),
    parameters=st.dictionaries(names, names, max_size=3).map(lambda given: tuple(given.items())),
    figures=st.lists(figures, max_size=3).map(tuple),
)
