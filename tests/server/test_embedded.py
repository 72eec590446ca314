"""An embedded PostgreSQL measured through its whole life, on real storage."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from groundspeed import store
from groundspeed.errors import ExitCode, TargetError
from groundspeed.record import Measured
from groundspeed.targets import installation, process, sql
from groundspeed.targets.local import EmbeddedTarget
from groundspeed.tools import pgbench
from tests import leftovers, small_runs
from tests.small_runs import embedded, plan_of, suite_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.ports import Target
    from groundspeed.record import Record
    from tests.small_runs import Place

VERSIONS = (15, 16, 18)


def measured(record: Record) -> Measured:
    assert isinstance(record.outcome, Measured), record.outcome
    return record.outcome


def running(targets: dict[str, Target]) -> EmbeddedTarget:
    (alive,) = [t for t in targets.values() if isinstance(t, EmbeddedTarget) and t.is_alive()]
    return alive


def postmaster_of(target: EmbeddedTarget) -> int:
    pid = target._server.pid
    assert pid is not None
    return pid


def ask(target: EmbeddedTarget, query: str) -> object:
    with sql.connect(target._address) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def listening_addresses(pid: int) -> set[str]:
    """Hexadecimal addresses on which a process listens for TCP."""
    inodes = set()
    for descriptor in (Path("/proc") / str(pid) / "fd").iterdir():
        inodes.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for row in (Path("/proc/net") / table).read_text().splitlines()[1:]:
            columns = row.split()
            if columns[3] == "0A" and columns[9] in inodes:
                found.add(columns[1].partition(":")[0])
    return found


class Observed:
    """What is seen of a server before and after the load of each trial."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []
        self.commits: list[int] = []
        self.wal: dict[str, Path] = {}

    def before_load(self, target: EmbeddedTarget) -> None:
        dead_rows = ask(target, "SELECT sum(n_dead_tup) FROM pg_stat_user_tables")
        history = ask(target, "SELECT count(*) FROM pgbench_history")
        self.states.append((str(dead_rows), str(history)))

    def after_load(self, target: EmbeddedTarget) -> None:
        query = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        self.commits.append(int(str(ask(target, query))))
        name = target._environment.name
        self.wal[name] = (target.data_directory / "pg_wal").resolve()
        assert leftovers.servers_of(target._with.run_id) == [postmaster_of(target)]
        assert_private(target)

    def hooks(self, targets: dict[str, Target]) -> dict[str, Callable[[], None]]:
        return {
            "warm up": lambda: self.before_load(running(targets)),
            "verify": lambda: self.after_load(running(targets)),
        }


def assert_private(target: EmbeddedTarget) -> None:
    """It runs as somebody without rights, listens nowhere else, and its files are its own."""
    pid = postmaster_of(target)
    status = Path(f"/proc/{pid}/status").read_text()
    uid = int(status.partition("Uid:")[2].split()[0])
    user = small_runs.account()
    assert uid == (os.getuid() if user is None else user.uid) != 0
    assert listening_addresses(pid) == set()
    for path in (target._socket_directory, target._home, target._load_directory):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert path.stat().st_uid == uid


def assert_agrees(record: Record, run_dir: Path) -> None:
    """What is recorded is what pgbench says."""
    outcome = measured(record)
    stem = f"{record.trial.trial_id}.{record.attempt}"
    report = pgbench.parse((run_dir / "raw" / f"{stem}.stdout.txt").read_text())
    assert outcome.tps_per_s == report.tps_per_s
    assert outcome.transaction_count == report.transaction_count
    seconds = store.read_run(run_dir).seconds[record.trial.trial_id]
    # What is in no second is in a caution, whose name this shows.
    assert sum(row.count for row in seconds) == outcome.histogram.count, record.cautions
    if outcome.log_sampling_ratio < 1:
        return
    assert outcome.histogram.count == outcome.transaction_count
    # pgbench rounds to a microsecond, which a fast machine's answers are not far from.
    assert report.latency_stddev_s is not None
    assert outcome.latency.mean_s == pytest.approx(report.latency_average_s, rel=0.01, abs=0.6e-6)
    assert outcome.latency.stddev_s == pytest.approx(report.latency_stddev_s, rel=0.01, abs=0.6e-6)


def assert_settings_in_force(record: Record, version: int) -> None:
    server = record.provenance.server
    assert server is not None
    in_force = {s.name: (s.value, s.unit) for s in server.settings}
    assert in_force["random_page_cost"] == ("1.5", None)
    assert in_force["checkpoint_timeout"] == ("1800", "s")
    assert in_force["shared_buffers"] == ("2048", "8kB")
    assert server.version.startswith(str(version))
    assert (record.provenance.tool_version or "").startswith(str(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_whole_life_on_two_storages(place: Place, version: int) -> None:
    """What is measured is what pgbench says, from the same state, one server at a time."""
    small_runs.needs(version)
    environments = {
        "disk": embedded(place.storage, wal_directory="/dev/shm"),
        "memory": embedded("/dev/shm"),
    }
    made = plan_of(
        suite_of(
            environments,
            version=version,
            workloads=("tpcb-like", "select-only"),
            settings={"random_page_cost": 1.5, "checkpoint_timeout": "30min"},
            # They commit too, and the server's own count is compared with pgbench's below.
            probes="off",
        )
    )
    seen = Observed()
    records = small_runs.run_with_targets(place, made, seen.hooks)

    (run_dir,) = place.results.glob("t*")
    assert len(records) == 4
    for record, commits in zip(records, seen.commits, strict=True):
        assert_agrees(record, run_dir)
        assert_settings_in_force(record, version)
        # A warm-up that had been counted would add a fifth.
        assert 0 <= commits - measured(record).transaction_count <= 40
    assert seen.states == [("0", "0")] * 4

    facts = {r.trial.cell.environment: r.provenance.storage for r in records}
    disk, memory = facts["disk"], facts["memory"]
    assert disk is not None
    assert memory is not None
    assert disk.wal_filesystem == memory.filesystem == "tmpfs"
    assert Path(disk.path).is_relative_to(place.storage)
    assert disk.wal_path is not None
    assert seen.wal["disk"].is_relative_to("/dev/shm")
    assert seen.wal["disk"].is_relative_to(disk.wal_path)
    assert memory.wal_path is None


def test_loopback_demands_a_password(place: Place) -> None:
    made = plan_of(
        suite_of({"tcp": embedded(place.storage, listen="loopback")}, workloads=("select-only",))
    )
    refused: list[str] = []

    def try_without(targets: dict[str, Target]) -> None:
        target = running(targets)
        assert listening_addresses(postmaster_of(target)) == {"0100007F"}
        port = psycopg.conninfo.conninfo_to_dict(target.conninfo)["port"]
        for host in ("127.0.0.1", str(target._socket_directory)):
            for user in ("postgres", "nobody"):
                with pytest.raises(psycopg.OperationalError) as caught:
                    psycopg.connect(
                        f"host={host} port={port} user={user} dbname=postgres",
                        passfile="/nonexistent",
                    )
                refused.append(str(caught.value))

    (record,) = small_runs.run_with_targets(
        place, made, lambda targets: {"verify": lambda: try_without(targets)}
    )
    assert measured(record)
    assert len(refused) == 4
    assert all("password" in reason for reason in refused)
    assert "127.0.0.1" in " ".join(record.provenance.command)


def test_the_caller_s_postgres_variables_do_not_leak_in(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PGHOST": "192.0.2.1",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "somebody",
        "PGPASSWORD": "wrong",
        "PGDATABASE": "elsewhere",
        "PGOPTIONS": "-c work_mem=1MB",
        "PGSSLMODE": "verify-full",
        "PGSERVICE": "nowhere",
        "PGTARGETSESSIONATTRS": "standby",
        "PGDATA": "/nonexistent",
        "PGCONNECT_TIMEOUT": "2",
    }.items():
        monkeypatch.setenv(name, value)
    made = plan_of(suite_of({"a": embedded(place.storage)}, workloads=("select-only",)))
    (record,) = place.measure(made)
    assert measured(record)
    assert record.provenance.server is not None
    assert "work_mem" not in {s.name for s in record.provenance.server.settings}
    assert os.environ["PGHOST"] == "192.0.2.1"


SCRIPT = """\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""


def test_a_script_of_the_user_at_a_given_rate(place: Place) -> None:
    made = plan_of(
        suite_of(
            {"<b>'\"é": embedded(place.storage)},
            workloads=({"script": "mine.sql", "name": "mine <i>\"'", "writes": False},),
            clients=(4,),
            threads=(2,),
            rate="400/s",
            latency_limit="1s",
            protocol="extended",
        ),
        {"mine.sql": SCRIPT},
    )
    (record,) = place.measure(made)
    outcome = measured(record)
    assert outcome.schedule_lag is not None
    assert outcome.over_limit_count == 0
    # A Poisson process of 400: five standard deviations.
    assert abs(outcome.transaction_count + outcome.skipped_count - 400) < 100
    assert "closed-loop" not in {c.code for c in record.cautions}
    assert record.trial.cell.environment == "<b>'\"é"


def test_retries_are_counted(place: Place) -> None:
    script = (
        "BEGIN ISOLATION LEVEL SERIALIZABLE;\n"
        "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nEND;\n"
    )
    made = plan_of(
        suite_of(
            {"a": embedded("/dev/shm")},
            workloads=({"script": "conflict.sql", "name": "conflict"},),
            clients=(4,),
            max_tries=2,
        ),
        {"conflict.sql": script},
    )
    (record,) = place.measure(made)
    outcome = measured(record)
    assert outcome.retries_count > 0
    assert outcome.failed_count == outcome.serialization_failure_count > 0
    assert "failed-transactions" in {c.code for c in record.cautions}


def test_every_write_trial_starts_from_the_same_state(place: Place) -> None:
    """Size and rows as after initialisation, also after trials that wrote."""
    made = plan_of(suite_of({"a": embedded(place.storage)}, repeats=3, warm_up="100ms"))
    seen = []

    def look(targets: dict[str, Target]) -> None:
        target = running(targets)
        seen.append(
            (
                ask(target, "SELECT sum(n_dead_tup) FROM pg_stat_user_tables"),
                ask(target, "SELECT count(*) FROM pgbench_history"),
                ask(target, "SELECT count(*) FROM pgbench_accounts"),
            )
        )

    records = small_runs.run_with_targets(
        place, made, lambda targets: {"warm up": lambda: look(targets)}
    )
    assert [measured(r).failed_count for r in records] == [0, 0, 0]
    assert seen == [(0, 0, 100_000)] * 3


# -- what cannot work


def refusal(place: Place, text: str) -> TargetError:
    with pytest.raises(TargetError) as caught:
        place.measure(plan_of(text))
    error = caught.value
    assert error.exit_code == ExitCode.TARGET
    assert "\n" not in error.message
    assert error.hint
    return error


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"shared_buffers": "plenty"}, "shared_buffers"),
        ({"no_such_setting": 1}, "no_such_setting"),
        ({"max_connections": -3}, "max_connections"),
        ({"shared_preload_libraries": "no_such_library"}, "no_such_library"),
        ({"work_mem": "4 'apples'"}, "work_mem"),
    ],
)
def test_a_wrong_setting_is_named(place: Place, settings: dict[str, str | int], named: str) -> None:
    error = refusal(place, suite_of({"a": embedded(place.storage)}, settings=settings))
    assert error.message.startswith("a: ")
    assert named in error.message


@pytest.mark.parametrize("name", ["port", "data_directory", "Data_Directory", "PORT", "hba_file"])
def test_a_setting_that_is_ours_is_refused(place: Place, name: str) -> None:
    error = refusal(place, suite_of({"a": embedded(place.storage)}, settings={name: "1"}))
    assert f"setting {name.lower()} belongs to groundspeed" in error.message


def test_a_bin_dir_without_programs_is_refused(place: Place) -> None:
    error = refusal(place, suite_of({"a": embedded(place.storage, bin_dir=str(place.root))}))
    assert str(place.root) in error.message


def test_a_bin_dir_of_another_version_is_refused(place: Place) -> None:
    small_runs.needs(18)
    bin_dir = str(installation.find(18).bin_dir)
    error = refusal(place, suite_of({"a": embedded(place.storage, bin_dir=bin_dir)}))
    assert "the suite asks for 16" in error.message


def test_a_version_that_is_not_here_is_refused(place: Place) -> None:
    error = refusal(place, suite_of({"a": embedded(place.storage)}, version=13))
    assert "PostgreSQL 13 is not on this machine" in error.message


def test_a_storage_that_may_not_be_written_is_refused(place: Place) -> None:
    error = refusal(place, suite_of({"a": embedded("/proc/groundspeed")}))
    assert "/proc/groundspeed" in error.message


def test_a_storage_directory_that_was_made_is_removed_again(place: Place) -> None:
    asked = place.storage / "one" / "two"
    (record,) = place.measure(plan_of(suite_of({"a": embedded(asked)}, workloads=("select-only",))))
    assert measured(record)
    assert not asked.parent.exists()


def test_the_secret_of_the_server_is_in_no_process(place: Place) -> None:
    # Two seconds: the first progress report then comes in the middle of the load.
    suite = suite_of({"a": embedded(place.storage)}, workloads=("select-only",), duration="2s")
    made = plan_of(suite)
    seen = []

    def look(targets: dict[str, Target]) -> None:
        target = running(targets)
        for pid, _ in leftovers.processes_of(target._with.run_id):
            folder = Path("/proc") / str(pid)
            text = leftovers._read(folder / "cmdline") + leftovers._read(folder / "environ")
            assert target._password not in text
            seen.append(pid)

    small_runs.run_with_targets(place, made, lambda targets: {"progress": lambda: look(targets)})
    assert len(seen) > 2


def test_programs_die_with_the_process_that_started_them() -> None:
    assert process.start_ticks(os.getpid()) is not None
    assert process.start_ticks(2**22 + 1) is None
