"""Whether a suite can run on this machine, each part as a check. For `doctor`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.cli import needs, storage_places
from groundspeed.cli.checks import Check, State, missing
from groundspeed.errors import TargetError
from groundspeed.plan import TargetKind
from groundspeed.report.scaling import format_bytes
from groundspeed.storage.placement import Unavailable, placement
from groundspeed.targets import emulation_checks, installation, process, sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.probes.host import Host
    from groundspeed.storage.placement import Emulation, Machine, Placement
    from groundspeed.targets.installation import Installation

# PostgreSQL's defaults, and what it keeps for superusers of max_connections.
_MAX_CONNECTIONS, _RESERVED_CONNECTIONS = 100, 3
_SKIPPED = "its trials will be skipped"


def suite_checks(plan: Plan, host: Host, passwords: Mapping[str, str]) -> tuple[Check, ...]:
    """Look at each environment of a plan and at what all need together. Raises nothing."""
    checks: list[Check] = []
    machine = storage_places.machine_for(plan, host)
    for environment in plan.environments:
        label = f"environment {environment.name}"
        try:
            checks.append(_environment(label, environment, plan, passwords, machine))
        except TargetError as error:
            checks.append(missing(label, error))
    if all(check.hint == _SKIPPED for check in checks):
        nothing = TargetError("no environment can be measured", "add one of another kind")
        checks.append(missing("suite", nothing))
    try:
        checks += [_need(need) for need in needs.needs_of(plan, host)]
    except TargetError as error:
        checks.append(missing("storage", error))
    return tuple(checks)


def _environment(
    label: str,
    environment: EnvironmentPlan,
    plan: Plan,
    passwords: Mapping[str, str],
    machine: Machine,
) -> Check:
    if environment.kind is TargetKind.SERVER:
        installation.newest()  # for its pgbench
        address = sql.Address(
            conninfo=environment.dsn or "", password=passwords.get(environment.name)
        )
        with sql.connect(address) as connection:
            version = connection.info.parameter_status("server_version")
        return Check(name=label, state=State.OK, value=f"answers, PostgreSQL {version}")
    assert environment.postgres_version is not None  # noqa: S101 - embedded ones have it
    place = placement(environment, machine)
    if isinstance(place, Unavailable):
        return _skipped(label, place.reason)
    found = installation.find(environment.postgres_version, environment.bin_dir)
    _enough_connections(environment, plan)
    for directory in (place.directory, place.wal_directory):
        if directory is not None:
            _writable(Path(directory))
    if place.emulation is not None:
        return _emulated(label, place, place.emulation, found)
    return Check(name=label, state=State.OK, value=f"PostgreSQL {found.version} on {place.label}")


def _emulated(label: str, place: Placement, asked: Emulation, found: Installation) -> Check:
    """Look whether a device can be played here; where it cannot, its trials are skipped."""
    directories = [Path(name) for name in (place.directory, place.wal_directory) if name]
    try:
        doubts = emulation_checks.doubts_here(
            asked, directories, found.program("postgres"), process.unprivileged_account()
        )
    except TargetError as error:
        return _skipped(label, f"{error.message}; {error.hint}")
    value = (
        f"PostgreSQL {found.version} on {place.label} (emulated), files in {place.directory},"
        f" page cache {format_bytes(asked.cache_bytes)}"
        f"{' (memory assumed)' if asked.memory_assumed else ''}"
    )
    if doubts:
        return Check(name=label, state=State.CAUTION, value=value, hint=doubts[0].message)
    return Check(name=label, state=State.OK, value=value)


def _skipped(label: str, reason: str) -> Check:
    return Check(name=label, state=State.CAUTION, value=reason, hint=_SKIPPED)


def _enough_connections(environment: EnvironmentPlan, plan: Plan) -> None:
    text = dict(environment.settings).get("max_connections", str(_MAX_CONNECTIONS))
    clients = max(trial.cell.clients for trial in plan.trials)
    # One more for ourselves.
    needed = clients + _RESERVED_CONNECTIONS + 1
    if text.isdigit() and int(text) < needed:
        raise TargetError(
            f"max_connections is {text}, {clients} clients need {needed}",
            f"--set postgres.settings.max_connections={needed}",
        )


def _writable(path: Path) -> None:
    place = path
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise TargetError(f"{path}: cannot be written", "name another directory in storage")


def _need(need: needs.Need) -> Check:
    value = f"{format_bytes(need.free_bytes)} free, needs up to {format_bytes(need.most_bytes)}"
    if need.free_bytes < need.least_bytes:
        error = TargetError(value, "choose a smaller scale, as in --set scale=1, or make room")
        return missing(f"room: {need.place}", error)
    if need.free_bytes < need.most_bytes:
        hint = "it may become full; a smaller scale is safer"
        return Check(name=f"room: {need.place}", state=State.CAUTION, value=value, hint=hint)
    return Check(name=f"room: {need.place}", state=State.OK, value=value)
