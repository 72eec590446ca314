"""A real PostgreSQL on emulated devices: its whole life, what it waits for, what it keeps."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg
import pytest

from groundspeed import native, plan, spec, store
from groundspeed.cli import session
from groundspeed.errors import TargetError
from groundspeed.record import Measured, Skipped, StorageWork
from groundspeed.storage import catalogue
from groundspeed.targets import emulation, installation, process
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.local import EmbeddedTarget
from tests import leftovers, small_runs
from tests.interrupted.driving import driven, traced, wait_until_gone
from tests.small_runs import suite_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.plan import Plan
    from groundspeed.ports import Target
    from groundspeed.record import Record
    from groundspeed.storage.profile import Profile
    from tests.small_runs import Place

MIB = 1024**2
FIXED = """
profile: fixed
about: every synced write takes the same
device: {read: 2ms, write: 2ms, sync: 3ms, parallel: 8}
request_size: 128KiB
figures: [{what: all, standing: assumed, source: a test, date: 2026-01}]
"""


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)


def emulated(
    directory: Path | str, profile: object = "aws-gp3", *, memory: str = "256MiB"
) -> dict[str, Any]:
    """An environment on an emulated device."""
    storage = {"emulate": profile, "directory": str(directory)}
    return {"target": "embedded", "memory": memory, "storage": storage}


def plan_of(text: str) -> Plan:
    """Make a plan with its profiles, as the command line does."""
    suite = spec.load_suite(text, source="small")
    profiles = {}
    for name, environment in suite.environments.items():
        assert isinstance(environment, spec.EmbeddedEnvironment)
        if environment.storage.emulate is not None:
            made = catalogue.load(environment.storage.emulate)
            profiles[name] = plan.ResolvedProfile(made.label, msgspec.json.encode(made).decode())
    return plan.make_plan(
        suite,
        source="small",
        rng=Random(3),
        groundspeed_version="0",
        scripts={},
        profiles=profiles,
    )


def work_of(record: Record) -> tuple[Measured, StorageWork]:
    assert isinstance(record.outcome, Measured), record.outcome
    assert record.storage_work is not None
    return record.outcome, record.storage_work


def target_of(targets: dict[str, Target]) -> EmbeddedTarget:
    (target,) = targets.values()
    assert isinstance(target, EmbeddedTarget)
    return target


@pytest.mark.parametrize("version", [15, 16, 18])
def test_a_commit_waits_for_the_device(place: Place, version: int) -> None:
    """One client: a transaction takes at least the write and the sync of the device."""
    small_runs.needs(version)
    fixed = spec.parse_yaml(FIXED, "fixed")
    made = plan_of(suite_of({"e": emulated("/dev/shm", fixed)}, version=version, clients=(1,)))
    (record,) = place.measure(made)
    outcome, work = work_of(record)
    assert outcome.latency.p50_s >= 0.005
    assert outcome.latency.p50_s < 0.010
    assert work.sync_call_count >= outcome.transaction_count
    assert work.sync_waited_s == pytest.approx(outcome.transaction_count * 0.005, rel=0.25)
    assert work.write_request_count > 0
    assert work.hit_page_count > 0
    storage = record.provenance.storage
    assert storage is not None
    assert storage.emulated
    assert storage.label == "fixed"
    assert (storage.memory_bytes, storage.cache_bytes) == (256 * MIB, 240 * MIB)
    assert not storage.memory_assumed
    assert storage.profile is not None
    assert '"fixed"' in storage.profile


def test_reads_that_fit_memory_do_not_care_and_those_that_do_not_wait(place: Place) -> None:
    """Scale 10 is 150 MiB: with 80 MiB of memory most lookups miss, with 2 GiB none does."""
    fixed = spec.parse_yaml(FIXED, "fixed")
    environments = {
        "large": emulated("/dev/shm", fixed, memory="2GiB"),
        "small": emulated("/dev/shm", fixed, memory="80MiB"),
    }
    records = place.measure(
        plan_of(suite_of(environments, workloads=("select-only",), clients=(1,), scale=10))
    )
    by_name = {r.trial.cell.environment: work_of(r) for r in records}
    fast, slow = by_name["large"], by_name["small"]
    assert fast[1].read_request_count == 0
    assert slow[1].miss_page_count > 100
    assert slow[0].latency.p50_s > 0.002 > fast[0].latency.p50_s
    codes = {r.trial.cell.environment: {c.code for c in r.cautions} for r in records}
    assert "cached-dataset" in codes["large"]
    assert "cached-dataset" not in codes["small"]


def test_burst_credits_are_back_before_each_trial(place: Place) -> None:
    burst = spec.parse_yaml(FIXED, "burst")
    assert isinstance(burst, dict)
    burst["device"]["limits"] = [{"of": "requests", "rate": "20/s", "credits": 2000}]
    seen: list[list[tuple[float, float]]] = []

    def look(targets: dict[str, Target]) -> None:
        device = target_of(targets)._device
        assert device is not None
        assert device._before is not None
        seen.append([(c.left, c.capacity) for c in device._before.credits])

    made = plan_of(suite_of({"e": emulated("/dev/shm", burst)}, repeats=2, clients=(4,)))
    records = small_runs.run_with_targets(place, made, lambda t: {"verify": lambda: look(t)})
    # The server itself may write something between the refill and the look.
    assert len(seen) == 2
    for ((left, capacity),) in seen:
        assert capacity == 2000
        assert 1980 <= left <= 2000
    for record in records:
        _, work = work_of(record)
        assert work.credits[0].left < 2000


def test_a_directory_behind_a_symbolic_link_is_on_the_device(place: Place) -> None:
    """What decides is where files really are."""
    real, link = place.root / "real", place.storage / "link"
    real.mkdir()
    real.chmod(0o755)
    link.symlink_to(real)
    fixed = spec.parse_yaml(FIXED, "fixed")
    try:
        (record,) = place.measure(plan_of(suite_of({"e": emulated(link, fixed)}, clients=(1,))))
    finally:
        link.unlink()
    outcome, work = work_of(record)
    assert outcome.latency.p50_s >= 0.005
    assert work.sync_call_count >= outcome.transaction_count
    assert list(real.iterdir()) == []


def test_a_null_device_leaves_no_doubt_about_itself(place: Place) -> None:
    (record,) = place.measure(plan_of(suite_of({"e": emulated("/dev/shm", "null")})))
    outcome, work = work_of(record)
    assert outcome.transaction_count > 0
    assert work.sync_call_count > 0
    assert work.throttled_s == 0
    assert not any(c.code.startswith("emulation-") for c in record.cautions)


# -- never a silent run at native speed


def refusal(place: Place) -> TargetError:
    with pytest.raises(TargetError) as caught:
        place.measure(plan_of(suite_of({"e": emulated("/dev/shm")})))
    assert caught.value.message.startswith("e: the server runs at native speed")
    assert "\n" not in caught.value.message
    return caught.value


def test_a_server_that_was_not_told_of_the_device_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmulatedDevice, "variables", lambda *_: {})
    assert "did not load" in refusal(place).message


def test_a_shim_that_the_linker_ignores_is_noticed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = EmulatedDevice.variables

    def broken(self: EmulatedDevice) -> dict[str, str]:
        return {**real(self), "LD_PRELOAD": "/nonexistent/storage_shim.so"}

    monkeypatch.setattr(EmulatedDevice, "variables", broken)
    assert "did not load" in refusal(place).message


def test_a_device_for_other_files_is_noticed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    real = EmulatedDevice.make
    monkeypatch.setattr(EmulatedDevice, "make", lambda self, _: real(self, [place.root]))
    assert "not on the emulated device" in refusal(place).message


def test_without_the_shim_the_others_are_measured(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Path:
        raise TargetError(f"{name} has not been built", "install a C compiler")

    monkeypatch.setattr(native, "library_path", missing)
    environments = {"real": small_runs.embedded("/dev/shm"), "e": emulated("/dev/shm")}
    records = place.measure(plan_of(suite_of(environments, workloads=("select-only",))))
    outcomes = {r.trial.cell.environment: r.outcome for r in records}
    assert isinstance(outcomes["real"], Measured)
    assert outcomes["e"] == Skipped(
        reason="storage_shim.so has not been built; install a C compiler"
    )


def test_a_full_memory_file_system_is_a_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    real = emulation.device_config

    def huge(profile: Profile, *, roots: Sequence[str], cache_bytes: int, seed: int) -> str:
        return real(profile, roots=roots, cache_bytes=cache_bytes * 2**25, seed=seed)

    monkeypatch.setattr(emulation, "device_config", huge)
    with pytest.raises(TargetError) as caught:
        place.measure(plan_of(suite_of({"e": emulated("/dev/shm")})))
    assert "\n" not in caught.value.message
    assert "/dev/shm" in caught.value.hint


# -- durability: nothing that was acknowledged depends on us


def crash(place: Place) -> tuple[Path, Path, Callable[[], None]]:
    """Kill server and groundspeed in the middle of a write load; the data directory it leaves."""
    fixed = spec.parse_yaml(FIXED, "fixed")
    # A busy disk is slower than the device, and refused.
    memory = Path("/dev/shm")
    made = plan_of(suite_of({"e": emulated(memory, fixed)}, clients=(8,), duration="60s"))
    run_dir = place.new_run(made)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("phase measure")
        # Each is a second of its load.
        for _ in range(3):
            run.wait_for("progress")
        run.process.send_signal(signal.SIGSTOP)
        (postmaster,) = leftovers.servers_of(run_dir.name)
        pids = [postmaster, *leftovers.children_of(postmaster)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        run.process.kill()
        run.process.wait()
    for pid in pids:
        wait_until_gone(pid)
    (data,) = memory.glob(f"groundspeed-{run_dir.name}-*/data")
    watch = place.watch(run_dir)
    watch.look()

    def assert_swept() -> None:
        assert session.sweep() == ()
        assert watch.left() == []

    return run_dir, data, assert_swept


def balances(data: Path, socket: Path) -> tuple[object, ...]:
    """Start the server without us, let it recover, and add up what pgbench keeps in balance."""
    programs = installation.find(16)
    account = process.unprivileged_account()
    (data / "pg_hba.conf").write_text("local all all trust\n")
    with (data / "postgresql.conf").open("a") as file:
        file.write(f"unix_socket_directories = '{socket}'\n")
    (data / "postmaster.pid").unlink()
    control = [programs.program("pg_ctl"), "-D", data, "-w"]
    log = socket / "log"
    started = process.run([*control, "-l", log, "start"], account=account)
    assert started.returncode == 0, log.read_text()
    try:
        assert "LD_PRELOAD" not in leftovers._read(
            Path("/proc") / (data / "postmaster.pid").read_text().split()[0] / "environ"
        )
        with psycopg.connect(f"host={socket} user=postgres dbname=groundspeed") as connection:
            row = connection.execute(
                "SELECT (SELECT sum(abalance) FROM pgbench_accounts),"
                " (SELECT sum(tbalance) FROM pgbench_tellers),"
                " (SELECT sum(bbalance) FROM pgbench_branches),"
                " (SELECT sum(delta) FROM pgbench_history),"
                " (SELECT count(*) FROM pgbench_history)"
            ).fetchone()
    finally:
        process.run([*control, "-m", "fast", "stop"], account=account)
    assert "database system was not properly shut down" in log.read_text()
    assert row is not None
    return row


def test_a_crash_under_load_loses_nothing_and_leaves_nothing(place: Place) -> None:
    _, data, assert_swept = crash(place)
    socket = place.root / "socket"
    socket.mkdir()
    user = small_runs.account()
    if user is not None:
        os.chown(socket, user.uid, user.gid)
    accounts, tellers, branches, history, count = balances(data, socket)
    assert accounts == tellers == branches == history
    # A few of each client, however busy the machine is.
    assert int(str(count)) > 50
    assert_swept()


def test_a_killed_groundspeed_leaves_no_device(place: Place) -> None:
    made = plan_of(suite_of({"e": emulated("/dev/shm")}, clients=(2,), duration="60s"))
    run_dir = place.new_run(made)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("phase measure")
        devices = list(Path("/dev/shm").glob(f"groundspeed-{run_dir.name}-*-device"))
        run.process.send_signal(signal.SIGSTOP)
        watch.look()
        run.process.kill()
        run.process.wait()
    assert len(devices) == 1
    for pid, _ in leftovers.processes_of(run_dir.name):
        wait_until_gone(pid)
    assert session.sweep() == ()
    assert not devices[0].exists()
    assert watch.left() == []
    assert store.read_run(run_dir).records == ()
