"""`groundspeed profiles`: the storage profiles that can be emulated, and where they come from."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import median
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click
import msgspec

from groundspeed.cli import profile_files
from groundspeed.cli.arguments import example, json_option
from groundspeed.cli.printing import print_json
from groundspeed.errors import UsageError
from groundspeed.report.scaling import format_seconds
from groundspeed.storage import catalogue, encode
from groundspeed.storage.idle import Operation, idle_s
from groundspeed.storage.profile import Counted, Direction, Standing
from groundspeed.units import write_bytes_per_s, write_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.storage.profile import Figure, Limit, Profile

_WIDTH = 100
# Enough for two digits of a median.
_DRAWS = 2001
_NO_CAP = "no cap"


@click.command(
    "profiles",
    epilog=example(
        "groundspeed profiles",
        "groundspeed profiles aws-gp3 --set iops=16000",
        "groundspeed profiles aws-gp3 --yaml > mine.yaml",
    ),
)
@click.argument(
    "name",
    required=False,
    shell_complete=lambda _ctx, _param, start: [
        n for n in catalogue.names() if n.startswith(start)
    ],
)
@click.option(
    "--set",
    "provisioned",
    multiple=True,
    metavar="KEY=VALUE",
    help="Provision the profile, as in iops=16000; may be repeated.",
)
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the YAML: a start for your own.")
@json_option
def command(
    name: str | None,
    provisioned: tuple[str, ...],
    as_yaml: bool,  # noqa: FBT001 - click
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """List the storage profiles to emulate, or explain one.

    With NAME, of the catalogue or of a YAML file, say where each of its figures comes from.
    """
    if as_yaml and as_json:
        raise UsageError("--yaml and --json exclude each other", "leave one of them out")
    if name is None:
        if provisioned or as_yaml:
            raise UsageError("which profile is not said", "groundspeed profiles NAME --help")
        _list(as_json=as_json)
        return
    profile = profile_files.find(name, profile_files.assignments(provisioned), folder=Path.cwd())
    if as_json:
        print_json(_document(profile))
    elif as_yaml:
        # As it is packaged, with its comments; what was provisioned stands in no file.
        packaged = name in catalogue.names() and not provisioned
        click.echo(catalogue.read(name) if packaged else encode.encode_yaml(profile), nl=False)
    else:
        click.echo("\n".join(_explanation(profile)))


def caps(profile: Profile) -> str:
    """Word the limits of a profile on one line, those of its replicas or device last."""
    limits = (*(profile.front.limits if profile.front else ()), *profile.device.limits)
    return ", ".join(map(_cap, limits)) or _NO_CAP


def medians_s(profile: Profile) -> dict[Operation, float]:
    """Tell the median of each operation on the idle device, end to end; seconds."""
    device = profile.device
    if profile.front is None and profile.replication is None:
        latencies = (device.read, device.write, device.sync)
        return {o: la.median_s for o, la in zip(Operation, latencies, strict=True)}
    return {
        operation: median(idle_s(profile, operation, Random(1), _DRAWS))  # noqa: S311 - repeatable
        for operation in Operation
    }


def _cap(limit: Limit) -> str:
    is_bytes = limit.of is Counted.BYTES
    text = write_bytes_per_s(limit.rate_per_s) if is_bytes else write_rate(limit.rate_per_s)
    if limit.on is not Direction.BOTH:
        text += f" {limit.on.value}"
    return f"{text} after a burst" if limit.credits_count else text


def _list(*, as_json: bool) -> None:
    profiles = [catalogue.profile(name) for name in catalogue.names()]
    if as_json:
        print_json([_summary(profile) for profile in profiles])
        return
    width = max(len(profile.name) for profile in profiles)
    click.echo(f"{'':<{width}}  {'read':>8}  {'write':>8}  {'sync':>8}  caps")
    for profile in profiles:
        times = "  ".join(f"{_time(value_s):>8}" for value_s in medians_s(profile).values())
        click.echo(f"{profile.name:<{width}}  {times}  {caps(profile)}")
        click.echo(fill(profile.about, _WIDTH, initial_indent="    ", subsequent_indent="    "))


def _time(value_s: float) -> str:
    return format_seconds(value_s) if value_s else "-"


def _summary(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "about": profile.about,
        "median_s": {operation.value: t for operation, t in medians_s(profile).items()},
        "caps": caps(profile),
        "takes": [parameter._asdict() for parameter in catalogue.parameters_of(profile.name)]
        if profile.name in catalogue.names()
        else [],
    }


def _document(profile: Profile) -> dict[str, Any]:
    return {
        **_summary(profile),
        "label": profile.label,
        "profile": msgspec.to_builtins(profile),
        "yaml": encode.encode_yaml(profile),
    }


def _explanation(profile: Profile) -> Iterator[str]:
    yield profile.label
    yield fill(profile.about, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield ""
    times = medians_s(profile)
    told = [f"{operation.value} {_time(times[operation])}" for operation in Operation]
    yield f"  median of one request alone  {', '.join(told)}"
    yield f"  caps  {caps(profile)}"
    yield from _surroundings(profile)
    takes = catalogue.parameters_of(profile.name) if profile.name in catalogue.names() else ()
    for parameter in takes:
        yield f"  --set {parameter.name}={parameter.example}  {parameter.meaning}"
    for standing in Standing:
        figures = [figure for figure in profile.figures if figure.standing is standing]
        if figures:
            yield ""
            yield f"  {standing.value}"
            yield from map(_figure, figures)


def _surroundings(profile: Profile) -> Iterator[str]:
    if profile.front is not None:
        slots = profile.front.parallel_count
        yield f"  front  {f'{slots} at once' if slots else 'any number at once'}"
    copies = profile.replication
    if copies is not None:
        link = copies.link_bytes_per_s
        yield (
            f"  replicas  {copies.replicas_count}, {copies.acknowledge_count} acknowledge a write,"
            f" reads {copies.reads.value}"
            + (f", link {write_bytes_per_s(link)}" if link is not None else "")
        )
    yield f"  served at once  {profile.device.parallel_count}"


def _figure(figure: Figure) -> str:
    text = f"{figure.what}. Source: {figure.source}, {figure.date}."
    return fill(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ")
