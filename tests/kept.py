"""Made-up findings for tests of durability: environments with promises, some of them published."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import msgspec

from groundspeed import published
from groundspeed.analyse import Findings, analyse
from groundspeed.plan import Beside
from groundspeed.record.losses import Keeping, Promise
from tests.examples import (
    make_measured,
    make_provenance,
    make_record,
    make_run,
    make_storage,
    make_trial,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.published import Publication

ALL = Promise(killed_s=None, power_cut_s=None, words="nothing is kept")
SECOND = Promise(killed_s=0.0, power_cut_s=1.0, words="up to 1 s is lost")
NOTHING = Promise(killed_s=0.0, power_cut_s=0.0, words="nothing acknowledged is lost")
WAYS = ((1.0, "keep: second"), (0.0, "keep: all"))


def kept_findings(  # noqa: PLR0913 - what tests vary
    speeds: Mapping[str, Mapping[str, float]],
    promises: Mapping[str, Promise],
    *,
    writing: tuple[str, ...] = ("put",),
    repeats: int = 12,
    spread: float = 0.01,
    storages: Mapping[str, str] | None = None,
    publication: Publication | None = None,
    theirs: Mapping[str, str] | None = None,
) -> Findings:
    """Analyse a run of another engine at 20 clients, workload by workload, at these speeds."""
    rng = Random(7)
    records = []
    for block in range(repeats):
        for number, (workload, by_environment) in enumerate(speeds.items()):
            for environment, speed in by_environment.items():
                tps = speed * math.exp(rng.gauss(0, spread))
                trial = make_trial(
                    environment=environment,
                    workload=workload,
                    clients=20,
                    scale=1,
                    repeat_index=block,
                    block_index=block * len(speeds) + number,
                )
                storage = make_storage(label=(storages or {}).get(environment, "disk"))
                records.append(
                    make_record(
                        trial,
                        make_measured(tps, p50_s=20 / tps),
                        number=len(records),
                        provenance=make_provenance(storage=storage),
                    )
                )
    run = make_run(records)
    names = (theirs or {}).get
    return analyse(
        [
            msgspec.structs.replace(
                run,
                engine="another",
                writing_workloads=writing,
                keeping=Keeping(promises=tuple(promises.items()), ways=WAYS),
                publication=publication,
                beside=publication
                and Beside(
                    publication=publication.name,
                    environments=tuple((name, names(name) or name) for name in run.environments),
                ),
            )
        ]
    )


def publication_of(
    figures: Mapping[str, Mapping[str, float | list[float]]], *, clients: int = 20
) -> Publication:
    """Make a publication: requests a second of each command in each environment."""
    file = {
        "source": "A table (A. Body, 2026-01-31)",
        "tool": f"redis-benchmark -c {clients}",
        "environments": [
            {"environment": name, **{command: {"rps": rps} for command, rps in by.items()}}
            for name, by in figures.items()
        ],
    }
    return published.parse(msgspec.json.encode(file), name="a-table")
