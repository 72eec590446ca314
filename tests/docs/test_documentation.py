"""Every command that the documentation shows is run; every file it shows is loaded.

Three things are made smaller than shown, so that tests end: a suite that is run gets one client and
one repeat of one second (with PostgreSQL, one workload at scale 1), durability is tried once, by a
kill, and `make demo`, minutes long, is looked at (`make -n`) instead of run. Programs of others
that are put on emulated storage are run where the machine has them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from groundspeed import spec
from groundspeed.cli import main
from groundspeed.store.losses import append_loss
from tests.docs.shell import SHOWN, Shell, in_memory
from tests.parallel import shared_directory
from tests.unit.losses import loss

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def write_suites(page: Path, directory: Path) -> None:
    for block in blocks(page, "yaml"):
        if block.startswith("suite:"):
            name = spec.load_suite(block, source=str(page)).suite
            (directory / f"{name}.yaml").write_text(block)


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with in_memory() as directory:
        yield Shell(directory, shared_directory(tmp_path_factory))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_run(page: Path, shell: Shell) -> None:
    write_suites(page, shell.directory)
    for line in "".join(blocks(page, "sh")).splitlines():
        if line.startswith("git clone"):
            continue
        if line.startswith("make "):
            shown = subprocess.run(
                [*shlex.split(line), "-n"], cwd=ROOT, capture_output=True, text=True, check=True
            )
            if line == "make demo":
                assert "groundspeed run quick --yes" in shown.stdout
            continue
        shell.run(line)
    if page.name == "README.md":
        (report,) = shell.directory.glob("runs/*/report.html")
        assert "my-disks" in report.read_text()


def test_the_given_server_of_the_readme_is_an_environment() -> None:
    (fragment,) = [b for b in blocks(ROOT / "README.md", "yaml") if "target: server" in b]
    suite = spec.load_suite("suite: x\nenvironments:\n" + fragment, source="README.md")
    assert list(suite.environments) == ["given"]


def test_the_table_that_is_shown_is_the_one_that_is_imported() -> None:
    (shown,) = blocks(ROOT / "docs" / "import.md", "json")
    assert shown == (SHOWN / "article.json").read_text()


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def examples() -> list[tuple[str, str]]:
    context = click.Context(main.cli)
    found = []
    for name in main.COMMANDS:
        command = main.cli.get_command(context, name)
        assert command is not None
        lines = [line.strip() for line in (command.epilog or "").splitlines()]
        found += [(name, line) for line in lines if line.startswith("groundspeed ")]
    return found


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_has_an_example(name: str) -> None:
    assert name in {command for command, _ in examples()}


def needs_cluster(line: str) -> bool:
    """Tell whether a command asks a Kubernetes API server; tests of its own run it."""
    return "--on kubernetes" in line or shlex.split(line)[1] in {"attach", "collect", "clean"}


def test_examples_in_help_run(shell: Shell) -> None:
    lines = [line for _, line in examples() if not needs_cluster(line)]
    # First what the others speak of: a run of the name that the examples use.
    shell.run("groundspeed run quick --yes")
    (made,) = (shell.directory / "runs").glob("*-quick")
    named = {word for line in lines for word in shlex.split(line) if word.startswith("runs/2")}
    for word in named:
        shutil.copytree(made, shell.directory / word)
        if "durability" in word:
            append_loss(shell.directory / word, loss())
    for directory in (".local/share/bash-completion/completions", ".config/fish/completions"):
        (shell.directory / directory).mkdir(parents=True)
    for line in lines:
        shell.run(line)


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name in main.COMMANDS if f"`groundspeed {name}" not in text] == []


def test_the_suite_reference_is_what_the_models_say() -> None:
    made = subprocess.run(
        [sys.executable, "tools/suite_reference.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ROOT / "docs" / "suite.md").read_text() == made.stdout, "run make docs"
