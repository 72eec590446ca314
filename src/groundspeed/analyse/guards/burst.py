"""Burst guard: credits make the first minutes fast, and a trial may see nothing else.

Emulated buckets are known exactly. Of real volumes and machines only their names can be seen, so
for them there is a hint and no finding about figures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.diagnosis import CellKey, GuardFinding, GuardKind
from groundspeed.analyse.guards.buckets import Bucket, buckets_of
from groundspeed.analyse.guards.trials import by_cell, environments_of, keys_of
from groundspeed.analyse.guards.wording import low_to_high, span_text
from groundspeed.storage.profile import Counted
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.findings import Comparison
    from groundspeed.plan import Cell
    from groundspeed.record import StorageWork

MEASURED, AGAINST = "measured-the-burst", "burst-against-baseline"
_CPU_CREDITS, _VOLUME_CREDITS = "cpu-credits", "volume-credits"
# A bucket is empty when less is left than what came back while the last requests were under way.
_EMPTY_RATIO = 0.01
# AWS EC2: t2, t3, t3a, t4g; the DMI product name of a virtual machine is its instance type.
_BURSTABLE_TYPE = re.compile(r"\bt[2-9][a-z]*\.(?:nano|micro|small|medium|\d*x?large)\b")
_EC2, _EBS = "Amazon EC2", "Amazon Elastic Block Store"


class _Use(NamedTuple):
    """A bucket that trials of a cell used, and by which of them."""

    cell: Cell
    label: str
    bucket: Bucket
    trials: tuple[tuple[MeasuredTrial, StorageWork], ...]

    @property
    def ran_out(self) -> bool:
        """Whether the credits ended inside one of the trials."""
        return any((self.bucket.left_ratio(w) or 0.0) < _EMPTY_RATIO for _, w in self.trials)


def burst_findings(settled: Settled, comparisons: Sequence[Comparison]) -> tuple[GuardFinding, ...]:
    """Find cells that were measured on credits, comparisons of those with others, and hints."""
    uses = [use for cell, trials in by_cell(settled).items() for use in _uses(cell, trials)]
    return (*_measured(settled, uses), *_against(uses, comparisons), *_hints(settled))


def _uses(cell: Cell, trials: Sequence[MeasuredTrial]) -> Iterator[_Use]:
    found: dict[tuple[str, Bucket], list[tuple[MeasuredTrial, StorageWork]]] = {}
    for trial in trials:
        storage, work = trial.record.provenance.storage, trial.record.storage_work
        if storage is None or work is None:
            continue
        for bucket in buckets_of(storage.profile):
            if bucket.was_used_by(work):
                found.setdefault((storage.label, bucket), []).append((trial, work))
    for (label, bucket), used in found.items():
        yield _Use(cell, label, bucket, tuple(used))


def _measured(settled: Settled, uses: Sequence[_Use]) -> Iterator[GuardFinding]:
    merged: dict[tuple[str, Bucket, bool], list[_Use]] = {}
    for use in uses:
        merged.setdefault((use.label, use.bucket, use.ran_out), []).append(use)
    for (label, bucket, ran_out), same in merged.items():
        cells = [use.cell for use in same]
        yield GuardFinding(
            kind=GuardKind.BURST,
            code=MEASURED,
            message=_ran_out(label, bucket, same) if ran_out else _carried(label, bucket, same),
            cells=keys_of(settled, cells),
            environments=environments_of(settled, cells),
        )


def _carried(label: str, bucket: Bucket, uses: Sequence[_Use]) -> str:
    works = [work for use in uses for _, work in use.trials]
    most = bucket.rate_text(max(bucket.asked_per_s(work) for work in works))
    left = [bucket.left_ratio(work) or 0.0 for work in works]
    return (
        f"{label}: trials of {_lengths(uses)} ran at up to {most} on burst credits, of which"
        f" {low_to_high([100 * value for value in left], '.0f')}% were left at their end; without"
        f" credits it gives {bucket.rate_text(bucket.rate_per_s)}: this measured the burst"
    )


def _ran_out(label: str, bucket: Bucket, uses: Sequence[_Use]) -> str:
    held = (
        format_bytes(bucket.capacity)
        if bucket.of is Counted.BYTES
        else f"{bucket.capacity:,.0f} requests"
    )
    return (
        f"{label}: the burst credits ({held}) ran out inside trials of {_lengths(uses)}: their"
        f" means mix the burst with the baseline of {bucket.rate_text(bucket.rate_per_s)}"
    )


def _lengths(uses: Sequence[_Use]) -> str:
    lengths = sorted({t.record.trial.duration_s for use in uses for t, _ in use.trials})
    return " or ".join(span_text(length_s) for length_s in lengths)


def _against(uses: Sequence[_Use], comparisons: Sequence[Comparison]) -> Iterator[GuardFinding]:
    """Find comparisons of which one side alone went on credits."""
    burst = {use.cell: use for use in uses}
    merged: dict[tuple[str, str, str], list[CellKey]] = {}
    for one in comparisons:
        key = CellKey(
            environment=one.environment,
            workload=one.workload,
            clients=one.clients,
            threads=one.threads,
            scale=one.scale,
        )
        names = [c.environment for c in burst if _same_but_environment(c, key)]
        ours, theirs = one.environment in names, one.baseline in names
        if ours != theirs:
            fast = one.environment if ours else one.baseline
            merged.setdefault((one.baseline, one.environment, fast), []).append(key)
    for (baseline, environment, fast), cells in merged.items():
        other = baseline if fast == environment else environment
        yield GuardFinding(
            kind=GuardKind.BURST,
            code=AGAINST,
            message=f"{fast} ran on burst credits and {other} at what it can keep up: this compares"
            " a burst with a baseline",
            cells=tuple(cells),
            environments=(baseline, environment),
        )


def _same_but_environment(cell: Cell, key: CellKey) -> bool:
    return (cell.workload, cell.clients, cell.threads, cell.scale) == (
        key.workload,
        key.clients,
        key.threads,
        key.scale,
    )


def _hints(settled: Settled) -> Iterator[GuardFinding]:
    """Name real machines and volumes that are known to have credits nobody here can see."""
    machines: dict[str, list[Cell]] = {}
    volumes: list[Cell] = []
    for cell, trials in by_cell(settled).items():
        for trial in trials:
            host, storage = trial.record.provenance.host, trial.record.provenance.storage
            seen = "" if host is None else host.virtualization
            burstable = _BURSTABLE_TYPE.search(seen) if _EC2 in seen else None
            if burstable is not None:
                machines.setdefault(burstable[0], []).append(cell)
            if storage is not None and not storage.emulated and _EBS in storage.device:
                volumes.append(cell)
    for machine, cells in machines.items():
        yield GuardFinding(
            kind=GuardKind.BURST,
            code=_CPU_CREDITS,
            message=f"the machine is a {machine}: its processors run on CPU credits, which cannot"
            " be seen from inside; look at CPUCreditBalance before and after",
            cells=keys_of(settled, cells),
            environments=environments_of(settled, cells),
        )
    if volumes:
        yield GuardFinding(
            kind=GuardKind.BURST,
            code=_VOLUME_CREDITS,
            message=f"the device is {_EBS}: a gp2 volume below 1 TiB and the EBS bandwidth of small"
            " machines run on credits, which cannot be seen from inside; look at BurstBalance and"
            " EBSIOBalance% before and after",
            cells=keys_of(settled, volumes),
            environments=environments_of(settled, volumes),
        )
