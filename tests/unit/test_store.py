"""Records on a real disk: torn lines, full disks, locks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest
from pyarrow import parquet

from groundspeed import plan, record, spec, store
from groundspeed.errors import ExitCode, StoreError
from groundspeed.record import Failed, Series, Skipped
from groundspeed.store import RunLock, RunStore
from tests import examples, fakes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse import RunRecords
    from groundspeed.plan import Plan
    from groundspeed.record import Outcome, Record


def plan_of(repeats: int = 4) -> Plan:
    suite = spec.load_suite(
        "suite: example\nenvironments: {a: {target: embedded, storage: {directory: /example}}}\n"
        f"workloads: [select-only]\nmeasure: {{duration: 1s, warm_up: 0s, repeats: {repeats}}}\n",
        source="example",
    )
    return plan.make_plan(
        suite, source="example", rng=Random(1), groundspeed_version="0", scripts={}
    )


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return store.create_run(tmp_path / "runs", plan_of(), "r1")


def keep(run_dir: Path, count: int, *, first: int = 0, outcome: Outcome | None = None) -> None:
    opened = RunStore(run_dir)
    for trial in plan_of().trials[first : first + count]:
        opened.append(examples.make_record(trial, outcome or examples.make_measured()))
    opened.close()


def records_of(run_dir: Path) -> tuple[Record, ...]:
    opened = RunStore(run_dir)
    opened.close()
    return opened.records()


# -- torn lines


def test_what_was_appended_is_read_again(run_dir: Path) -> None:
    keep(run_dir, 3)
    assert [r.trial for r in records_of(run_dir)] == list(plan_of().trials[:3])
    assert [r.trial for r in store.read_run(run_dir).records] == list(plan_of().trials[:3])
    assert store.read_run(run_dir).cautions == ()


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory where the thousands of fsync of a test cost nothing."""
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=room, prefix="store-test-") as directory:
        yield Path(directory)


def test_a_line_torn_at_any_byte_is_set_aside_and_named(run_dir: Path, memory: Path) -> None:
    keep(run_dir, 3)
    path = run_dir / store.RECORDS_FILE
    whole = path.read_bytes()
    kept = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    shutil.copy(run_dir / store.PLAN_FILE, memory)
    path = memory / store.RECORDS_FILE
    for cut in range(kept, len(whole)):
        for old in memory.glob("torn-*"):
            old.unlink()
        path.write_bytes(whole[:cut])
        assert len(records_of(memory)) == 2
        assert path.read_bytes() == whole[:kept]
        aside = [p.read_bytes() for p in memory.glob("torn-*")]
        assert aside == ([whole[kept:cut]] if cut > kept else [])
        cautions = store.read_run(memory).cautions
        assert [c.code for c in cautions] == ["torn-record"] * len(aside)


def test_a_torn_line_is_named_before_anybody_goes_on(run_dir: Path) -> None:
    keep(run_dir, 2)
    path = run_dir / store.RECORDS_FILE
    path.write_bytes(path.read_bytes()[:-9])
    run = store.read_run(run_dir)
    assert len(run.records) == 1
    assert [c.code for c in run.cautions] == ["torn-record"]
    assert "line 2 is torn" in run.cautions[0].message


def test_reading_changes_nothing(run_dir: Path) -> None:
    keep(run_dir, 2)
    path = run_dir / store.RECORDS_FILE
    path.write_bytes(path.read_bytes()[:-9])
    before = {p: p.stat().st_mtime_ns for p in run_dir.iterdir()}
    store.read_run(run_dir)
    assert {p: p.stat().st_mtime_ns for p in run_dir.iterdir()} == before


def test_appending_goes_on_after_a_torn_line(run_dir: Path) -> None:
    for number in range(3):
        keep(run_dir, 1, first=number)
        path = run_dir / store.RECORDS_FILE
        path.write_bytes(path.read_bytes() + b'{"format":1,"tri')
    keep(run_dir, 1, first=3)
    assert [r.trial for r in store.read_run(run_dir).records] == list(plan_of().trials)
    assert len(list(run_dir.glob("torn-*"))) == 3
    assert "3 torn line(s)" in store.read_run(run_dir).cautions[0].message


@pytest.mark.parametrize(
    "garbage", [b"\x00" * 512, b"{}", b"\xff\xfe\xfd", b'{"format":1}', b"[1, 2", b'{"\xff":1}']
)
def test_garbage_in_the_middle_costs_no_neighbour(run_dir: Path, garbage: bytes) -> None:
    keep(run_dir, 3)
    path = run_dir / store.RECORDS_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], garbage + b"\n", *lines[1:]]))
    run = store.read_run(run_dir)
    assert [r.trial for r in run.records] == list(plan_of().trials[:3])
    assert "line 2 is torn" in run.cautions[0].message
    assert len(records_of(run_dir)) == 3


def test_a_record_of_a_later_format_is_not_guessed_at(run_dir: Path) -> None:
    keep(run_dir, 1)
    path = run_dir / store.RECORDS_FILE
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":99', 1))
    with pytest.raises(StoreError, match="record format 99"):
        store.read_run(run_dir)


def test_a_record_stands_on_one_line_whatever_is_in_it(run_dir: Path) -> None:
    trial = plan_of().trials[0]
    reason = 'a\nb "quoted" <b>\u2028\x00 \U0001f600'
    keep(run_dir, 1, outcome=Failed(reason=reason, retryable=True))
    assert (run_dir / store.RECORDS_FILE).read_bytes().count(b"\n") == 1
    (found,) = store.read_run(run_dir).records
    assert found.outcome == Failed(reason=reason, retryable=True)
    assert found.trial == trial


# -- what probes saw

SERIES = Series(
    columns=("second_index", "wal_bytes_per_s", "wait_lock_count"),
    values=((0, 1, 2), (8192.5, None, 1e12), (None, None, None)),
)


def keep_watched(run_dir: Path, series: Series, *, first: int = 0) -> Path:
    opened = RunStore(run_dir)
    trial = plan_of().trials[first]
    opened.write_series(trial.trial_id, 1, series)
    made = examples.make_record(trial, examples.make_measured())
    opened.append(msgspec.structs.replace(made, evidence=fakes.evidence()))
    opened.close()
    return run_dir / "series" / f"{trial.trial_id}.1.evidence.parquet"


@pytest.mark.parametrize("series", [SERIES, Series()])
def test_a_series_is_the_same_after_its_file(run_dir: Path, series: Series) -> None:
    keep_watched(run_dir, series)
    run = store.read_run(run_dir)
    assert run.series == {plan_of().trials[0].trial_id: series}
    assert run.cautions == ()


def test_a_series_is_parquet_with_units_in_its_names(run_dir: Path) -> None:
    table = parquet.read_table(keep_watched(run_dir, SERIES))
    assert table.to_pydict() == dict(zip(SERIES.columns, map(list, SERIES.values), strict=True))
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", "double"]


def test_an_hour_of_series_is_small(run_dir: Path) -> None:
    rng = Random(1)
    columns = [tuple(rng.uniform(0, 1e9) for _ in range(3600)) for _ in range(30)]
    names = tuple(f"c{number}_count" for number in range(30))
    indices = tuple(range(3600))
    path = keep_watched(
        run_dir, Series(columns=("second_index", *names), values=(indices, *columns))
    )
    assert path.stat().st_size < 3600 * 31 * 9


def test_lost_series_are_one_caution_and_cost_no_record(run_dir: Path) -> None:
    paths = [keep_watched(run_dir, SERIES, first=number) for number in range(3)]
    paths[0].unlink()
    paths[1].write_bytes(b"PAR1 not")
    run = store.read_run(run_dir)
    assert len(run.records) == 3
    assert list(run.series) == [plan_of().trials[2].trial_id]
    (caution,) = run.cautions
    assert caution.code == "lost-series"
    assert caution.message.startswith(f"series/{paths[0].name} and 1 more:")


def test_a_series_that_was_damaged_anywhere_is_lost_or_the_same(run_dir: Path) -> None:
    path = keep_watched(run_dir, SERIES)
    whole, trial_id = path.read_bytes(), plan_of().trials[0].trial_id
    lost = 0
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        run = store.read_run(run_dir)
        figures = run.series[trial_id].values if run.series else SERIES.values
        assert figures == SERIES.values
        lost += not run.series
    assert lost


def test_records_without_evidence_lack_no_series(run_dir: Path) -> None:
    keep(run_dir, 2)
    run = store.read_run(run_dir)
    assert (run.series, run.cautions) == ({}, ())


def test_what_may_differ_is_read_with_the_run(tmp_path: Path) -> None:
    made = msgspec.structs.replace(plan_of(), vary=("storage",))
    assert store.read_run(store.create_run(tmp_path, made, "r")).vary == ("storage",)


def test_what_environments_promise_is_read_with_the_run(run_dir: Path) -> None:
    keeping = store.read_run(run_dir).keeping
    assert keeping is not None
    assert [(name, told.power_cut_s) for name, told in keeping.promises] == [("a", 0.0)]
    assert [seconds for seconds, _ in keeping.ways] == [1.0, 0.0]


def test_of_a_server_of_somebody_else_no_promise_is_known(tmp_path: Path) -> None:
    made = plan_of()
    given = msgspec.structs.replace(made.environments[0], kind=plan.TargetKind.SERVER)
    made = msgspec.structs.replace(made, environments=(given,))
    keeping = store.read_run(store.create_run(tmp_path, made, "r")).keeping
    assert keeping is not None
    assert keeping.promises == ()


def test_a_publication_is_read_with_the_run_and_missed_where_it_is_gone(tmp_path: Path) -> None:
    def read(name: str) -> RunRecords:
        beside = plan.Beside(publication=name, environments=(("a", "eks-gp3"),))
        made = msgspec.structs.replace(plan_of(), beside=beside)
        return store.read_run(store.create_run(tmp_path, made, name))

    found = read("weka-vs-gp3")
    assert found.publication is not None
    assert found.publication.name == "weka-vs-gp3"
    assert found.beside is not None
    assert found.beside.environments == (("a", "eks-gp3"),)
    gone = read("weka-vs-gp9")
    assert gone.publication is None
    assert [caution.code for caution in gone.cautions] == ["lost-publication"]


def test_runs_without_probes_never_load_what_writes_series(run_dir: Path) -> None:
    keep(run_dir, 1)
    code = (
        "import sys\nfrom pathlib import Path\nfrom groundspeed import store\n"
        "store.read_run(Path(sys.argv[1]))\nprint('pyarrow' in sys.modules)\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", code, str(run_dir)), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# -- a full disk

FULL_DISK = """
import os, sys
from pathlib import Path
from groundspeed import store
from groundspeed.errors import StoreError
from groundspeed.store import RunStore
from tests import examples
from tests.unit.test_store import plan_of

run_dir = store.create_run(Path(sys.argv[1]) / "runs", plan_of(), "r1")
opened = RunStore(run_dir)
one, two, three = plan_of().trials[:3]
opened.append(examples.make_record(one))
with (Path(sys.argv[1]) / "filler").open("wb", buffering=0) as filler:
    try:
        while filler.write(b"x" * 4096):
            pass
    except OSError:
        pass
for name, text in (("a.stdout.txt", "o" * 9000), ("a.stderr.txt", "e" * 9000)):
    opened.write_raw(name, text)
opened.write_seconds(two.trial_id, 1, examples.make_seconds(__import__("random").Random(1), 500.0))
try:
    opened.append(examples.make_record(two))
except StoreError as error:
    print(int(error.exit_code), error.message.rpartition(": ")[2])
print((run_dir / "raw" / "a.stdout.txt").stat().st_size)
opened.close()
print(*[r.trial.trial_id for r in store.read_run(run_dir).records])
with (Path(sys.argv[1]) / "filler").open("ab", buffering=0) as filler:
    try:
        while filler.write(b"x" * 512):
            pass
    except OSError:
        pass
try:
    RunStore(run_dir)
except StoreError as error:
    print(int(error.exit_code), error.message.rpartition(": ")[2])
(Path(sys.argv[1]) / "filler").unlink()
opened = RunStore(run_dir)
opened.append(examples.make_record(three))
opened.close()
print(*[r.trial.trial_id for r in store.read_run(run_dir).records])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_a_full_disk_keeps_the_trial_that_was_just_measured(tmp_path: Path) -> None:
    """In a mount namespace of its own, so that the small file system ends with the process."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = 'mount -t tmpfs -o size=3m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, "sh", str(disk), sys.executable, FULL_DISK],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no private mounts here: {done.stderr.strip()}")
    one, two, three = (t.trial_id for t in plan_of().trials[:3])
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{int(ExitCode.TARGET)} the disk is full",
        "9000",
        f"{one} {two}",
        f"{int(ExitCode.TARGET)} the disk is full",
        f"{one} {two} {three}",
    ]
    assert list(disk.iterdir()) == []


def test_the_reserve_is_there_while_a_run_is_open_and_gone_after(run_dir: Path) -> None:
    opened = RunStore(run_dir)
    reserve = run_dir / store.RESERVE_FILE
    assert reserve.stat().st_blocks * 512 >= store.RESERVE_BYTES
    opened.close()
    assert not reserve.exists()


def test_what_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory") as caught:
        store.create_run(tmp_path / "file" / "runs", plan_of(), "r1")
    assert "\n" not in caught.value.message
    assert caught.value.hint


# -- listing


def test_runs_are_listed_with_their_state_newest_first(tmp_path: Path) -> None:
    results = tmp_path / "runs"
    assert store.list_runs(results) == ()
    for number, count in ((1, 4), (2, 2), (3, 0)):
        keep(store.create_run(results, plan_of(), f"r{number}"), count)
    found = {info.run_id: info for info in store.list_runs(results)}
    assert {name: info.state for name, info in found.items()} == {
        "r1": "complete",
        "r2": "interrupted",
        "r3": "interrupted",
    }
    assert [found[f"r{n}"].measured_count for n in (1, 2, 3)] == [4, 2, 0]
    assert found["r1"].planned_count == 4


def test_a_run_counts_its_last_attempts_only(run_dir: Path) -> None:
    for outcome in (
        Failed(reason="unlucky", retryable=True),
        Failed(reason="unlucky", retryable=True),
        examples.make_measured(),
    ):
        keep(run_dir, 1, outcome=outcome)
    keep(run_dir, 1, first=1, outcome=Skipped(reason="no device"))
    keep(run_dir, 1, first=2, outcome=Failed(reason="wrong", retryable=False))
    (info,) = store.list_runs(run_dir.parent)
    assert (info.measured_count, info.failed_count, info.skipped_count) == (1, 1, 1)
    assert info.state == "interrupted"
    keep(run_dir, 1, first=3, outcome=Failed(reason="unlucky", retryable=True))
    assert store.list_runs(run_dir.parent)[0].state == "interrupted"
    keep(run_dir, 1, first=3)
    assert store.list_runs(run_dir.parent)[0].state == "complete"


def test_only_the_open_run_is_running(tmp_path: Path) -> None:
    results = tmp_path / "runs"
    dead, alive = (store.create_run(results, plan_of(), name) for name in ("dead", "alive"))
    # What kill -9 leaves of a run.
    (dead / store.RESERVE_FILE).write_bytes(b"")
    with RunLock(results):
        opened = RunStore(alive)
        states = {info.run_id: info.state for info in store.list_runs(results)}
        opened.close()
    assert states == {"dead": "interrupted", "alive": "running"}
    assert {info.state for info in store.list_runs(results)} == {"interrupted"}


# -- locks

HOLDER = """
import sys
from pathlib import Path
from groundspeed.store import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of the directory."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "runs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_groundspeed_is_refused_and_told_who_has_it(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(StoreError, match=f"pid {holder.pid}") as caught, RunLock(tmp_path / "runs"):
        pytest.fail("the lock was given twice")
    assert caught.value.exit_code == ExitCode.TARGET
    assert "\n" not in caught.value.message


def test_the_lock_of_a_killed_process_is_free(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with RunLock(tmp_path / "runs"):
        assert (tmp_path / "runs" / ".groundspeed.lock").read_text() == str(os.getpid())


def test_the_lock_is_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        with RunLock(tmp_path / "runs"):
            pass


def test_listing_never_takes_the_lock_from_a_run_that_starts(tmp_path: Path) -> None:
    """A process lists without end while another takes the lock a few hundred times."""
    results = tmp_path / "runs"
    keep(store.create_run(results, plan_of(), "r1"), 1)
    lister = (
        "import sys\nfrom pathlib import Path\nfrom groundspeed import store\n"
        "print('listing', flush=True)\nwhile True: store.list_runs(Path(sys.argv[1]))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", lister, str(results)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listing\n"
        try:
            for _ in range(300):
                with RunLock(results):
                    pass
        finally:
            process.kill()


def test_a_record_is_the_same_after_its_line() -> None:
    for made in examples.example_records(1):
        assert record.decode(record.encode(made)) == made
