"""From the rows of a probe to caps, doubts and a profile, on devices that are made up."""

from __future__ import annotations

from statistics import median

import msgspec
import pytest

from groundspeed.analyse.probe_caps import Cap, find_caps, limits
from groundspeed.analyse.probe_compare import Side, compare
from groundspeed.analyse.probe_profile import outcome
from groundspeed.analyse.probed import Probed, What
from groundspeed.storage.profile import Counted, CpuTime, Direction
from tests.probe_example import Disk, probe


def cap_of(disk: Disk, of: Counted, on: Direction) -> Cap | None:
    return next((c for c in find_caps(probe(disk)) if (c.of, c.on) == (of, on)), None)


def test_a_cap_on_requests_that_reads_and_writes_share_is_one() -> None:
    cap = cap_of(Disk(requests_per_s=3000), Counted.REQUESTS, Direction.BOTH)
    assert cap is not None
    assert cap.reached
    assert cap.rate_per_s == pytest.approx(3000, rel=0.02)


def test_caps_of_their_own_are_two() -> None:
    disk = Disk(requests_per_s=3000, shared=False)
    for on in (Direction.READ, Direction.WRITE):
        cap = cap_of(disk, Counted.REQUESTS, on)
        assert cap is not None
        assert cap.reached


def test_a_rate_that_still_rises_is_no_cap() -> None:
    cap = cap_of(Disk(bytes_per_s=1e12), Counted.REQUESTS, Direction.READ)
    assert cap is not None
    assert not cap.reached
    assert "still rising" in cap.why
    assert limits([cap]) == ()


def test_a_cap_on_bytes_is_equal_in_blocks_of_two_sizes() -> None:
    cap = cap_of(Disk(bytes_per_s=1.25e8), Counted.BYTES, Direction.BOTH)
    assert cap is not None
    assert cap.rate_per_s == pytest.approx(1.25e8, rel=0.02)
    slow = cap_of(Disk(bytes_per_s=1e14, read_s=1e-3), Counted.BYTES, Direction.READ)
    assert slow is not None
    assert not slow.reached


def test_a_cap_on_bytes_is_not_one_on_requests() -> None:
    cap = cap_of(Disk(bytes_per_s=1e8), Counted.REQUESTS, Direction.READ) or cap_of(
        Disk(bytes_per_s=1e8), Counted.REQUESTS, Direction.BOTH
    )
    assert cap is not None
    assert (cap.reached, cap.why) == (False, "this is the cap on bandwidth")


def test_an_interval_of_a_cap_rests_on_blocks_not_on_loads() -> None:
    probed = probe(Disk(requests_per_s=3000))
    assert all(len(cap.rates_per_s) == probed.block_count for cap in find_caps(probed))


def test_what_scatters_tells_nothing() -> None:
    caps = find_caps(probe(Disk(requests_per_s=3000, scatter_ratio=0.9)))
    assert not any(cap.reached for cap in caps)


def test_the_cap_of_busy_processors_is_not_the_devices() -> None:
    found = outcome(probe(Disk(requests_per_s=3000, busy_cpus=1.9)))
    assert found.fit.profile.device.limits == ()
    assert any("processors" in caution for caution in found.cautions)


def test_a_burst_gives_its_credits_to_the_cap_it_runs_into() -> None:
    reads = (0.0, *(3000.0,) * 15, *(300.0,) * 15)
    probed = probe(Disk(requests_per_s=300), logs=(reads, (1e6,) * 30))
    window_s = probed.bursts[0].window_s
    cap = next(c for c in find_caps(probed) if c.of is Counted.REQUESTS)
    assert cap.credits_count == pytest.approx(2700 * 16 * window_s)
    ((limit, why), *_) = limits([cap])
    assert limit.rate_per_s == pytest.approx(300, rel=0.02)
    assert limit.credits_count == round(cap.credits_count)
    assert "after a burst" in why
    # What the burst was served with has to go through at once.
    assert outcome(probed).fit.profile.device.parallel_count >= 3000 * 1e-4


def test_short_loads_that_live_on_credits_are_no_measure_of_a_cap() -> None:
    probed = probe(Disk(requests_per_s=600), logs=((0.0, *(300.0,) * 30), (1e6,) * 30))
    cap = next(c for c in find_caps(probed) if c.of is Counted.REQUESTS)
    assert (cap.reached, cap.rate_per_s, cap.credits_count) == (True, 300.0, 0.0)
    assert "short ones got more" in cap.why


def test_bytes_of_a_burst_are_counted_in_bytes() -> None:
    writes = (0.0, *(400.0,) * 15, *(100.0,) * 15)
    probed = probe(Disk(bytes_per_s=100 * 1024**2), logs=((1e6,) * 30, writes))
    cap = next(c for c in find_caps(probed) if c.of is Counted.BYTES)
    assert cap.credits_count == pytest.approx(300 * 1024**2 * 16 * probed.bursts[1].window_s)


def test_the_profile_has_the_latencies_at_depth_one() -> None:
    found = outcome(probe(Disk(scatter_ratio=0.0, servers=24, bytes_per_s=1e13)))
    device = found.fit.profile.device
    assert device.read.median_s == pytest.approx(1e-4, rel=0.01)
    assert device.write.median_s + device.sync.median_s == pytest.approx(1e-3, rel=0.05)
    assert device.parallel_count in (24, 25)


def test_processor_time_of_a_request_is_that_of_the_kernel_over_the_rate() -> None:
    probed = probe(Disk(kernel_cpus=0.2))
    cpu = outcome(probed).fit.profile.cpu
    rate_per_s = median(probed.row("randread-d1", What.READ).rates_per_s)
    assert cpu.read_s == pytest.approx(0.2 / rate_per_s, rel=0.1)
    assert min(cpu.write_s, cpu.sync_s) > 0


def test_a_probe_of_before_it_was_measured_claims_no_processor_time() -> None:
    probed = probe(Disk())
    older = msgspec.structs.replace(
        probed,
        rows=tuple(msgspec.structs.replace(row, kernel_cpu_counts=()) for row in probed.rows),
    )
    assert outcome(older).fit.profile.cpu == CpuTime()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"direct": False}, "O_DIRECT"),
        ({"in_memory": True, "filesystem": "tmpfs"}, "in memory"),
        ({"emulated": True}, "emulated"),
    ],
)
def test_doubts_of_the_place_are_told(changes: dict[str, object], said: str) -> None:
    assert any(said in caution for caution in outcome(probe(Disk(), **changes)).cautions)  # type: ignore[arg-type]


def test_doubts_of_the_sample_are_told() -> None:
    assert any("too few" in caution for caution in outcome(probe(Disk(), time_s=6.0)).cautions)
    drifted = outcome(probe(Disk(slower_ratio=0.3))).cautions
    assert any("last blocks" in caution for caution in drifted)
    quiet = outcome(probe(Disk(servers=8))).cautions
    assert not any("blocks" in caution for caution in quiet)


def side(name: str, probed: Probed, *, kept: bool = True) -> Side:
    return Side(name=name, profile=outcome(probed).fit.profile, probed=probed if kept else None)


def test_two_devices_are_compared_with_intervals() -> None:
    slow, fast = probe(Disk(read_s=2e-4)), probe(Disk(read_s=1e-4))
    rows = {row.metric.name: row for row in compare(side("a", slow), side("b", fast))}
    ratio = rows["random read, p50"].ratio
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low <= 0.5 <= ratio.high
    assert ratio.high < 1


@pytest.mark.parametrize("kept", [(True, False), (False, True), (False, False)])
def test_without_measurements_profiles_are_compared(kept: tuple[bool, bool]) -> None:
    first, second = kept
    rows = compare(side("a", probe(Disk()), kept=first), side("b", probe(Disk()), kept=second))
    assert all(row.ratio is None or row.ratio.low is None for row in rows)
    assert "device read, p50" in {row.metric.name for row in rows}


def test_a_probe_survives_its_file() -> None:
    probed = probe(Disk())
    assert msgspec.json.decode(msgspec.json.encode(probed), type=Probed) == probed


def test_a_load_that_did_nothing_is_named() -> None:
    probed = probe(Disk())
    with pytest.raises(KeyError, match="mixed has no sync"):
        probed.row("mixed", What.SYNC)
