"""What can be bought with a profile: IOPS, throughput, size, and what they come to.

Each rule is that of a vendor, or of Longhorn over another device. Pure; ranges are refused with
a hint that names them.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed import units
from groundspeed.errors import SpecError
from groundspeed.storage.decode import device_figures
from groundspeed.storage.profile import Counted, Limit, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Base = Callable[[str], Profile]

_MIB, _GIB = 1024**2, 1024**3
_GP3_LEAST_IOPS, _GP3_LEAST_BYTES_PER_S = 3000, 125 * _MIB
# AWS sells at most a quarter of a MiB/s with each I/O a second.
_GP3_BYTES_PER_IO = _MIB // 4
_GP2_BURST_IOPS, _GP2_CREDITS = 3000, 5_400_000.0
_GP2_BYTES_PER_S = 250 * _MIB
_IO2_BYTES_PER_IO, _IO2_MOST_BYTES_PER_S = _MIB // 4, 4000 * _MIB
# RDS stripes over four volumes from here on.
_RDS_STRIPED_BYTES = 400 * _GIB
_RDS_STRIPED_IOPS, _RDS_STRIPED_BYTES_PER_S = 12_000, 500 * _MIB
_STRIPES = 4
_REPLICA = "each replica ("


class Parameter(NamedTuple):
    """Something that can be provisioned: its name, what it means with its range, an example."""

    name: str
    meaning: str
    example: str


class _Rule(NamedTuple):
    parameters: tuple[Parameter, ...]
    apply: Callable[[Profile, Mapping[str, str], Base], Profile]


def provision(
    profile: Profile, rule: str | None, parameters: Mapping[str, str], *, base: Base
) -> Profile:
    """Provision a profile by the rule of that name; without parameters it stays as it is.

    `base` gives the profile whose device may be taken over by name. Raises SpecError for an unknown
    parameter or one that is out of range.
    """
    if rule is not None and rule not in _RULES:
        raise SpecError(
            f"{profile.name}: no provisioning {rule!r}", f"write one of {', '.join(_RULES)}"
        )
    if not parameters:
        return profile
    known = parameters_of(rule)
    names = [parameter.name for parameter in known]
    for name in parameters:
        if name not in names:
            raise SpecError(f"{profile.name}: no parameter {name!r}", _known(name, known))
    assert rule is not None  # noqa: S101 - or there would be no known parameter
    made = _RULES[rule].apply(profile, parameters, base)
    given = tuple((name, parameters[name]) for name in names if name in parameters)
    return msgspec.structs.replace(made, parameters=given)


def parameters_of(rule: str | None) -> tuple[Parameter, ...]:
    """List what a rule takes; nothing where there is none."""
    return _RULES[rule].parameters if rule in _RULES else ()


def _known(name: str, known: tuple[Parameter, ...]) -> str:
    near = difflib.get_close_matches(name, [parameter.name for parameter in known], n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    if not known:
        return "nothing can be provisioned of this profile; write one of your own"
    return "; ".join(f"{p.name}: {p.meaning}" for p in known)


def _refused(profile: Profile, name: str, value: str, meaning: str) -> SpecError:
    return SpecError(f"{profile.name}: {name}={value}: not possible", f"{name}: {meaning}")


def _value(
    profile: Profile, parameter: Parameter, asked: Mapping[str, str], bounds: tuple[float, float]
) -> float | None:
    """Read a parameter in its unit, which its name decides; None where it is not given."""
    text = asked.get(parameter.name)
    if text is None:
        return None
    read: dict[str, Callable[[str], float]] = {
        "iops": lambda text: float(int(text)),
        "throughput": units.parse_bytes_per_s,
        "size": _size_bytes,
        "link": units.parse_bytes_per_s,
    }
    try:
        value = read[parameter.name](text)
    except ValueError:
        raise _refused(profile, parameter.name, text, parameter.meaning) from None
    if not bounds[0] <= value <= bounds[1]:
        raise _refused(profile, parameter.name, text, parameter.meaning)
    return value


def _size_bytes(text: str) -> float:
    # A bare number would be bytes.
    if text.strip().isdigit():
        msg = "needs a unit"
        raise ValueError(msg)
    return units.parse_bytes(text)


def _with_limits(profile: Profile, *limits: Limit, parallel_count: int | None = None) -> Profile:
    device = msgspec.structs.replace(
        profile.device,
        limits=limits,
        parallel_count=parallel_count or profile.device.parallel_count,
    )
    return msgspec.structs.replace(profile, device=device)


def _iops(rate_per_s: float, credits_count: float = 0.0) -> Limit:
    return Limit(of=Counted.REQUESTS, rate_per_s=rate_per_s, credits_count=credits_count)


def _bandwidth(rate_bytes_per_s: float) -> Limit:
    return Limit(of=Counted.BYTES, rate_per_s=rate_bytes_per_s)


_GP3_IOPS = Parameter("iops", "from 3000 to 80000", "16000")
_GP3_THROUGHPUT = Parameter(
    "throughput", "from 125MiB/s to 2000MiB/s, and at most 0.25 MiB/s for each of iops", "500MiB/s"
)


def _aws_gp3(profile: Profile, asked: Mapping[str, str], base: Base) -> Profile:
    del base
    iops = _value(profile, _GP3_IOPS, asked, (_GP3_LEAST_IOPS, 80_000)) or _GP3_LEAST_IOPS
    bounds = (_GP3_LEAST_BYTES_PER_S, min(2000 * _MIB, iops * _GP3_BYTES_PER_IO))
    rate = _value(profile, _GP3_THROUGHPUT, asked, bounds) or _GP3_LEAST_BYTES_PER_S
    return _with_limits(profile, _iops(float(iops)), _bandwidth(float(rate)))


_GP2_SIZE = Parameter("size", "from 1GiB to 16TiB", "500GiB")


def _aws_gp2(profile: Profile, asked: Mapping[str, str], base: Base) -> Profile:
    del base
    size_bytes = _value(profile, _GP2_SIZE, asked, (_GIB, 16 * 1024 * _GIB)) or 100 * _GIB
    baseline = min(max(3.0 * size_bytes / _GIB, 100.0), 16_000.0)
    bandwidth = _bandwidth(float(_GP2_BYTES_PER_S))
    if baseline >= _GP2_BURST_IOPS:
        return _with_limits(profile, _iops(baseline), bandwidth)
    # Two buckets: one whose credits bridge what exceeds the baseline, one that caps the burst.
    burst = _iops(float(_GP2_BURST_IOPS))
    return _with_limits(profile, _iops(baseline, _GP2_CREDITS), burst, bandwidth)


_IO2_IOPS = Parameter("iops", "from 100 to 256000", "64000")


def _aws_io2_bx(profile: Profile, asked: Mapping[str, str], base: Base) -> Profile:
    del base
    iops = _value(profile, _IO2_IOPS, asked, (100, 256_000)) or 16_000.0
    rate = min(iops * _IO2_BYTES_PER_IO, _IO2_MOST_BYTES_PER_S)
    return _with_limits(profile, _iops(iops), _bandwidth(float(rate)))


_RDS_SIZE = Parameter("size", "from 20GiB to 64TiB, striped from 400GiB on", "200GiB")
_RDS_IOPS = Parameter("iops", "from 12000 to 64000, with a size of 400GiB or more", "20000")


def _rds_gp3(profile: Profile, asked: Mapping[str, str], base: Base) -> Profile:
    del base
    bounds = (20 * _GIB, 64 * 1024 * _GIB)
    size_bytes = _value(profile, _RDS_SIZE, asked, bounds) or _RDS_STRIPED_BYTES
    iops = _value(profile, _RDS_IOPS, asked, (_RDS_STRIPED_IOPS, 64_000))
    if size_bytes >= _RDS_STRIPED_BYTES:
        bandwidth = _bandwidth(float(_RDS_STRIPED_BYTES_PER_S))
        return _with_limits(profile, _iops(iops or float(_RDS_STRIPED_IOPS)), bandwidth)
    if iops is not None:
        raise _refused(profile, "iops", asked["iops"], _RDS_IOPS.meaning)
    return _with_limits(
        profile,
        _iops(float(_GP3_LEAST_IOPS)),
        _bandwidth(float(_GP3_LEAST_BYTES_PER_S)),
        parallel_count=profile.device.parallel_count // _STRIPES,
    )


_OVER = Parameter("over", "the name of a profile of one device", "local-nvme-plp")
_LINK = Parameter(
    "link", "a bandwidth from 1Mbit/s to 1000Gbit/s, with 2 replicas or more", "1Gbit/s"
)


def _longhorn(profile: Profile, asked: Mapping[str, str], base: Base) -> Profile:
    replication = profile.replication
    assert replication is not None  # noqa: S101 - this rule is Longhorn's alone
    link = _value(profile, _LINK, asked, (125_000, 125_000_000_000))
    if link is not None:
        if replication.replicas_count == 1:
            raise _refused(profile, "link", asked["link"], _LINK.meaning)
        replication = msgspec.structs.replace(replication, link_bytes_per_s=link)
    made = msgspec.structs.replace(profile, replication=replication)
    if "over" not in asked:
        return made
    below = base(asked["over"])
    own = tuple(figure for figure in profile.figures if not figure.what.startswith(_REPLICA))
    return msgspec.structs.replace(made, device=below.device, figures=own + device_figures(below))


_RULES = {
    "aws-gp3": _Rule((_GP3_IOPS, _GP3_THROUGHPUT), _aws_gp3),
    "aws-gp2": _Rule((_GP2_SIZE,), _aws_gp2),
    "aws-io2-bx": _Rule((_IO2_IOPS,), _aws_io2_bx),
    "rds-gp3": _Rule((_RDS_SIZE, _RDS_IOPS), _rds_gp3),
    "longhorn": _Rule((_OVER, _LINK), _longhorn),
}
