"""`groundspeed presets`: the built-in suites."""

from __future__ import annotations

import difflib

import click

from groundspeed import presets, spec
from groundspeed.cli.arguments import example, json_option
from groundspeed.cli.printing import print_json
from groundspeed.errors import SpecError


@click.command(
    "presets", epilog=example("groundspeed presets", "groundspeed presets quick > mine.yaml")
)
@click.argument(
    "name",
    required=False,
    shell_complete=lambda _ctx, _param, start: [n for n in presets.names() if n.startswith(start)],
)
@json_option
def command(name: str | None, as_json: bool) -> None:  # noqa: FBT001 - click
    """List the built-in suites, or print one.

    With NAME, print that suite's YAML: a start for one of your own.
    """
    if name is not None:
        _print_one(name, as_json=as_json)
        return
    lines = {n: _load(n).description for n in presets.names()}
    if as_json:
        print_json([{"name": n, "description": text} for n, text in lines.items()])
        return
    width = max(map(len, lines))
    for each, text in lines.items():
        click.echo(f"{each:<{width}}  {text}")


def _load(name: str) -> spec.Suite:
    return spec.load_suite(presets.read(name), source=name)


def _print_one(name: str, *, as_json: bool) -> None:
    if name not in presets.names():
        near = difflib.get_close_matches(name, presets.names(), n=1)
        known = ", ".join(presets.names())
        hint = f"did you mean {near[0]}?" if near else f"presets are {known}"
        raise SpecError(f"{name}: no such preset", hint)
    text = presets.read(name)
    if as_json:
        print_json({"name": name, "description": _load(name).description, "yaml": text})
    else:
        click.echo(text, nl=False)
