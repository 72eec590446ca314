"""Whether a suite can run on this machine, each part as a check. For `doctor`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.cli import needs
from groundspeed.cli.checks import Check, State, missing
from groundspeed.errors import TargetError
from groundspeed.plan import TargetKind
from groundspeed.report.scaling import format_bytes
from groundspeed.storage.placement import Unavailable, placement
from groundspeed.targets import installation, sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.probes.host import Host

# PostgreSQL's defaults, and what it keeps for superusers of max_connections.
_MAX_CONNECTIONS, _RESERVED_CONNECTIONS = 100, 3


def suite_checks(plan: Plan, host: Host, passwords: Mapping[str, str]) -> tuple[Check, ...]:
    """Look at each environment of a plan and at what all need together. Raises nothing."""
    checks: list[Check] = []
    for environment in plan.environments:
        label = f"environment {environment.name}"
        try:
            checks.append(_environment(label, environment, plan, passwords))
        except TargetError as error:
            checks.append(missing(label, error))
    if all(check.state is State.CAUTION for check in checks):
        nothing = TargetError("no environment can be measured", "add one that is not emulated")
        checks.append(missing("suite", nothing))
    try:
        checks += [_need(need) for need in needs.needs_of(plan, host)]
    except TargetError as error:
        checks.append(missing("storage", error))
    return tuple(checks)


def _environment(
    label: str, environment: EnvironmentPlan, plan: Plan, passwords: Mapping[str, str]
) -> Check:
    if environment.kind is TargetKind.SERVER:
        installation.newest()  # for its pgbench
        address = sql.Address(
            conninfo=environment.dsn or "", password=passwords.get(environment.name)
        )
        with sql.connect(address) as connection:
            version = connection.info.parameter_status("server_version")
        return Check(name=label, state=State.OK, value=f"answers, PostgreSQL {version}")
    assert environment.storage is not None  # noqa: S101 - embedded ones have it
    assert environment.postgres_version is not None  # noqa: S101
    place = placement(environment.storage)
    if isinstance(place, Unavailable):
        hint = "its trials will be skipped"
        return Check(name=label, state=State.CAUTION, value=place.reason, hint=hint)
    found = installation.find(environment.postgres_version, environment.bin_dir)
    _enough_connections(environment, plan)
    for directory in (place.directory, place.wal_directory):
        if directory is not None:
            _writable(Path(directory))
    return Check(name=label, state=State.OK, value=f"PostgreSQL {found.version} on {place.label}")


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
