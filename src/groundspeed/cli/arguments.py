"""Arguments and options that several commands share, and how a shell completes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from groundspeed import presets
from groundspeed.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_RESULTS = Path("runs")
_PLAN_FILE = "plan.json"


class _SuiteType(click.ParamType[Any]):
    """A preset's name or the path of a suite file."""

    name = "suite"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        found = [CompletionItem(n) for n in presets.names() if n.startswith(incomplete)]
        # The shell completes the files itself; the type says so.
        return [*found, CompletionItem(incomplete, type="file")]


class _RunDirType(click.ParamType[Any]):
    """A run directory, or its name below ./runs."""

    name = "run_dir"

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        del param, ctx
        return _run_dir(Path(value))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        found = sorted(str(path.parent) for path in DEFAULT_RESULTS.glob(f"*/{_PLAN_FILE}"))
        wanted = [CompletionItem(path) for path in found if path.startswith(incomplete)]
        return wanted or [CompletionItem(incomplete, type="dir")]


def _run_dir(path: Path) -> Path:
    for candidate in (path, DEFAULT_RESULTS / path):
        if (candidate / _PLAN_FILE).is_file():
            return candidate
    raise UsageError(f"{path}: not a run directory", "groundspeed runs lists those there are")


SUITE = _SuiteType()
RUN_DIR = _RunDirType()


def overrides_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --set, which changes a value of the suite."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a value of the suite, as in measure.duration=2s; may be repeated.",
    )(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(
        function
    )


def example(*lines: str) -> str:
    """Word the end of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
