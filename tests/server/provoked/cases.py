"""Cases made to order: for each bottleneck a small suite that has it, and one that has it no more.

Provocations are extreme, so that they hold on a machine of two cores with neighbours. `relieved` is
what the remedy of the diagnosis asks for: it shows that what was named held the trial back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from groundspeed.analyse.diagnosis import Bottleneck
from tests.small_runs import embedded, suite_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEMORY = "/dev/shm"
DURATION = "3s"
WARM_UP = "500ms"
# Keeps pgbench's one thread at work between statements.
HEAVY_SCRIPT = "\\set x random(1, 1000000)\n" + "\\set x (:x * 7 + 13) % 1000003\n" * 4000
HEAVY_SCRIPT += "SELECT :x;\n"
LIGHT_SCRIPT = "\\set x random(1, 1000000)\nSELECT :x;\n"
WORK_SCRIPT = "SELECT sum(sqrt(n)) FROM generate_series(1, 20000) n;\n"
LITTLE_WORK_SCRIPT = "SELECT sum(sqrt(n)) FROM generate_series(1, 20) n;\n"
# Looks at every block and takes next to nothing of it.
EVERY_BLOCK_SCRIPT = "SELECT count(*) FROM pgbench_accounts TABLESAMPLE BERNOULLI (0.01);\n"
# Fifty pages a transaction, and no row that another client touches.
SCATTERED_SCRIPT = (
    "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid IN ("
    "SELECT 1 + :client_id + 8 * (random() * 12000)::int FROM generate_series(1, 50));\n"
)
# What wide rows are to the log, without a table to fill.
WIDE_SCRIPT = "SELECT pg_logical_emit_message(true, 'wide', repeat('x', 200000));\n"
NARROW_SCRIPT = "SELECT pg_logical_emit_message(true, 'wide', repeat('x', 200));\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provocation:
    """One case. `arranged` names what a suite cannot say and the test does.

    `named` are the bottlenecks that may be named, the provoked one first.
    """

    name: str
    named: tuple[Bottleneck, ...]
    suite: Mapping[str, Any]
    relieved: Mapping[str, Any] | None = None
    scripts: Mapping[str, str] = field(default_factory=dict)
    arranged: str = ""

    def text(self, *, relieved: bool = False, version: int = 16) -> str:
        """The suite file."""
        asked = {"version": version, "warm_up": WARM_UP, "duration": DURATION, **self.suite}
        if relieved and self.relieved is not None:
            asked.update(self.relieved)
        return suite_of(**asked)


def device(**figures: object) -> dict[str, Any]:
    """A profile of one device."""
    return {
        "profile": "provoked",
        "about": "made to order",
        "device": {"parallel": 64, **figures},
        # So that what is read in order, before the trial, takes few requests.
        "request_size": "1MiB",
        "readahead": "1MiB",
        "figures": [{"what": "all", "standing": "assumed", "source": "a test", "date": "2026-01"}],
    }


def on(profile: object, memory: str = "2GiB", **more: object) -> dict[str, Any]:
    """An environment on an emulated device, its real files in memory."""
    return {
        "target": "embedded",
        "memory": memory,
        "storage": {"emulate": profile, "directory": MEMORY},
        **more,
    }


def script(name: str, *, writes: bool = False) -> list[dict[str, Any]]:
    return [{"script": name, "name": name.removesuffix(".sql"), "writes": writes}]


def environments(environment: Mapping[str, Any]) -> dict[str, Any]:
    return {"e": dict(environment)}


IN_MEMORY = environments(embedded(MEMORY))
FAST = {"read": "20us", "write": "20us", "sync": "20us"}
# An emulated page cache has 64 MiB at the least, which is half of scale 8.
LITTLE = {"scale": 8, "settings": {"shared_buffers": "1MB", "max_wal_size": "4GB"}}
LITTLE_MEMORY = "32MiB"
CALM = {"max_wal_size": "4GB", "shared_buffers": "256MB"}

PROVOCATIONS: Sequence[Provocation] = (
    Provocation(
        name="a heavy script in one thread",
        named=(Bottleneck.CLIENT,),
        suite={
            "environments": IN_MEMORY,
            "workloads": script("heavy.sql"),
            "clients": (4,),
        },
        relieved={"workloads": script("light.sql")},
        scripts={"heavy.sql": HEAVY_SCRIPT, "light.sql": LIGHT_SCRIPT},
    ),
    Provocation(
        name="an expensive query, all cached",
        named=(Bottleneck.CPU,),
        suite={
            "environments": IN_MEMORY,
            "workloads": script("work.sql"),
            "clients": (4,),
        },
        relieved={"workloads": script("less-work.sql")},
        scripts={"work.sql": WORK_SCRIPT, "less-work.sql": LITTLE_WORK_SCRIPT},
    ),
    Provocation(
        name="a server on one of the cores",
        named=(Bottleneck.CPU,),
        suite={
            "environments": IN_MEMORY,
            "workloads": script("work.sql"),
            "clients": (4,),
        },
        arranged="pinned",
        scripts={"work.sql": WORK_SCRIPT},
    ),
    Provocation(
        name="a quota of a fifth of a core",
        named=(Bottleneck.CPU_STARVED,),
        suite={"environments": IN_MEMORY, "workloads": ("select-only",), "clients": (4,)},
        arranged="quota",
    ),
    Provocation(
        name="sixteen clients and one branch",
        named=(Bottleneck.LOCK,),
        suite={
            "environments": IN_MEMORY,
            "workloads": ("tpcb-like",),
            "clients": (16,),
            "settings": CALM,
        },
        relieved={"scale": 32},
    ),
    Provocation(
        name="a slow sync",
        named=(Bottleneck.WAL_SYNC,),
        suite={
            "environments": environments(on(device(**{**FAST, "sync": "5ms"}))),
            "workloads": ("simple-update",),
            "clients": (8,),
            "settings": CALM,
        },
        relieved={"settings": {**CALM, "synchronous_commit": False}},
    ),
    Provocation(
        name="slow reads and little memory",
        named=(Bottleneck.READ_IO,),
        suite={
            "environments": environments(
                on(device(**{**FAST, "read": "3ms"}), memory=LITTLE_MEMORY)
            ),
            "workloads": ("select-only",),
            "clients": (8,),
            **LITTLE,
        },
        relieved={"environments": environments(on(device(**{**FAST, "read": "3ms"})))},
    ),
    Provocation(
        name="wide writes and few bytes a second",
        named=(Bottleneck.WRITE_BANDWIDTH,),
        suite={
            "environments": environments(
                on(
                    device(
                        **FAST, limits=[{"of": "bytes", "direction": "write", "rate": "16MiB/s"}]
                    )
                )
            ),
            "workloads": script("wide.sql"),
            "clients": (8,),
            "settings": CALM,
        },
        relieved={"environments": environments(on(device(**FAST)))},
        scripts={"wide.sql": WIDE_SCRIPT},
    ),
    Provocation(
        name="few reads a second",
        named=(Bottleneck.IOPS_CAPPED,),
        suite={
            "environments": environments(
                on(
                    device(
                        **FAST, limits=[{"of": "requests", "direction": "read", "rate": "300/s"}]
                    ),
                    memory=LITTLE_MEMORY,
                )
            ),
            "workloads": ("select-only",),
            "clients": (8,),
            **LITTLE,
        },
        relieved={"environments": environments(on(device(**FAST), memory=LITTLE_MEMORY))},
    ),
    Provocation(
        name="few writes a second",
        named=(Bottleneck.IOPS_CAPPED,),
        suite={
            "environments": environments(
                on(device(**FAST, limits=[{"of": "requests", "rate": "250/s"}]))
            ),
            "workloads": ("simple-update",),
            "clients": (8,),
            "settings": CALM,
        },
        relieved={"environments": environments(on(device(**FAST)))},
    ),
    Provocation(
        name="a tiny max_wal_size",
        named=(Bottleneck.CHECKPOINT,),
        suite={
            "environments": environments(
                on(
                    device(
                        **FAST, limits=[{"of": "bytes", "direction": "write", "rate": "16MiB/s"}]
                    )
                )
            ),
            "workloads": script("scattered.sql", writes=True),
            "clients": (8,),
            "settings": {**CALM, "max_wal_size": "32MB", "checkpoint_timeout": "30s"},
            "duration": "5s",
        },
        relieved={"settings": CALM},
        scripts={"scattered.sql": SCATTERED_SCRIPT},
    ),
    Provocation(
        name="shared buffers of a MiB",
        named=(Bottleneck.MEMORY,),
        suite={
            "environments": IN_MEMORY,
            "workloads": script("every-block.sql"),
            "clients": (4,),
            "scale": 2,
            "settings": {"shared_buffers": "1MB"},
        },
        relieved={"settings": {"shared_buffers": "512MB"}},
        scripts={"every-block.sql": EVERY_BLOCK_SCRIPT},
    ),
    Provocation(
        name="a relay that takes 5 ms each way",
        named=(Bottleneck.NETWORK,),
        # Its server is given: the environment is put in when the relay stands.
        suite={"environments": IN_MEMORY, "workloads": ("select-only",), "clients": (4,)},
        arranged="relay",
    ),
    Provocation(
        name="a connection for each transaction",
        named=(Bottleneck.CONNECTION,),
        suite={"environments": IN_MEMORY, "workloads": ("select-only",), "clients": (4,)},
        arranged="connect",
    ),
    Provocation(
        name="nothing: reads",
        named=(Bottleneck.CPU, Bottleneck.UNKNOWN),
        suite={"environments": IN_MEMORY, "workloads": ("select-only",), "clients": (4,)},
    ),
    Provocation(
        name="nothing: writes",
        named=(Bottleneck.CPU, Bottleneck.UNKNOWN),
        suite={
            "environments": IN_MEMORY,
            "workloads": ("simple-update",),
            "clients": (4,),
            "scale": 5,
            "settings": CALM,
        },
    ),
)
