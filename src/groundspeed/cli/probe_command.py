"""`groundspeed probe`: measures the storage of a directory and writes the profile of it."""

from __future__ import annotations

import random
import secrets
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console

from groundspeed import __version__
from groundspeed.analyse import probe_profile
from groundspeed.analyse.probe_compare import Side, compare
from groundspeed.analyse.probed import Circumstances, make_probed
from groundspeed.cli import probe_files, session
from groundspeed.cli.arguments import example, json_option
from groundspeed.cli.printing import print_json
from groundspeed.errors import TargetError, UsageError
from groundspeed.probes.host import Host
from groundspeed.report import probe_html, probe_terminal, probe_view
from groundspeed.storage.encode import encode_yaml
from groundspeed.targets import probing
from groundspeed.tools import probe_plan
from groundspeed.units import parse_bytes, parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.analyse.probe_profile import Outcome
    from groundspeed.analyse.probed import Probed
    from groundspeed.targets.probing import ProbeRun
    from groundspeed.tools.probe_plan import ProbePlan


class _Amount(click.ParamType[Any]):
    """A number with a unit, read by `units`."""

    def __init__(self, name: str, read: Callable[[str], float]) -> None:
        self.name = name
        self._read = read

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return self._read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(
    "probe",
    epilog=example(
        "groundspeed probe . --size 64MiB --time 6s -o here.yaml --html here.html",
        "groundspeed probe --compare here.yaml here.yaml",
    ),
)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.argument("other", required=False, type=click.Path(path_type=Path))
@click.option(
    "--compare", "comparing", is_flag=True, help="Show two profiles side by side: A.yaml B.yaml."
)
@click.option(
    "--size",
    "size_bytes",
    type=_Amount("size", parse_bytes),
    default="4GiB",
    show_default=True,
    help="Room to take below PATH; more than the device's own caches is best.",
)
@click.option(
    "--time",
    "time_s",
    type=_Amount("duration", parse_duration_s),
    default="60s",
    show_default=True,
    help="How long to measure; filling the room comes on top.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the profile to this file; NAME.yaml without it.",
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with plots."
)
@click.option("--name", help="Name of the profile.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the order of loads.")
@json_option
def command(  # noqa: PLR0913, PLR0917 - click
    path: Path | None,
    other: Path | None,
    comparing: bool,  # noqa: FBT001 - click
    size_bytes: int,
    time_s: float,
    output: Path | None,
    html: Path | None,
    name: str | None,
    seed: int | None,
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """Measure a directory's storage and write its profile.

    PATH is a directory on the storage. A directory of groundspeed's own is made there, filled,
    measured with fio and removed. With --compare, two profiles are shown side by side.
    """
    if comparing:
        _compare(path, other, as_json=as_json)
        return
    if path is None or other is not None:
        raise UsageError("a probe takes one directory", "groundspeed probe --help")
    started = datetime.now().astimezone()
    name = probe_files.checked_name(name or f"probed-{started:%Y%m%d-%H%M%S}")
    output = output or Path(f"{name}.yaml")
    for file in (output, html):
        probe_files.refuse_unwritable(file)
    seed = secrets.randbelow(2**31) if seed is None else seed
    try:
        plan = probe_plan.make_plan(
            size_bytes=size_bytes,
            time_s=time_s,
            seed=seed,
            rng=random.Random(seed),  # noqa: S311 - an order, no secret
        )
    except ValueError as error:
        raise UsageError(str(error), "as in --size 4GiB --time 60s") from None
    probing.refuse_unfit(path, size_bytes)
    with session.signals_interrupt():
        run = probing.run_probe(path.absolute(), plan, on_progress=_tell)
    seen = _circumstances(path, run, plan, name=name, date=f"{started:%Y-%m-%d %H:%M:%S %z}")
    try:
        probed = make_probed(
            plan, run.blocks, run.logs, msgspec.structs.replace(seen, time_s=time_s)
        )
        outcome = probe_profile.outcome(probed)
    except ValueError as error:
        raise TargetError(
            f"too little was measured: {error}", "give it more --time, as in --time 5min"
        ) from None
    probe_files.write(output, encode_yaml(outcome.fit.profile), probed, run.raw)
    if html is not None:
        probe_files.write_text(html, probe_html.render(probed, outcome))
    _print(probed, outcome, output, html, as_json=as_json)


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _circumstances(
    path: Path, run: ProbeRun, plan: ProbePlan, *, name: str, date: str
) -> Circumstances:
    host = Host()
    mount = host.mount_of(path)
    return Circumstances(
        name=name,
        date=date,
        directory=str(path.absolute()),
        filesystem=mount.filesystem,
        device=mount.device,
        mount_options=mount.mount_options,
        in_memory=mount.in_memory,
        direct=run.direct,
        emulated=probing.is_emulated(),
        cpu_count=host.cpu_count(),
        readahead_bytes=probing.readahead_bytes(path),
        size_bytes=plan.data_bytes + plan.log_bytes,
        time_s=plan.wall_s,
        seed=plan.seed,
        groundspeed_version=__version__,
    )


def _print(
    probed: Probed, outcome: Outcome, output: Path, html: Path | None, *, as_json: bool
) -> None:
    if as_json:
        print_json({"probed": msgspec.to_builtins(probed), **msgspec.to_builtins(outcome)})
    else:
        probe_terminal.render(probe_view.view(probed, outcome), Console())
    click.echo(f"profile: {output}", err=as_json)
    click.echo(f"raw:     {probe_files.companion(output)}", err=as_json)
    if html is not None:
        click.echo(f"report:  {html}", err=as_json)


def _compare(first: Path | None, second: Path | None, *, as_json: bool) -> None:
    if first is None or second is None:
        raise UsageError(
            "--compare takes two profiles", "groundspeed probe --compare A.yaml B.yaml"
        )
    profiles = [probe_files.read_profile(path) for path in (first, second)]
    # A profile's own name says more than a path, as long as it tells the two apart.
    names = [profile.name for profile in profiles]
    if names[0] == names[1]:
        names = [str(first), str(second)]
    one, two = (
        Side(name=name, profile=profile, probed=probe_files.read_probed(path))
        for name, profile, path in zip(names, profiles, (first, second), strict=True)
    )
    compared = compare(one, two)
    if as_json:
        print_json(
            {
                "first": str(first),
                "second": str(second),
                "figures": msgspec.to_builtins(compared),
            }
        )
        return
    probe_terminal.render(probe_view.view_comparison(one, two, compared), Console())
