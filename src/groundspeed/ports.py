"""What `run` asks of the world: protocols without logic.

Real ones live in `targets`, `probes` and `store`; fakes for tests in `tests/fakes.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from groundspeed.plan import POSTGRES
from groundspeed.record import Caution, Evidence, LogTotals, SecondRow, Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import Command, Trial
    from groundspeed.record import (
        HostFacts,
        Record,
        ServerFacts,
        StorageFacts,
        StorageWork,
    )


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How a running command is doing; None where nothing is known yet."""

    elapsed_s: float
    tps_per_s: float | None
    p99_s: float | None


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a load command left behind. `log` is None where no log was asked for.

    `tallies` are the same seconds with all that is needed to add them to those of other loads, each
    a `SecondTally` as JSON: in an hour they are millions of counts, and few are looked at at once.
    They are empty unless that was asked for. `cautions` are doubts about how the load was made.
    """

    returncode: int
    stdout: str
    stderr: str
    elapsed_s: float
    log: LogTotals | None = None
    seconds: tuple[SecondRow, ...] = ()
    tallies: tuple[msgspec.Raw, ...] = ()
    cautions: tuple[Caution, ...] = ()


class PodPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of Kubernetes, and the container in it that is meant.

    `claims` are its volume claims by name: that of the data first, then that of the log. By `uid`
    a pod is told from another one of its name.
    """

    namespace: str
    name: str
    container: str
    uid: str = ""
    claims: tuple[str, ...] = ()


class WatchPoints(msgspec.Struct, frozen=True, kw_only=True):
    """Where probes find a server and its load; None where it is not on this machine.

    The load tool is found by its name among the descendants of `groundspeed_pid`. `password` never
    reaches a file or an argument list. `variables` are those of libpq (PG*) that count beside the
    connection string; no others do. `engine` is a name that `probes.engines` knows; of another than
    postgres `conninfo` is the server's URL. `pod` is that of a server in Kubernetes; of several
    that of the primary.
    """

    conninfo: str
    password: str | None
    groundspeed_pid: int
    load_program: str = "pgbench"
    server_pid: int | None = None
    data_directory: str | None = None
    wal_directory: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    engine: str = POSTGRES
    pod: PodPlace | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a watch saw of one measured load."""

    evidence: Evidence
    series: Series


class Clock(Protocol):
    """Time, as an argument."""

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def wall_s(self) -> float:
        """Seconds since 1970; may jump."""
        ...


class Target(Protocol):
    """A machine with the server of one environment; the only one that executes a command."""

    @property
    def conninfo(self) -> str:
        """Connection string of the database under test, without a password."""
        ...

    @property
    def reset_method(self) -> str:
        """How `reset` brings the dataset to the same state: a word and a reason."""
        ...

    def provide(self) -> None:
        """Create what the environment needs, up to an empty database. Raises TargetError."""
        ...

    def prepare(self, scale: int) -> None:
        """Fill the database with the pgbench dataset and leave the server stopped."""
        ...

    def start(self) -> None:
        """Start the server and wait until it answers. Raises TargetError."""
        ...

    def stop(self) -> None:
        """Stop the server; nothing when it is stopped."""
        ...

    def reset(self) -> None:
        """Bring the dataset to the state every write trial starts from."""
        ...

    def check(self) -> tuple[Caution, ...]:
        """Make sure that the server is fit for a trial; fill its buffers. Raises TargetError."""
        ...

    def checkpoint(self) -> tuple[Caution, ...]:
        """Write all dirty pages."""
        ...

    def reset_statistics(self) -> tuple[Caution, ...]:
        """Set the server's statistics to zero, once no client of an earlier load is left.

        An emulated device gets its burst credits back and counts from here.
        """
        ...

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Execute a load command; with a trial, read its transaction log while it is written.

        It is ended after `limit_s` seconds, which is no error: the return code tells.
        """
        ...

    def storage_work(self) -> StorageWork | None:
        """Tell what an emulated device did since `reset_statistics`; None where none is."""
        ...

    def watch_points(self) -> WatchPoints:
        """Tell where probes find the running server."""
        ...

    def is_alive(self) -> bool:
        """Tell whether the server still answers."""
        ...

    def why_dead(self) -> str:
        """The last telling words of a server that does not answer."""
        ...

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it. Raises TargetError when it is missing."""
        ...

    def server_facts(self) -> ServerFacts:
        """Ask the running server for its version and settings."""
        ...

    def storage_facts(self) -> StorageFacts | None:
        """Tell where the data directory is; None for a given server."""
        ...

    def remove(self) -> None:
        """Take away everything `provide` and the others made; never fails half-way."""
        ...


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A numbered entry that a server acknowledged; `at_ns` is of the monotonic clock."""

    name: str
    at_ns: int


class Ledger(Protocol):
    """Writes numbered entries into a server, and later asks which of them are there."""

    def open(self) -> None:
        """Make what entries are written into, durably. Raises TargetError."""
        ...

    def write_for(self, limit_s: float) -> None:
        """Write from now on, and come back after that time or when nobody can write any more."""
        ...

    def close(self) -> tuple[Entry, ...]:
        """End all writing, with the server or after it, and give what was acknowledged."""
        ...

    def present(self) -> frozenset[str]:
        """Ask the server, started again, for the names it has. Raises TargetError."""
        ...


class DurableTarget(Target, Protocol):
    """A target whose server can be ended badly."""

    def ledger(self) -> Ledger:
        """Give the ledger of its running server."""
        ...

    def kill(self) -> None:
        """Kill all processes of the server at once, and wait until none is left."""
        ...

    def cut_power(self) -> int:
        """Take from the files what had not reached the device; gives the bytes it took.

        All processes are gone before. Raises TargetError where no device can lose its power.
        """
        ...


class Probe(Protocol):
    """Sees the machine."""

    def host_facts(self) -> HostFacts:
        """Describe the machine."""
        ...


class Watch(Protocol):
    """Watches one trial, from before its warm-up on; never fails it."""

    def begin(self) -> None:
        """Count from here: the measured load is about to start."""
        ...

    def end(self) -> Seen:
        """Stop counting and tell what was seen; what was not is in `Evidence.absent`."""
        ...

    def close(self) -> None:
        """End without an answer, or after it; may be called twice."""
        ...


class Watcher(Protocol):
    """Opens watches."""

    def open(self, points: WatchPoints) -> Watch | None:
        """Begin to look at a running server; None where nothing shall be watched."""
        ...


class Store(Protocol):
    """Keeps what happened."""

    def records(self) -> tuple[Record, ...]:
        """All records so far, oldest first."""
        ...

    def append(self, record: Record) -> None:
        """Keep a record for good before returning. Raises StoreError; then nothing is half kept."""
        ...

    def write_raw(self, name: str, text: str) -> None:
        """Keep the raw output of a tool."""
        ...

    def write_seconds(self, trial_id: str, attempt: int, rows: tuple[SecondRow, ...]) -> None:
        """Keep the per-second series of a trial."""
        ...

    def write_series(self, trial_id: str, attempt: int, series: Series) -> None:
        """Keep what probes saw in each second of a trial."""
        ...


class Listener(Protocol):
    """Is told how a run goes; for displays."""

    def note(self, message: str) -> None:
        """Something worth a line happened outside a trial (an environment is being set up)."""
        ...

    def trial_started(self, trial: Trial, *, number: int, left_s: float) -> None:
        """A trial begins; `number` counts from 1, `left_s` is the estimate for all that is left."""
        ...

    def phase(self, name: str) -> None:
        """The trial enters a phase: start, check, warm up, measure, verify, clean."""
        ...

    def progress(self, progress: Progress) -> None:
        """About once a second while load runs."""
        ...

    def trial_ended(self, record: Record) -> None:
        """A record was kept."""
        ...
