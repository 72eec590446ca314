"""The `groundspeed` command: finds a subcommand, and turns errors into two lines and an exit code.

It imports nothing heavy: subcommands are loaded when they are called, so that help and completion
answer at once.
"""

from __future__ import annotations

import difflib
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from groundspeed import __version__
from groundspeed.errors import ExitCode, GroundspeedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Name, module below groundspeed.cli, one line of help; in the order a newcomer needs them.
COMMANDS = {
    "run": ("run_command", "Measure a suite and say which environment is better."),
    "plan": ("plan_command", "Show what a run would do, without running it."),
    "resume": ("resume", "Go on with an interrupted run; finished trials stay."),
    "report": ("report_command", "Make a report of one run or of several together."),
    "why": ("why_command", "Tell what held a trial back, and what was seen of it."),
    "compare": ("compare_command", "Compare two environments of a run, or two runs."),
    "gate": ("gate_command", "Say whether a change made it slower than is allowed, for CI."),
    "history": ("history_command", "Follow runs over time, and find where the level changed."),
    "runs": ("runs", "List the runs in a results directory, newest first."),
    "attach": ("attach_command", "Follow a run in a Kubernetes cluster, and report at its end."),
    "collect": ("collect_command", "Bring the results of a run in a cluster here."),
    "clean": ("clean_command", "Remove from a Kubernetes cluster what a run made there."),
    "presets": ("presets_command", "List the built-in suites, or print one."),
    "profiles": ("profiles_command", "List the storage profiles to emulate, or explain one."),
    "emulate": ("emulate_command", "Run any program on emulated storage."),
    "probe": ("probe_command", "Measure a directory's storage and write its profile."),
    "durability": (
        "durability_command",
        "Kill servers while they are written to, and count what is lost.",
    ),
    "import": ("import_command", "Take what pgbench wrote, or published results, as records."),
    "published": ("published_command", "List the published results to compare with, or show one."),
    "audit": ("audit_command", "Check a published benchmark: its figures against each other."),
    "k8s": ("k8s_command", "Print a run in Kubernetes as YAML, or its rights; open a shell there."),
    "schema": ("schema", "Print the JSON Schema of a suite file, for editors."),
    "doctor": ("doctor", "Say what this machine offers and lacks."),
    "completion": ("completion", "Print the completion script of a shell."),
}
# Called by groundspeed itself, in pods; neither listed nor completed.
HIDDEN = {
    "generator": "generator_command",
    "runner": "runner_command",
    "send-results": "send_results",
}


class _Group(click.Group):
    """Knows its commands by name and line, and loads one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        found = HIDDEN.get(cmd_name) or COMMANDS[cmd_name][0]
        module = import_module(f"groundspeed.cli.{found}")
        command = module.command
        assert isinstance(command, click.Command)  # noqa: S101 - ours, and for the type checker
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        is_ours = name in COMMANDS or name in HIDDEN
        if not is_ours and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"commands are {', '.join(COMMANDS)}"
            raise UsageError(f"no such command {name!r}", hint)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  groundspeed run quick --yes",
)
@click.version_option(__version__, prog_name="groundspeed", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find out how fast a database really goes on a given storage, and prove it."""
    if ctx.invoked_subcommand in HIDDEN:
        # A pod is new, and what looks for remains would take time from the load beside it.
        return
    from groundspeed.cli import leftovers  # noqa: PLC0415 - help and completion do without

    # Before any command: what a dead run left takes the room and the time that this one needs.
    leftovers.sweep()


def main(arguments: Sequence[str] | None = None, *, program: str = "groundspeed") -> int:
    """Run one command and give its exit code; a bug of ours keeps its traceback.

    `program` is what was typed to call it.
    """
    try:
        code = cli.main(args=arguments, prog_name=program, standalone_mode=False)
        # Flushed here: a reader that went away must not show as an error at interpreter exit.
        sys.stdout.flush()
    except GroundspeedError as error:
        for message, hint in ((error.message, error.hint), *error.further):
            _complain(message, hint)
        return int(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return int(ExitCode.USAGE)
    except click.ClickException as error:
        _complain(*_usage(error))
        return int(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    return code if isinstance(code, int) else int(ExitCode.OK)


def _usage(error: click.ClickException) -> tuple[str, str]:
    """Word click's complaint as ours: one line of what, one line of hint."""
    message = error.format_message().split("\n")[0]
    hint = "groundspeed --help"
    if isinstance(error, click.NoSuchOption):
        message = f"no such option {error.option_name}"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"{error.ctx.command_path} --help"
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        hint = f"did you mean {error.possibilities[0]}?"
    message = message.rstrip(".")
    return message[:1].lower() + message[1:], hint


def _complain(message: str, hint: str) -> None:
    # Messages of libpq and of the system may have several lines; a person gets one.
    click.secho("error: ", err=True, fg="red", bold=True, nl=False)
    click.echo(" ".join(message.splitlines()), err=True)
    click.secho("hint: ", err=True, fg="cyan", nl=False)
    click.echo(" ".join(hint.splitlines()), err=True)


if __name__ == "__main__":
    sys.exit(main())
