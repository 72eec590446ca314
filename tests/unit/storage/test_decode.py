from __future__ import annotations

import msgspec
import pytest

from groundspeed.errors import ExitCode, SpecError
from groundspeed.storage import catalogue, decode, encode
from groundspeed.storage.profile import Counted, Latency, Limit, Standing

SEE = "see docs/profiles.md"
GOOD = """\
profile: mine
device:
  read: {median: 0.5ms, p99: 1.2ms}
  write: 1ms
  parallel: 8
  limits:
    - {of: requests, rate: 300/s, credits: 5400000, start: 0.5}
    - {of: bytes, direction: write, rate: 125MB/s, credits: 1GiB}
replication: {replicas: 3, acknowledge: 2, link: 1Gbit/s}
figures:
  - {what: a read, standing: measured, source: my disk, date: 2026-03-01}
"""
ONE = "profile: p\ndevice: {parallel: 1}\n"


def complaints(text: str) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        catalogue.parse(text, source="p.yaml")
    assert caught.value.exit_code is ExitCode.SPEC
    return [(caught.value.message, caught.value.hint), *caught.value.further]


def device(yaml: str) -> str:
    return f"profile: p\ndevice: {yaml}\n"


def test_units_become_base_units() -> None:
    profile = catalogue.parse(GOOD, source="p.yaml")
    assert profile.device.read == Latency(median_s=0.0005, p99_s=0.0012)
    assert profile.device.write == Latency(median_s=0.001, p99_s=0.001)
    assert profile.device.limits[0] == Limit(
        of=Counted.REQUESTS, rate_per_s=300.0, credits_count=5_400_000.0, start_ratio=0.5
    )
    assert profile.device.limits[1].rate_per_s == 125 * 1024**2
    assert profile.device.limits[1].credits_count == 1024**3
    assert profile.replication is not None
    assert profile.replication.link_bytes_per_s == 125_000_000
    assert profile.replication.acknowledge_count == 2
    assert profile.figures[0].standing is Standing.MEASURED
    assert profile.figures[0].date == "2026-03-01"


def test_all_acknowledge_unless_said_otherwise() -> None:
    for asked in ("", ", acknowledge: all"):
        text = ONE + f"replication: {{replicas: 3{asked}}}\n"
        replication = catalogue.parse(text, source="p").replication
        assert replication is not None
        assert replication.acknowledge_count == 3


def test_quantiles_give_the_median_and_the_p99_that_are_not_written() -> None:
    text = device("{read: {quantiles: {0.99: 4ms, 0.5: 1ms}}, parallel: 1}")
    read = catalogue.parse(text, source="p").device.read
    assert read.quantiles == ((0.5, 0.001), (0.99, 0.004))
    assert (read.median_s, read.p99_s) == (pytest.approx(0.001), pytest.approx(0.004))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "not a profile", "a profile starts with  profile: NAME"),
        (
            "device: {parallel: 1}",
            "profile: missing",
            "add the key 'profile'",
        ),
        (
            "profile: null\ndevice: {parallel: 1}",
            "profile: not text",
            "write text, in quotes where it looks like a number",
        ),
        (
            "profile: p",
            "profile: needs either device or based_on",
            "write one of them",
        ),
        (
            ONE + "based_on: weka",
            "profile: needs either device or based_on",
            "write one of them",
        ),
        (ONE + "devices: 1", "devices: no such key", "did you mean 'device'?"),
        (
            device("{parallel: 1, raed: 1ms}"),
            "device.raed: no such key",
            "did you mean 'read'?",
        ),
        (
            device("{parallel: 1, limits: [{of: bytes, rate: 1MB/s, credit: 1MB}]}"),
            "device.limits.0.credit: no such key",
            "did you mean 'credits'?",
        ),
        (
            device("{parallel: 1, read: {median: 1ms, p98: 2ms, p99: 3ms}}"),
            "device.read.p98: no such key",
            "did you mean 'p99'?",
        ),
        (device("{read: 1ms}"), "device.parallel: missing", "add the key 'parallel'"),
        (
            device("{parallel: 0}"),
            "device.parallel: input should be greater than or equal to 1",
            SEE,
        ),
        (
            device("{parallel: 257}"),
            "device.parallel: input should be less than or equal to 256",
            SEE,
        ),
        (
            device("{parallel: 1, read: {median: 2ms, p99: 1ms}}"),
            "device.read: has a p99 below its median",
            "write the larger one as p99",
        ),
        (
            device("{parallel: 1, read: {median: 0s, p99: 1ms}}"),
            "device.read: has a median of 0 and a p99 above it",
            "write 0s for both, or a median above 0",
        ),
        (
            device("{parallel: 1, read: {median: 2ms}}"),
            "device.read: is not whole",
            "write both median and p99, or quantiles",
        ),
        (
            device("{parallel: 1, read: {median: 0.5, p99: 1ms}}"),
            "device.read.median: needs a unit, as in 30s",
            SEE,
        ),
        (
            device("{parallel: 1, read: {median: -1ms, p99: 1ms}}"),
            "device.read.median: '-1ms' is not a duration",
            "write a number and one of us, µs, ms, s, min, m, h, as in 30s",
        ),
        (
            device("{parallel: 1, read: {median: 1ms, p99: 2h}}"),
            "device.read.p99: takes more than an hour",
            "write the time of one request",
        ),
        (
            device("{parallel: 1, read: {quantiles: {0.5: 2ms, 0.9: 1ms}}}"),
            "device.read: has quantiles that are not ascending",
            "a higher quantile takes at least as long",
        ),
        (
            device("{parallel: 1, read: {quantiles: {0.5: 2ms}}}"),
            "device.read: has too few quantiles",
            "write at least two, as in {0.5: 1ms, 0.99: 4ms}",
        ),
        (
            device("{parallel: 1, read: {quantiles: {50: 2ms, 99: 3ms}}}"),
            "device.read: has a quantile outside of 0 to 1",
            "write the p99 as 0.99",
        ),
        (
            device("{parallel: 1, read: {quantiles: {.nan: 2ms, 0.99: 3ms}}}"),
            "device.read: has a quantile outside of 0 to 1",
            "write the p99 as 0.99",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, rate: 0/s}]}"),
            "device.limits.0: has the rate '0/s'",
            "write a rate above 0, or leave the limit out",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, rate: inf/s}]}"),
            "device.limits.0: has the rate 'inf/s'",
            "write a rate above 0, or leave the limit out",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, credits: 5400000}]}"),
            "device.limits.0.rate: missing",
            "add the key 'rate'",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, rate: 3/s, credits: -1}]}"),
            "device.limits.0: has the credits '-1'",
            "leave credits out where there are none",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, rate: 3/s, credits: 5GB}]}"),
            "device.limits.0: '5GB' is not a number",
            "write credits of requests without a unit",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, rate: 3/s, start: 0.5}]}"),
            "device.limits.0: has a start without credits",
            "write credits too, or leave start out",
        ),
        (
            device("{parallel: 1, limits: [{of: bytes, rate: 3000/s}]}"),
            "device.limits.0: '3000/s' is not a bandwidth",
            "write it as in 125MiB/s or 1Gbit/s",
        ),
        (
            device("{parallel: 1, limits: [{of: requests, rate: 125MB/s}]}"),
            "device.limits.0: '125MB/s' is not a rate",
            "'125MB' is not a number; write it as in 500/s",
        ),
        (
            ONE + "replication: {replicas: 2, acknowledge: 3}",
            "replication: waits for 3 of 2 replicas",
            "write a number from 1 to 2, or all",
        ),
        (
            ONE + "replication: {replicas: 2, acknowledge: most}",
            "replication.acknowledge: not a whole number",
            "write a whole number, without quotes",
        ),
        (
            ONE + "replication: {replicas: 9}",
            "replication.replicas: input should be less than or equal to 8",
            SEE,
        ),
        (
            ONE + "request_size: 5000B",
            "profile: has an odd request_size",
            "write a multiple of 4KiB, as in 128KiB",
        ),
        (
            ONE + "trouble: {stall: 3s}",
            "trouble: has half a stall",
            "write both stall_after and stall",
        ),
        (
            ONE + "trouble: {read_errors: 2}",
            "trouble.read_errors: input should be less than or equal to 1",
            SEE,
        ),
        (
            ONE + "figures: [{what: a, standing: guessed, source: b, date: c}]",
            "figures.0.standing: 'guessed' is not known",
            "write one of published, derived, fitted, assumed, measured",
        ),
    ],
)
def test_nonsense_is_refused_with_its_path(text: str, message: str, hint: str) -> None:
    assert complaints(text) == [(f"p.yaml: {message}", hint)]


@pytest.mark.parametrize(
    "text", ["\x85", "a\u2028b", "\ufeffa", "two\nlines", " : # ", "2026", "é"]
)
def test_odd_text_survives(text: str) -> None:
    profile = msgspec.structs.replace(catalogue.profile("null"), about=text)
    assert catalogue.parse(encode.encode_yaml(profile), source="p") == profile


def test_all_mistakes_are_told_at_once() -> None:
    text = device("{parallel: 0, read: {median: 2ms, p99: 1ms}}") + "abuot: x\n"
    assert {message for message, _ in complaints(text)} == {
        "p.yaml: device.parallel: input should be greater than or equal to 1",
        "p.yaml: device.read: has a p99 below its median",
        "p.yaml: abuot: no such key",
    }


def test_a_key_written_twice_is_told_with_its_line() -> None:
    assert complaints(ONE + "profile: q\n") == [
        ("p.yaml:3:1: the key 'profile' is written twice", "mend the YAML at that place")
    ]


@pytest.mark.parametrize("text", ["", "{}", '{"name": 1}', "[]"])
def test_json_that_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        decode.decode_json(text)
    assert caught.value.hint == "make the plan again from its suite"
