"""Whether a suite can run on this machine, each part as a check. For `doctor`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.cli import elsewhere, needs, storage_places
from groundspeed.cli.checks import Check, State, missing
from groundspeed.errors import TargetError
from groundspeed.plan import TargetKind
from groundspeed.report.scaling import format_bytes
from groundspeed.storage.placement import Unavailable, placement
from groundspeed.targets import emulation_checks, engine_looks, process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.probes.host import Host
    from groundspeed.storage.placement import Emulation, Machine, Placement
    from groundspeed.targets.found_server import FoundServer

_SKIPPED = "its trials will be skipped"


def suite_checks(plan: Plan, host: Host, passwords: Mapping[str, str]) -> tuple[Check, ...]:
    """Look at each environment of a plan and at what all need together. Raises nothing."""
    checks: list[Check] = []
    machine = storage_places.machine_for(plan, host)
    with_replicas = [e for one in plan.environments for e in (one, one.replica) if e]
    checks += [
        Check(name="suite", state=State.MISSING, value=line, hint=elsewhere.HINT)
        for line in elsewhere.in_cluster_only(plan)
    ]
    for environment in with_replicas:
        if environment.kind is TargetKind.KUBERNETES:
            continue
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
    looks = engine_looks.looks(plan.engine)
    if environment.kind is TargetKind.SERVER:
        title = looks.given(environment, passwords.get(environment.name))
        return Check(name=label, state=State.OK, value=f"answers, {title}")
    place = placement(environment, machine)
    if isinstance(place, Unavailable):
        return _skipped(label, place.reason)
    found = looks.embedded(environment, max(trial.cell.clients for trial in plan.trials))
    for directory in (place.directory, place.wal_directory):
        if directory is not None:
            _writable(Path(directory))
    if place.emulation is not None:
        return _emulated(label, place, place.emulation, found)
    return Check(name=label, state=State.OK, value=f"{found.title} on {place.label}")


def _emulated(label: str, place: Placement, asked: Emulation, found: FoundServer) -> Check:
    """Look whether a device can be played here; where it cannot, its trials are skipped."""
    directories = [Path(name) for name in (place.directory, place.wal_directory) if name]
    try:
        doubts = emulation_checks.doubts_here(
            asked, directories, found.program, process.unprivileged_account()
        )
    except TargetError as error:
        return _skipped(label, f"{error.message}; {error.hint}")
    value = (
        f"{found.title} on {place.label} (emulated), files in {place.directory},"
        f" page cache {format_bytes(asked.cache_bytes)}"
        f"{' (memory assumed)' if asked.memory_assumed else ''}"
    )
    if doubts:
        return Check(name=label, state=State.CAUTION, value=value, hint=doubts[0].message)
    return Check(name=label, state=State.OK, value=value)


def _skipped(label: str, reason: str) -> Check:
    return Check(name=label, state=State.CAUTION, value=reason, hint=_SKIPPED)


def _writable(path: Path) -> None:
    place = path
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise TargetError(f"{path}: cannot be written", "name another directory in storage")


def _need(need: needs.Need) -> Check:
    value = f"{format_bytes(need.free_bytes)} free, needs up to {format_bytes(need.most_bytes)}"
    if need.free_bytes < need.least_bytes:
        error = TargetError(value, needs.SMALLER)
        return missing(f"room: {need.place}", error)
    if need.free_bytes < need.most_bytes:
        hint = "it may become full; a smaller scale is safer"
        return Check(name=f"room: {need.place}", state=State.CAUTION, value=value, hint=hint)
    return Check(name=f"room: {need.place}", state=State.OK, value=value)
