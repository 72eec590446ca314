"""The thread that serves all clients, by files as the kernel writes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.serving_thread import ServingThread, Times

if TYPE_CHECKING:
    from pathlib import Path

PID = 71
IDLE, SYNC, WRITE, SLEEP, FUTEX = 232, 75, 1, 230, 202


class Kernel:
    """The part of /proc that tells of one thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.task = root / str(PID) / "task" / str(PID)
        self.task.mkdir(parents=True)
        self.descriptors = root / str(PID) / "fd"
        self.descriptors.mkdir()
        (self.task / "schedstat").write_text("1500000000 250000000 99\n")

    def thread(self, machine: str = "x86_64") -> ServingThread:
        return ServingThread(PID, proc=str(self.root), machine=machine)

    def log_thread(self, name: str, call: str) -> None:
        other = self.root / str(PID) / "task" / "72"
        other.mkdir(exist_ok=True)
        (other / "comm").write_text(f"{name}\n")
        (other / "syscall").write_text(call)

    def calls(self, text: str) -> None:
        # In place: the kernel's file is one, and the thread keeps it open.
        (self.task / "syscall").write_text(text)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def look(kernel: Kernel, thread: ServingThread, *calls: str) -> None:
    for call in calls:
        kernel.calls(call)
        thread.look()


def test_where_it_was_is_counted_without_waiting_for_clients(kernel: Kernel) -> None:
    thread = kernel.thread()
    look(kernel, thread, "running\n", f"{IDLE} 0x5 0x7f 0x2\n", f"{SYNC} 0xc 0x0\n")
    look(kernel, thread, f"{SLEEP} 0x1 0x0\n", f"{SLEEP} 0x1 0x0\n", f"{FUTEX} 0x1 0x0\n")
    waits = {(wait.wait_class, wait.event): wait.sample_count for wait in thread.waits()}
    assert waits == {
        ("IO", "Device"): 2,
        ("CPU", ""): 1,
        ("IO", "LogSync"): 1,
        ("Other", ""): 1,
    }
    assert thread.sample_count == 6


@pytest.mark.parametrize("name", ["bio_aof_fsync", "bio_aof"])
def test_work_beside_a_sync_of_the_log_is_apart(kernel: Kernel, name: str) -> None:
    kernel.log_thread(name, f"{FUTEX} 0x1 0x0\n")
    thread = kernel.thread()
    thread.begin()
    look(kernel, thread, "running\n")
    # On its way to the device, in line for a core, and asleep in an emulated device.
    for call in (f"{SYNC} 0xc\n", "running\n", f"{SLEEP} 0x1\n"):
        kernel.log_thread(name, call)
        look(kernel, thread, "running\n")
    look(kernel, thread, f"{IDLE} 0x5\n")
    assert {w.event: w.sample_count for w in thread.waits()} == {"LogHeld": 3, "": 1}
    assert all(wait.wait_class == "CPU" for wait in thread.waits())
    assert thread.take_second()["main_cpu_ratio"] == pytest.approx(0.8)
    thread.close()


def test_other_threads_of_the_server_hold_nothing_back(kernel: Kernel) -> None:
    kernel.log_thread("bio_close_file", f"{SYNC} 0xc\n")
    thread = kernel.thread()
    thread.begin()
    look(kernel, thread, "running\n")
    assert [wait.event for wait in thread.waits()] == [""]


def test_a_write_is_one_to_the_log_only_where_it_goes_to_a_file(
    kernel: Kernel, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("")
    (kernel.descriptors / "12").symlink_to(tmp_path / "log")
    (kernel.descriptors / "13").symlink_to("/dev/null")
    thread = kernel.thread()
    look(kernel, thread, f"{WRITE} 0xc 0x7f\n", f"{WRITE} 0xd 0x7f\n", f"{WRITE} 0xe 0x7f\n")
    assert {w.event: w.sample_count for w in thread.waits()} == {"LogWrite": 1, "": 2}


def test_a_second_gives_shares_and_forgets_them(kernel: Kernel) -> None:
    thread = kernel.thread()
    look(kernel, thread, "running\n", "running\n", f"{SYNC} 0xc\n", f"{IDLE} 0x5\n")
    assert thread.take_second() == {
        "main_cpu_ratio": 0.5,
        "main_log_ratio": 0.25,
        "main_device_ratio": 0.0,
        "main_other_ratio": 0.0,
    }
    assert thread.take_second() == {}


def test_its_time_on_a_core_and_in_line_for_one(kernel: Kernel) -> None:
    assert kernel.thread().times() == Times(busy_s=1.5, ready_s=0.25)


def test_what_cannot_be_seen_has_a_reason(kernel: Kernel) -> None:
    elsewhere = ServingThread(None)
    assert elsewhere.why_unseen() == "the server runs elsewhere"
    assert elsewhere.times() is None
    unknown = kernel.thread("riscv64")
    assert "riscv64" in (unknown.why_unseen() or "")
    hidden = kernel.thread()
    assert "does not let" in (hidden.why_unseen() or "")
    for thread in (elsewhere, unknown, hidden):
        thread.look()
        assert thread.sample_count == 0
        assert thread.waits() == ()


def test_a_thread_of_this_machine_is_seen() -> None:
    # The numbers of its own calls: it is reading a file of /proc, which is none of those named.
    thread = ServingThread(os.getpid())
    assert thread.why_unseen() is None
    thread.look()
    assert thread.sample_count == 1
    times = thread.times()
    assert times is not None
    assert times.busy_s > 0
    thread.close()
