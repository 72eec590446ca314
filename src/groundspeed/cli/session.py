"""Wires a plan to real targets, a real store and a real clock, and runs it.

The only place where every room meets; it decides nothing about figures.
"""

from __future__ import annotations

import secrets
import signal
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import msgspec

from groundspeed import run
from groundspeed.cli import needs, outfit, storage_places
from groundspeed.errors import TargetError
from groundspeed.plan import warm_memory_bytes
from groundspeed.ports import PodPlace
from groundspeed.probes import cluster_facts
from groundspeed.probes.cluster_watch import ClusterWatcher
from groundspeed.probes.host import Host
from groundspeed.probes.watching import ProcessWatcher
from groundspeed.record import StorageFacts
from groundspeed.record.evidence import ProbeLevel
from groundspeed.store import RunLock, RunStore
from groundspeed.targets import engines, leases, places
from groundspeed.targets.generator_job import remove_generators
from groundspeed.targets.kube_access import ClusterAccess
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.ports import Listener, Target, Watcher, WatchPoints
    from groundspeed.record import ClusterFacts
    from groundspeed.storage.placement import Machine


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that a run is in; `client` is the pod of this process."""

    access: ClusterAccess
    client: PodPlace

    def look(self, points: WatchPoints) -> ClusterFacts:
        """Tell what a server runs on. Raises nothing."""
        return cluster_facts.ask(self.access.api, points, self.client)


class SystemClock:
    """The clock of this machine, as `ports.Clock`."""

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; goes on while the machine sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall_s(self) -> float:
        """Seconds since 1970."""
        return time.time()


def sweep() -> tuple[str, ...]:
    """Remove what dead runs left behind; a line for each thing that could not be removed."""
    return leases.sweep(engines.drop_owned)


def describe_storage(path: Path) -> StorageFacts:
    """Say on which file system and device a path lies."""
    mount = Host().mount_of(path)
    return StorageFacts(
        label=str(path),
        emulated=False,
        path=str(path),
        filesystem=mount.filesystem,
        device=mount.device,
        mount_options=mount.mount_options,
    )


def run_plan(
    plan: Plan,
    run_dir: Path,
    *,
    passwords: Mapping[str, str],
    listener: Listener,
    cluster: Cluster | None = None,
) -> None:
    """Run what remains of a plan into its run directory.

    `passwords` are those of given servers, by environment. Raises TargetError, StoreError, and
    KeyboardInterrupt for Ctrl-C, SIGTERM and SIGHUP; in every case nothing of the run is left
    on the machine but its results. In a cluster the caller hears signals, and what is in it stays
    where the run goes on in another process.
    """
    run_dir = run_dir.absolute()
    with ExitStack() as stack:
        if cluster is None:
            stack.enter_context(signals_interrupt())
        stack.enter_context(RunLock(run_dir.parent))
        store = RunStore(run_dir)
        stack.callback(store.close)
        wanted = run.environments_wanted(plan, store.records())
        environments = [e for e in plan.environments if e.name in wanted]
        lease = stack.enter_context(LeaseFile(run_dir.name))
        machine = storage_places.machine_for(plan, Host())
        clone = _can_clone_all(plan.environments, machine)
        is_warm = may_stay_warm(plan, Host())
        if plan.stopping is not None and not is_warm:
            listener.note("memory is short: servers are stopped between trials, which takes longer")
        # Names end in seconds, and results directories know nothing of each other: two runs of one
        # name at once would take each other's directories away.
        owner = f"{run_dir.name}-{secrets.token_hex(4)}"
        surroundings = Surroundings(
            run_id=owner,
            lease=lease,
            account=outfit.account_for(environments),
            describe_storage=describe_storage,
            clone=clone,
            is_warm=is_warm,
            tell=listener.note,
        )
        fitted = outfit.Outfit(
            plan,
            environments,
            surroundings,
            passwords,
            machine,
            cluster=None if cluster is None else cluster.access,
        )
        watcher: Watcher = ProcessWatcher(ProbeLevel(plan.probes))
        if cluster is not None:
            watcher = ClusterWatcher(watcher, cluster.access.api, cluster.client)
            stack.callback(_leave, cluster, fitted.others_in_cluster(plan), listener)
        run.execute(
            plan,
            run.Crew(
                targets=fitted.targets,
                unavailable=fitted.unavailable,
                store=store,
                clock=SystemClock(),
                listener=listener,
                host=Host().host_facts(),
                watcher=watcher,
                is_warm=is_warm,
                look_at_cluster=None if cluster is None else cluster.look,
            ),
        )


def _leave(cluster: Cluster, others: Sequence[Target], listener: Listener) -> None:
    """Remove what this process had no part in: servers of environments that are done with.

    And the load generators; all of it stays where the run goes on in another process.
    """
    steps = [target.remove for target in others]
    job = cluster.access.generator_job
    if job is not None and not cluster.access.keep():
        steps.append(lambda: remove_generators(cluster.access.api, job))
    for step in steps:
        try:
            step()
        except TargetError as error:
            listener.note(f"left behind: {error.message}; {error.hint}")


def may_stay_warm(plan: Plan, host: Host) -> bool:
    """Tell whether the servers of a run may run on between its trials.

    Only where trials are slices that would otherwise take less than a start: a plan of long ones
    keeps its servers apart, as no idle server at all is better than one at rest. And only where
    memory has room for all of them, or they would push each other's pages out.
    """
    if plan.stopping is None:
        return False
    memory = next((need for need in needs.needs_of(plan, host) if need.place == "memory"), None)
    if memory is None:
        # Only given servers: they run anyway.
        return True
    clients = max(trial.cell.clients for trial in plan.trials)
    more_bytes = (
        warm_memory_bytes(plan.environments, clients, plan.needs) - plan.estimate.memory_bytes
    )
    return memory.most_bytes + more_bytes <= memory.free_bytes


def _can_clone_all(environments: Sequence[EnvironmentPlan], machine: Machine) -> bool:
    """Tell whether every storage of a plan shares blocks.

    One way of resetting for all, or the environments would differ in more than storage; and for
    all of the plan, or an environment that is left after a resume would get another one.
    """
    asked = [storage_places.place_of(environment, machine) for environment in environments]
    paths = [path for place in asked if place is not None for path in outfit.directories(place)]
    return bool(paths) and all(places.can_clone(path) for path in paths)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does: in order."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    previous = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
