"""`groundspeed emulate`: any program on emulated storage, and what the device did when it ends.

Standard output belongs to the program; everything of ours goes to standard error.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groundspeed import units
from groundspeed.cli import profile_files
from groundspeed.cli.arguments import example
from groundspeed.errors import TargetError, UsageError
from groundspeed.probes.host import Host
from groundspeed.report import device_lines
from groundspeed.report.scaling import format_bytes
from groundspeed.storage import counters
from groundspeed.storage.placement import Emulation
from groundspeed.targets import emulation, emulation_checks, foreground, leases, process, remains
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.leases import LeaseFile

_LEAST_MEMORY_BYTES = 1024**2

if TYPE_CHECKING:
    from groundspeed.record import StorageWork
    from groundspeed.storage.counters import Counters


class _Size(click.ParamType[int]):
    """An amount of memory, such as 8GiB."""

    name = "size"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        del param, ctx
        try:
            found = value if isinstance(value, int) else units.parse_bytes(value)
        except ValueError as error:
            raise UsageError(f"--memory: {error}", "write it as in --memory 8GiB") from None
        if found < _LEAST_MEMORY_BYTES:
            raise UsageError(f"--memory {value}: no page cache", "give it 1MiB or more")
        return found


@click.command(
    "emulate",
    epilog=example(
        "groundspeed emulate aws-gp3 -- dd if=/dev/zero of=file bs=8k count=100 oflag=dsync",
        "groundspeed emulate aws-gp3 --set iops=16000 --memory 1GiB -- cp file copy",
    ),
)
@click.argument("profile", required=False)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Files below it are on the device; the current directory unless given.",
)
@click.option(
    "--memory",
    type=_Size(),
    help="Size of the page cache, as in 8GiB; this machine's memory without.",
)
@click.option(
    "--set",
    "provisioned",
    multiple=True,
    metavar="KEY=VALUE",
    help="Provision the device, as in iops=16000; may be repeated.",
)
@click.option(
    "--status",
    "status_of",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="STATE",
    help="Say what a device that is still in use did so far, and run nothing.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Say what the device did as a line of JSON at the end."
)
def command(  # noqa: PLR0913, PLR0917 - as many options
    profile: str | None,
    command: tuple[str, ...],
    directory: Path,
    memory: int | None,
    provisioned: tuple[str, ...],
    status_of: Path | None,
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """Run any program on emulated storage.

    PROFILE is a name that groundspeed profiles lists, or a YAML file. COMMAND follows after --,
    keeps the terminal, and its exit code is that of this command. What the device did is told on
    standard error when it ends.
    """
    if status_of is not None:
        _status(status_of, as_json=as_json)
        return
    if profile is None or not command:
        raise UsageError(
            "a profile and a command are needed",
            "write groundspeed emulate aws-gp3 -- COMMAND, see groundspeed profiles",
        )
    asked = Emulation(
        profile=profile_files.find(
            profile, profile_files.assignments(provisioned), folder=Path.cwd()
        ),
        cache_bytes=memory or Host().memory_bytes(),
        memory_bytes=memory or Host().memory_bytes(),
        memory_assumed=memory is None,
    )
    raise click.exceptions.Exit(_run(asked, command, directory, as_json=as_json))


def _run(asked: Emulation, command: tuple[str, ...], directory: Path, *, as_json: bool) -> int:
    root = directory.resolve()
    program = foreground.find_program(command[0])
    emulation_checks.refuse_program(program, None)
    doubts = emulation_checks.doubts_about(root, asked)
    name = f"emulate-{secrets.token_hex(8)}"
    is_root = os.geteuid() == 0
    with LeaseFile(name) as lease:
        device = EmulatedDevice(
            asked,
            f"{leases.OWNED_NAME}{name}",
            account=process.unprivileged_account() if is_root else None,
            lease=lease,
            is_public=is_root,
        )
        device.make([root])
        lease.keep_while_mapped(device.state_file)
        before = device.counters()
        if not as_json:
            _head(asked, root)
            for doubt in doubts:
                click.echo(f"caution: {doubt.message}", err=True)
        code = foreground.run(program, command, device.variables(os.environ))
        after = device.counters()
        _tell(asked.profile.label, before, after, as_json=as_json)
        _refuse_native(program, after)
        users = remains.users_of(device.state_file)
        if users:
            _still_in_use(device.state_file, users)
        elif not after.touched:
            click.echo(f"note: no file below {root} was used, so nothing was slowed down", err=True)
    return code


def _head(asked: Emulation, root: Path) -> None:
    assumed = ", that of this machine" if asked.memory_assumed else ""
    click.echo(
        f"groundspeed: {asked.profile.label} (emulated) for the files below {root},"
        f" page cache {format_bytes(asked.cache_bytes)}{assumed}",
        err=True,
    )


def _status(path: Path, *, as_json: bool) -> None:
    label = emulation.label_of(path)
    if label is None:
        raise UsageError(
            f"{path}: no such device", "the path is told when a command leaves a server behind"
        )
    after = emulation.read_counters(path)
    _tell(label, counters.nothing_before(after), after, as_json=as_json)


def _tell(label: str, before: Counters, after: Counters, *, as_json: bool) -> None:
    work = counters.work_between(before, after)
    if as_json:
        click.echo(_json(label, work, after), err=True)
        return
    for line in device_lines.lines(label, work):
        click.echo(line, err=True)
    for doubt in counters.doubts(work):
        click.echo(f"caution: {doubt.message}", err=True)


def _json(label: str, work: StorageWork, after: Counters) -> str:
    document = {
        "kind": "groundspeed-device",
        "format": 1,
        "device": label,
        "emulated": True,
        "process_count": after.attached_count,
        "file_count": after.files_count,
        "work": work,
        "cautions": list(counters.doubts(work)),
    }
    return msgspec.json.encode(document).decode()


def _refuse_native(program: Path, after: Counters) -> None:
    if after.attached_count == 0:
        raise TargetError(
            f"{program} was never under emulation: it ran at native speed",
            "use a dynamically linked build for glibc without setuid; see docs/emulation.md",
        )


def _still_in_use(state_file: Path, users: tuple[int, ...]) -> None:
    processes = "1 process" if len(users) == 1 else f"{len(users)} processes"
    click.echo(
        f"note: {processes} of the command still run on the device; what it does meanwhile:"
        f" groundspeed emulate --status {state_file}",
        err=True,
    )
