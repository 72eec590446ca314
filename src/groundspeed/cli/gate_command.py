"""`groundspeed gate`: whether a change made the database slower than is allowed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

from groundspeed.analyse.gate import Gate, GateAnswer, gate
from groundspeed.analyse.outside import refuse_published
from groundspeed.cli import reports
from groundspeed.cli.arguments import example
from groundspeed.cli.sides import sides_of
from groundspeed.errors import ExitCode, UsageError
from groundspeed.report import gate_benchstat, gate_ci, gate_text

FORMATS = ("text", "benchstat", "junit", "github", "json")
_EXIT = {
    GateAnswer.PASS: ExitCode.OK,
    GateAnswer.FAIL: ExitCode.REGRESSION,
    GateAnswer.UNDECIDED: ExitCode.UNDECIDED,
}
_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*")
_WHOLE = 100.0


class _ShareType(click.ParamType[Any]):
    """A share as people write it: 5% or 0.05; `below` bounds it, as nobody can lose more than all.

    `of` and `option` are for the complaint.
    """

    name = "share"

    def __init__(self, *, below: float, of: str, option: str) -> None:
        self._below = below
        self._of = of
        self._option = option

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        del param, ctx
        match = _SHARE.fullmatch(str(value))
        share = float(match[1]) / (_WHOLE if match[2] else 1.0) if match else -1.0
        if not 0 <= share < self._below:
            raise UsageError(
                f"{value!r} is no share of the {self._of}", f"write it as in {self._option}"
            )
        return share


@click.command(
    "gate",
    epilog=example(
        "groundspeed gate runs/20260131-120000-quick this-disk gp3 --advisory",
        "groundspeed gate runs/20260131-120000-quick runs/20260207-120000-quick --max-loss 3%"
        " --advisory",
    ),
)
@click.argument("sides", metavar="BASELINE CANDIDATE", nargs=-1, required=True)
@click.option(
    "--max-loss",
    "max_loss_ratio",
    type=_ShareType(below=1.0, of="throughput", option="--max-loss 5%"),
    default="5%",
    show_default=True,
    help="The loss of throughput that is let through.",
)
@click.option(
    "--max-p99-rise",
    "max_p99_rise_ratio",
    type=_ShareType(below=math.inf, of="latency", option="--max-p99-rise 10%"),
    help="Hold p99 latency against a limit as well: the rise that is let through.",
)
@click.option("--advisory", "is_advisory", is_flag=True, help="Say it, but end with exit code 0.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print it: benchstat's table, JUnit XML, annotations of GitHub Actions.",
)
@click.option("--json", "output_format", flag_value="json", help="The same as --format json.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file; the answer is printed all the same.",
)
def command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    sides: tuple[str, ...],
    max_loss_ratio: float,
    max_p99_rise_ratio: float | None,
    is_advisory: bool,  # noqa: FBT001 - click
    output_format: str,
    output: Path | None,
) -> int:
    """Say whether a change made it slower than is allowed, for CI.

    Sides are as for compare: RUN ENV ENV, or RUN[:ENV] RUN[:ENV]. The exit code is 0 when no cell
    lost more than --max-loss, 6 when one certainly did, 7 when that is undecided; with --advisory
    it is always 0. With --max-p99-rise the same is asked of latency.
    """
    pairs = sides_of(sides)
    refuse_published(pairs)
    found = gate(pairs, max_loss_ratio=max_loss_ratio, max_p99_rise_ratio=max_p99_rise_ratio)
    text = _text(found, output_format, is_advisory=is_advisory)
    if output is None:
        click.echo(text, nl=False)
    else:
        reports.write(output, text)
        click.echo(gate_text.answer_line(found))
    return int(ExitCode.OK if is_advisory else _EXIT[found.answer])


def _text(found: Gate, output_format: str, *, is_advisory: bool) -> str:
    match output_format:
        case "benchstat":
            return gate_benchstat.render(found)
        case "junit":
            return gate_ci.to_junit(found)
        case "github":
            return gate_ci.to_github(found, is_advisory=is_advisory)
        case "json":
            return gate_ci.to_json(found, is_advisory=is_advisory)
        case _:
            return gate_text.render(found, is_advisory=is_advisory)
