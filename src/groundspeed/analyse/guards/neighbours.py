"""Noisy neighbours: processors that others burnt, or that the hypervisor kept, while trials ran."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.diagnosis import GuardFinding, GuardKind
from groundspeed.analyse.guards.trials import environments_of, host_of, keys_of
from groundspeed.analyse.guards.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.plan import Cell
    from groundspeed.record.machine import CpuWork


class _Kind(NamedTuple):
    """A share of all cores that was not ours, from which on it is told, and its words."""

    code: str
    share: Callable[[MeasuredTrial, CpuWork], float | None]
    most_ratio: float
    words: str


def _others(trial: MeasuredTrial, cpu: CpuWork) -> float | None:
    if cpu.other_cpu_count is None or cpu.core_count < 1:
        return None
    ours_count = _pods_cpu_count(trial)
    return None if ours_count is None else max(cpu.other_cpu_count - ours_count, 0) / cpu.core_count


def _pods_cpu_count(trial: MeasuredTrial) -> float | None:
    """Cores of pods of the run beside the one that looked, on its node; None where not known.

    From inside a pod the processes of a server and of generators look like anybody's.
    """
    facts = trial.record.provenance.cluster
    if facts is None:
        return 0.0
    evidence = trial.record.evidence
    work = None if evidence is None else evidence.cluster
    if work is None or facts.client is None or facts.server is None:
        return None
    here = facts.client.node.name
    pods = [work.server] if facts.server.node.name == here else []
    if here in facts.load_nodes:
        pods += work.generators
    counts = [None if pod is None else pod.cpu_count for pod in pods]
    return None if None in counts else sum(count for count in counts if count is not None)


_KINDS = (
    _Kind("noisy-neighbours", _others, 0.05, "other processes burnt"),
    _Kind("steal", lambda _, cpu: cpu.steal_ratio, 0.02, "the hypervisor gave others"),
)


def neighbour_findings(
    settled: Settled, cells: Mapping[Cell, Sequence[MeasuredTrial]]
) -> Iterator[GuardFinding]:
    """Find cells in which others took processor time, and say whether that was even-handed."""
    for kind in _KINDS:
        means: dict[Cell, float] = {}
        trials: dict[str, list[float]] = {}
        for cell, measured in cells.items():
            shares = [
                share
                for trial in measured
                if (host := host_of(trial)) is not None
                and (share := kind.share(trial, host.cpu)) is not None
            ]
            trials.setdefault(cell.environment, []).extend(shares)
            if shares:
                means[cell] = fmean(shares)
        loud = {cell: mean for cell, mean in means.items() if mean > kind.most_ratio}
        if loud:
            by_environment = {
                name: fmean(trials[name]) for name in settled.environments if trials.get(name)
            }
            yield GuardFinding(
                kind=GuardKind.SANITY,
                code=kind.code,
                message=_word(kind, max(loud.values()), by_environment),
                cells=keys_of(settled, loud),
                environments=environments_of(settled, loud),
            )


def _word(kind: _Kind, most: float, by_environment: Mapping[str, float]) -> str:
    text = f"{kind.words} up to {most:.0%} of all cores"
    if len(by_environment) == 1:
        return text
    each = listed([f"{share:.0%} in {name}" for name, share in by_environment.items()])
    spread = max(by_environment.values()) - min(by_environment.values())
    if spread > kind.most_ratio:
        return f"{text}, and not the same in all environments: {each}"
    return f"{text}, about the same in all environments: {each}"
