"""Processors: used up by the server, or kept from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.bottleneck import device, outside, pods, remedies
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene
    from groundspeed.record.evidence import ServingWork
    from groundspeed.record.machine import CpuWork, GroupWork

# A tenth of all cores idle is what a busy machine keeps between wake-ups; with a quarter there are
# cores to spare. Between the two it is a matter of degree, so that a trial near one of them is not
# named by chance.
_SPENT_IDLE_RATIO, _SPARE_IDLE_RATIO = 0.1, 0.25
_RATHER_SPENT_RATIO = 0.5
# What a group of cores gives at most beside the interrupts of the machine.
_USED_UP_RATIO = 0.9
# Where server and load burn less than half of the cores, the shortage is not theirs.
_OURS_RATIO = 0.5
# A group held back in half of its periods could have used much more; in a quarter of them,
# throughput already hangs on the quota. The bandwidth controller counts a period once it bites.
_THROTTLED_RATIO = 0.5
# At 90% of its quota a group is as fast as the quota lets it be.
_AT_QUOTA_RATIO = 0.8
# Of processor time wanted: a third taken by the host is as good as a machine a third smaller.
_STOLEN_RATIO = 0.3
# From a fifth of the cores on, who else was at work is worth a figure.
_NEIGHBOURS_RATIO = 0.2
# Of the time a thread could have run it did: what is less is shared with others.
_RAN_RATIO = 0.8
_TOLD = "counters of the server"
_SOURCE = "/proc/stat and /proc/PID/stat"


class Split(NamedTuple):
    """Parts of the clients' time that are short of processors: on the server's side, the load's."""

    server: float
    load: float


def spent_ratio(cpu: CpuWork) -> float:
    """How far all cores were used up: 0 where there were cores to spare, 1 where none was left."""
    spare = cpu.idle_ratio + cpu.io_wait_ratio
    span = _SPARE_IDLE_RATIO - _SPENT_IDLE_RATIO
    return min(1.0, max(0.0, (_SPARE_IDLE_RATIO - spare) / span))


def split(scene: Scene) -> Split:
    """Share out what goes to processors among server and load.

    Where cores are left over, sessions at work are the server's, and time outside the load's as
    far as one of its threads is always busy. Where none is left, both wait for the same cores, and
    who burns more of them owns more of the waiting.
    """
    at_work = scene.share(Place.PROCESSOR, Place.BUFFER) + _log_on_processor(scene)
    rest = outside.parts(scene).rest
    if not scene.has_waits:
        # Counters alone: what no device was waited for may be on either side.
        rest += scene.share(Place.OTHER)
    if scene.host is None:
        return Split(at_work, 0.0)
    cpu = scene.host.cpu
    if _has_used_up_its_cores(cpu):
        # The probe's own session waits for the same cores, and sees too few at work.
        return Split(min(1.0, at_work + rest), 0.0)
    apart = Split(at_work * _used_ratio(scene, cpu), rest * outside.thread_saturation(scene))
    server, load = cpu.server_cpu_count, cpu.load_cpu_count
    if server is None or load is None or not server + load:
        return apart
    reach = min(1.0, (server + load) / (_OURS_RATIO * cpu.core_count))
    pool = (at_work + rest) * reach
    shared = Split(max(at_work, pool * server / (server + load)), pool * load / (server + load))
    spent = spent_ratio(cpu)
    return Split(*(spent * s + (1.0 - spent) * a for s, a in zip(shared, apart, strict=True)))


def _has_used_up_its_cores(cpu: CpuWork) -> bool:
    """Whether a server that may use some of the cores only has nothing left of those."""
    allowed, used = cpu.server_allowed_count, cpu.server_cpu_count
    if allowed is None or used is None or allowed >= cpu.core_count:
        return False
    return used >= _USED_UP_RATIO * allowed


def _log_on_processor(scene: Scene) -> float:
    """Share of the clients' time in the log's waits that no device explains."""
    return max(0.0, scene.share(Place.LOG, Place.LOG_QUEUE) - device.log_share(scene))


def _used_ratio(scene: Scene, cpu: CpuWork) -> float:
    """Cores the server used over those that sessions at work could have used."""
    if cpu.server_cpu_count is None:
        return 1.0
    # Pinned to some of the cores, a server has used up what it has while others idle.
    allowed = float(cpu.server_allowed_count or cpu.core_count)
    usable = min(scene.mean_sessions(Place.PROCESSOR), allowed)
    return min(1.0, cpu.server_cpu_count / usable) if usable else 0.0


def bound(scene: Scene) -> Suspect | None:
    """CPU-bound: sessions are at work, and the processors are; or one thread is, for all."""
    if scene.serving is not None:
        return _thread_bound(scene, scene.serving)
    clues = _work_clues(scene)
    if scene.host is not None:
        burnt = _core_clues(scene.host.cpu)
        is_spent = spent_ratio(scene.host.cpu) >= _RATHER_SPENT_RATIO
        # Short statements are over before they are seen: where no core is left, cores tell more.
        clues = [*burnt, *clues] if is_spent else [*clues, *burnt]
    return Suspect(
        bottleneck=Bottleneck.CPU,
        score=min(1.0, split(scene).server),
        clues=tuple(clues),
        remedy=remedies.CPU,
        doubtful=scene.host is None or scene.host.cpu.server_cpu_count is None,
        counted=scene.host is not None,
    )


def _thread_bound(scene: Scene, serving: ServingWork) -> Suspect:
    """CPU-bound single thread: it has a core of its own, and more cores would not help it."""
    busy, ready = serving.main_busy_ratio, serving.main_ready_ratio
    got = _got_its_core(scene, serving)
    clues: list[Clue] = []
    source = "/proc/PID/schedstat of the serving thread" if ready is not None else _TOLD
    if busy is not None:
        name = "of one core is what the thread of all clients runs"
        clues.append(Clue(name=name, value=busy, unit="ratio", source=source))
    if ready is not None:
        name = "of its time it is ready and waits for a core"
        clues.append(Clue(name=name, value=ready, unit="ratio", source=source))
    name = "of its time it is at work or ready to be"
    clues.insert(0 if got else 1, scene.waits_clue(name, Place.PROCESSOR))
    if not got:
        # What it lacks comes first.
        clues.reverse()
    if scene.host is not None:
        clues += _core_clues(scene.host.cpu)
    return Suspect(
        bottleneck=Bottleneck.SINGLE_THREAD if got else Bottleneck.CPU,
        score=min(1.0, split(scene).server),
        clues=tuple(clues),
        remedy=remedies.THREAD if got else remedies.CPU_SHARED,
        doubtful=busy is None,
        counted=busy is not None,
    )


def _got_its_core(scene: Scene, serving: ServingWork) -> bool:
    """Whether the thread ran nearly whenever it wanted to."""
    busy, ready = serving.main_busy_ratio, serving.main_ready_ratio
    if busy is not None and ready is not None and busy + ready > 0:
        return busy / (busy + ready) >= _RAN_RATIO
    return scene.host is None or spent_ratio(scene.host.cpu) < _RATHER_SPENT_RATIO


def _work_clues(scene: Scene) -> list[Clue]:
    name = "of database time sessions are at work and wait for nothing"
    return [scene.waits_clue(name, Place.PROCESSOR)]


def _core_clues(cpu: CpuWork) -> list[Clue]:
    clues = [_ratio(f"of all {cpu.core_count} cores idle", cpu.idle_ratio)]
    if (cpu.other_cpu_count or 0.0) >= _NEIGHBOURS_RATIO * cpu.core_count:
        name = "cores burnt by others than the server and its load"
        clues.insert(0, _cores(name, cpu.other_cpu_count or 0.0))
    if cpu.server_cpu_count is not None:
        allowed = cpu.server_allowed_count or cpu.core_count
        of = f" of the {allowed} it may use" if allowed < cpu.core_count else ""
        clues.insert(0, _cores(f"cores burnt by the server{of}", cpu.server_cpu_count))
    return clues


def starved(scene: Scene) -> Suspect | None:
    """CPU-starved: the server wants processors that it is not given."""
    if scene.record.provenance.cluster is not None:
        return pods.starved(scene)
    if scene.host is None:
        return None
    cpu, group = scene.host.cpu, scene.host.group
    by_quota = _by_quota(cpu, group)
    by_host = _by_host(scene, cpu)
    if max(by_quota, by_host) <= 0:
        return None
    if by_quota >= by_host and group is not None:
        return Suspect(
            bottleneck=Bottleneck.CPU_STARVED,
            score=by_quota,
            clues=_quota_clues(cpu, group),
            remedy=remedies.QUOTA,
            counted=True,
        )
    return Suspect(
        bottleneck=Bottleneck.CPU_STARVED,
        score=by_host,
        clues=(
            _ratio("of all processor time was stolen by the host of this machine", cpu.steal_ratio),
            _ratio(f"of all {cpu.core_count} cores idle", cpu.idle_ratio),
            scene.waits_clue("of database time sessions want a processor", Place.PROCESSOR),
        ),
        remedy=remedies.STOLEN,
        counted=True,
    )


def _by_quota(cpu: CpuWork, group: GroupWork | None) -> float:
    if group is None or not group.throttled_ratio:
        return 0.0
    limit, used = group.cpu_limit_count, cpu.server_cpu_count
    if limit and used is not None and used < _AT_QUOTA_RATIO * limit:
        # Held back now and then, and far from its quota over the whole.
        return 0.0
    return min(1.0, group.throttled_ratio / _THROTTLED_RATIO)


def _by_host(scene: Scene, cpu: CpuWork) -> float:
    wanted = 1.0 - cpu.idle_ratio - cpu.io_wait_ratio
    if wanted <= 0 or not cpu.steal_ratio:
        return 0.0
    short = split(scene)
    stolen = min(1.0, cpu.steal_ratio / wanted / _STOLEN_RATIO)
    return min(1.0, short.server + short.load) * stolen


def _quota_clues(cpu: CpuWork, group: GroupWork) -> tuple[Clue, ...]:
    source = f"cpu.stat of the server's control group (v{group.version})"
    clues = [
        Clue(
            name="of the quota's periods the server was held back in",
            value=group.throttled_ratio or 0.0,
            unit="ratio",
            source=source,
        )
    ]
    if group.cpu_limit_count is not None:
        clues.append(
            Clue(
                name="cores are the server's quota",
                value=group.cpu_limit_count,
                unit="count",
                source=source,
            )
        )
    if cpu.server_cpu_count is not None:
        clues.append(_cores("cores burnt by the server", cpu.server_cpu_count))
    clues.append(_ratio(f"of all {cpu.core_count} cores idle", cpu.idle_ratio))
    return tuple(clues)


def _cores(name: str, value: float) -> Clue:
    return Clue(name=name, value=value, unit="count", source=_SOURCE)


def _ratio(name: str, value: float) -> Clue:
    return Clue(name=name, value=value, unit="ratio", source="/proc/stat")
