"""`groundspeed completion`: the script that teaches a shell our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from groundspeed.cli.arguments import example


@click.command(
    "completion",
    epilog=example(
        "groundspeed completion bash > ~/.local/share/bash-completion/completions/groundspeed",
        "groundspeed completion fish > ~/.config/fish/completions/groundspeed.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices above are click's own
    root = ctx.find_root().command
    click.echo(kind(root, {}, "groundspeed", "_GROUNDSPEED_COMPLETE").source())
