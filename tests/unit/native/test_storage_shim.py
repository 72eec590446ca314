"""The shim in real processes: what it sees, what it leaves alone, and how it ends badly."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import native
from groundspeed.storage.profile import CpuTime, Replication
from tests.unit.native.replay import MIB, fixed, profile
from tests.unit.native.shimmed import shimmed

if TYPE_CHECKING:
    from pathlib import Path

# Long against the noise of a busy machine, and only compared from below.
DEVICE = profile(read_s=20e-3, write_s=30e-3, sync_s=10e-3)
NS = 1_000_000_000

TIMED = """
import ctypes, mmap, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def timed(call):
    began = time.monotonic()
    result = call()
    print(time.monotonic() - began)
    return result
"""


def seconds(text: str) -> list[float]:
    return [float(line) for line in text.split()]


def test_the_work_of_the_kernel_is_part_of_the_wait_and_burns_a_processor() -> None:
    working = msgspec.structs.replace(DEVICE, cpu=CpuTime(sync_s=15e-3))
    script = f"""{TIMED}
fd = os.open("file", os.O_RDWR)
os.pwrite(fd, b"x" * 4096, 0)
burnt = time.thread_time()
timed(lambda: os.fdatasync(fd))
print(time.thread_time() - burnt)
"""
    burnt_s = []
    for asked in (DEVICE, working):
        with shimmed(asked) as device:
            (device.root / "file").write_bytes(b"x" * 65536)
            waited_s, burnt = seconds(device.run(script))
        assert waited_s >= 0.040
        burnt_s.append(burnt)
    # Who is preempted burns less of its 15 ms, nobody a third of it by sleeping.
    assert burnt_s[1] > burnt_s[0] + 0.003


READS = {
    "pread": "os.pread(fd, 4096, 8192)",
    "preadv": "os.preadv(fd, [bytearray(2048), bytearray(2048)], 8192)",
    "preadv2": "os.preadv(fd, [bytearray(4096)], 8192, os.RWF_HIPRI)",
    "read": "os.lseek(fd, 8192, 0) and os.read(fd, 4096)",
    "readv": "os.lseek(fd, 8192, 0) and os.readv(fd, [bytearray(4096)])",
    "sendfile": "os.sendfile(os.open('/dev/null', os.O_WRONLY), fd, 8192, 4096)",
    "copy_file_range": "os.copy_file_range(fd, os.open(other, 66), 4096, 8192, 0)",
    "fread": "file_read(8192, 4096)",
}


@pytest.mark.parametrize("call", READS.values(), ids=READS)
def test_every_way_to_read_waits_for_the_device_once(call: str) -> None:
    with shimmed(DEVICE) as device:
        (device.root / "file").write_bytes(b"x" * 65536)
        script = f"""{TIMED}
other = sys.argv[1]
fd = os.open("file", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
def file_read(offset, length):
    libc.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(libc.fopen(b"file", b"r"))
    libc.setvbuf(file, None, 2, 0)
    libc.fseek(file, offset, 0)
    return libc.fread(ctypes.create_string_buffer(length), 1, length, file)
timed(lambda: {call})
timed(lambda: {call})
"""
        first_s, second_s = seconds(device.run(script, device.state.with_name("other")))
        reads = device.counters()["reads"]
    assert first_s >= 0.020 > second_s
    assert (reads["calls_count"], reads["miss_pages_count"], reads["hit_pages_count"]) == (2, 1, 1)


WRITES = {
    "pwrite": "os.pwrite(fd, b'x' * 4096, 8192)",
    "pwritev": "os.pwritev(fd, [b'x' * 2048, b'y' * 2048], 8192)",
    "pwritev2": "os.pwritev(fd, [b'x' * 4096], 8192, os.RWF_HIPRI)",
    "write": "os.lseek(fd, 8192, 0) and os.write(fd, b'x' * 4096)",
    "writev": "os.lseek(fd, 8192, 0) and os.writev(fd, [b'x' * 4096])",
    "copy_file_range": "os.copy_file_range(os.open(other, 0), fd, 4096, 0, 8192)",
    "sendfile": "os.lseek(fd, 8192, 0) and os.sendfile(fd, os.open(other, 0), 0, 4096)",
}
SYNCS = {
    "fsync": "os.fsync(fd)",
    "fdatasync": "os.fdatasync(fd)",
    "sync": "os.sync()",
    "syncfs": "libc.syncfs(fd)",
}


@pytest.mark.parametrize("sync", SYNCS.values(), ids=SYNCS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_are_free_until_they_are_synced(write: str, sync: str) -> None:
    if "sync()" in sync and "fsync" not in sync and write != WRITES["pwrite"]:
        pytest.skip("the whole machine's sync once is enough")
    with shimmed(DEVICE) as device:
        # On the same file system, or copy_file_range refuses, and not on the device.
        other = device.state.with_name("other")
        other.write_bytes(b"z" * 8192)
        (device.root / "file").write_bytes(b"x" * 65536)
        script = f"""{TIMED}
other = sys.argv[1]
fd = os.open("file", os.O_RDWR)
timed(lambda: {write})
timed(lambda: {sync})
"""
        write_s, sync_s = seconds(device.run(script, other))
        counters = device.counters()
    assert write_s < 0.030
    assert sync_s >= 0.040
    assert counters["writes"]["requests_count"] == 1
    assert counters["dirty_bytes"] == 0


@pytest.mark.parametrize("flag", ["O_DSYNC", "O_SYNC"])
def test_a_synced_descriptor_waits_for_each_write(flag: str) -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
fd = os.open("file", os.O_CREAT | os.O_RDWR | os.{flag})
timed(lambda: os.write(fd, b"x" * 4096))
timed(lambda: os.write(fd, b"x" * 4096))
"""
        assert min(seconds(device.run(script))) >= 0.040


def test_past_the_cache_every_read_and_write_is_the_devices_also_in_memory() -> None:
    with shimmed(DEVICE) as device:
        (device.root / "file").write_bytes(b"x" * 65536)
        script = f"""{TIMED}
fd = os.open("file", os.O_RDWR | os.O_DIRECT)
buffer = mmap.mmap(-1, 4096)
for _ in range(2):
    timed(lambda: os.preadv(fd, [buffer], 0))
for _ in range(2):
    timed(lambda: os.pwritev(fd, [buffer], 0))
timed(lambda: os.preadv(os.dup(fd), [buffer], 0))
"""
        assert min(seconds(device.run(script))) >= 0.020


def test_what_was_asked_for_in_advance_is_there_when_it_is_read() -> None:
    with shimmed(DEVICE) as device:
        (device.root / "file").write_bytes(b"x" * 65536)
        script = f"""{TIMED}
fd = os.open("file", os.O_RDONLY)
timed(lambda: os.posix_fadvise(fd, 0, 65536, os.POSIX_FADV_WILLNEED))
began = time.monotonic()
os.pread(fd, 65536, 0)
print(time.monotonic() - began)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
timed(lambda: os.pread(fd, 4096, 0))
"""
        advice_s, read_s, again_s = seconds(device.run(script))
        # One request of the most there is, not sixteen, and both waits are of it.
        assert device.counters()["reads"]["requests_count"] == 2
    assert advice_s < 0.020 <= advice_s + read_s
    assert again_s >= 0.020


def test_a_range_is_sent_by_sync_file_range_and_waited_for_on_demand() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.pwrite(fd, b"x" * 8192, 0)
timed(lambda: libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(4096), 2))
timed(lambda: libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(4096), 7))
"""
        sent_s, waited_s = seconds(device.run(script))
        assert device.counters()["dirty_bytes"] == 4096
    assert sent_s < 0.030 <= sent_s + waited_s + 0.001


def test_a_shared_mapping_is_written_by_msync() -> None:
    with shimmed(DEVICE) as device:
        (device.root / "file").write_bytes(b"x" * 65536)
        script = f"""{TIMED}
fd = os.open("file", os.O_RDWR)
mapped = mmap.mmap(fd, 65536)
mapped[0] = 1
timed(lambda: mapped.flush(0, 8192))
"""
        assert min(seconds(device.run(script))) >= 0.040


def test_what_stdio_writes_is_found_when_it_is_synced() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(b"file", b"w"))
libc.fwrite(b"x" * 100000, 1, 100000, file)
libc.fflush(file)
timed(lambda: os.fsync(libc.fileno(file)))
"""
        assert min(seconds(device.run(script))) >= 0.040
        assert device.counters()["writes"]["request_bytes"] == pytest.approx(100_000, abs=4096)


def test_other_files_pipes_and_sockets_are_left_alone(tmp_path: Path) -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
ends, (one, two) = os.pipe(), socket.socketpair()
timed(lambda: (os.write(fd, b"x"), os.fsync(fd), os.pread(fd, 1, 0)))
timed(lambda: (os.write(ends[1], b"x"), os.read(ends[0], 1)))
timed(lambda: (os.write(one.fileno(), b"x"), os.read(two.fileno(), 1)))
"""
        device.run(script, tmp_path / "elsewhere")
        counters = device.counters()
    assert counters["files_count"] == 0
    assert counters["reads"]["calls_count"] == counters["writes"]["calls_count"] == 0


def test_a_number_that_now_means_a_socket_is_no_file() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(fd, b"x" * 4096)
# Behind the shim's back, as the C library does it.
libc.syscall.argtypes = [ctypes.c_long, ctypes.c_long]
import ctypes as c
c.CDLL(None).close_range(fd, fd, 0)
one, two = socket.socketpair()
os.dup2(one.fileno(), fd)
os.write(fd, b"hello")
print(len(os.read(two.fileno(), 5)))
"""
        assert device.run(script).split() == ["5"]
        assert device.counters()["writes"]["calls_count"] == 1


def test_a_root_behind_a_symlink_and_relative_paths_are_seen(tmp_path: Path) -> None:
    with shimmed(DEVICE) as device:
        (device.root / "inner").mkdir()
        link = tmp_path / "link"
        link.symlink_to(device.root)
        script = f"""{TIMED}
directory = os.open(sys.argv[1], os.O_RDONLY)
a = os.open("a", os.O_CREAT | os.O_RDWR, dir_fd=directory)
os.chdir(sys.argv[1] + "/inner")
b = os.open("../b", os.O_CREAT | os.O_RDWR)
for fd in (a, b):
    os.write(fd, b"x" * 4096)
"""
        device.run(script, link)
        assert device.counters()["files_count"] == 2


def test_children_and_executed_programs_go_on_with_the_descriptors() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.set_inheritable(fd, True)
child = os.fork()
if child == 0:
    os.write(fd, b"x" * 4096)
    os.execv(sys.executable, [sys.executable, "-S", "-E", "-c",
        f"import os; os.write({{fd}}, b'x' * 4096); os.fsync({{fd}})"])
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        device.run(script)
        counters = device.counters()
    assert counters["attached_count"] == 2
    assert counters["writes"]["calls_count"] == 2
    assert counters["syncs"]["calls_count"] == 1


def test_a_file_deleted_while_open_is_still_on_the_device() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(fd, b"x" * 4096)
os.unlink("file")
os.pwrite(fd, b"x" * 4096, 4096)
timed(lambda: os.fsync(fd))
"""
        assert min(seconds(device.run(script))) >= 0.040


def test_what_was_dirty_of_a_deleted_file_is_never_written() -> None:
    with shimmed(DEVICE) as device:
        script = """
import os
for name in ("a", "b"):
    fd = os.open(name, os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * 262144)
os.unlink("a")
os.rename("a2" if os.path.exists("a2") else "b", "b2")
os.truncate("b2", 4096)
"""
        device.run(script)
        assert device.counters()["dirty_bytes"] == 4096


KEEPS = """
import os
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(fd, b"x" * 262144)
os.unlink("file")
"""
KEPT_TWICE = KEEPS.replace(
    "os.unlink", "other = os.open('file', 2)\nos.write(other, b'y')\nos.unlink"
)


def test_what_is_dirty_of_a_file_without_a_name_is_written_while_it_is_open() -> None:
    """As a server does that syncs the log which it has just written anew and removed."""
    with shimmed(DEVICE) as device:
        device.run(f"{KEEPS}\nos.fdatasync(fd)\nos.close(fd)")
        counters = device.counters()
    assert counters["writes"]["request_bytes"] == 262144
    assert counters["dirty_bytes"] == 0


ENDS = {
    "close": "os.close(fd)",
    "fclose": "libc.fclose(ctypes.c_void_p(libc.fdopen(fd, b'r+')))",
    "the end of the program": "pass",
    "the last of two": "os.close(other); os.close(fd)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_what_is_dirty_of_a_file_without_a_name_goes_with_its_last_close(end: str) -> None:
    script = f"""
import ctypes
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
{KEPT_TWICE if "other" in end else KEEPS}
{end}
"""
    with shimmed(DEVICE) as device:
        device.run(script)
        counters = device.counters()
    assert counters["dirty_bytes"] == 0
    assert counters["writes"]["request_bytes"] == 0


def test_a_file_without_a_name_stays_dirty_while_another_number_of_it_is_open() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{KEPT_TWICE}
os.close(fd)
os.fsync(other)
"""
        device.run(script)
        assert device.counters()["writes"]["request_bytes"] == 262144


def test_to_wait_for_the_link_between_replicas_is_to_be_held_at_a_limit() -> None:
    replicas = Replication(
        replicas_count=2,
        acknowledge_count=2,
        round_trip=fixed(0),
        one_is_local=True,
        link_bytes_per_s=10 * MIB,
    )
    device = msgspec.structs.replace(
        profile(request_bytes=MIB),
        replication=replicas,
    )
    # The second request passes when the first has, which takes a tenth of a second.
    script = f"""
import os
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(fd, b"x" * {2 * MIB})
os.fsync(fd)
"""
    with shimmed(device, cache_bytes=64 * MIB) as linked:
        linked.run(script)
        counters = linked.counters()
    assert counters["throttled_ns"] == pytest.approx(0.1 * NS, rel=0.02)


def test_the_inode_of_a_deleted_file_does_not_bring_its_pages_back() -> None:
    with shimmed(DEVICE) as device:
        script = f"""{TIMED}
for _ in range(20):
    fd = os.open("file", os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * 4096)
    os.close(fd)
    os.unlink("file")
"""
        device.run(script)
        (device.root / "file").write_bytes(b"x" * 4096)
        read = f"{TIMED}\nfd = os.open('file', os.O_RDONLY)\ntimed(lambda: os.pread(fd, 4096, 0))"
        assert min(seconds(device.run(read))) >= 0.020


def test_more_files_than_the_table_holds_are_counted_and_still_cost_time() -> None:
    with shimmed(DEVICE, extra="files 16\n") as device:
        script = f"""{TIMED}
for number in range(100):
    fd = os.open(f"file-{{number}}", os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * 4096)
timed(lambda: os.fsync(fd))
"""
        assert min(seconds(device.run(script))) >= 0.040
        counters = device.counters()
    assert counters["files_forgotten_count"] >= 84
    assert counters["writes"]["calls_count"] == 100


def test_an_error_of_the_device_is_told_by_the_next_fsync_once() -> None:
    broken = """
import os
fd = os.open("file", os.O_CREAT | os.O_RDWR)
for _ in range(2):
    os.write(fd, b"x" * 4096)
    try:
        os.fsync(fd)
    except OSError as error:
        print(error.errno)
try:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(fd, 4096, 0)
except OSError as error:
    print(error.errno)
"""
    with shimmed(profile(), extra="write_error_ratio 1\nread_error_ratio 1\n") as device:
        assert device.run(broken).split() == ["5", "5", "5"]
        assert device.counters()["errors_count"] == 3


def test_a_device_gets_full_and_has_room_again() -> None:
    script = """
import os
fd = os.open("file", os.O_CREAT | os.O_RDWR)
def attempt(call):
    try:
        call()
        print("ok")
    except OSError as error:
        print(error.errno)
attempt(lambda: os.pwrite(fd, b"x" * 65536, 0))
attempt(lambda: os.pwrite(fd, b"x" * 4096, 65536))
attempt(lambda: os.posix_fallocate(fd, 65536, 4096))
os.ftruncate(fd, 4096)
attempt(lambda: os.pwrite(fd, b"x" * 4096, 4096))
"""
    with shimmed(profile(), extra="device_bytes 65536\n") as device:
        assert device.run(script).split() == ["ok", "28", "28", "ok"]
        assert device.counters()["full_count"] == 2


@pytest.mark.parametrize("number", [425, 206], ids=["io_uring_setup", "io_setup"])
def test_ways_past_the_shim_are_refused_and_counted(number: int) -> None:
    script = f"""{TIMED}
print(libc.syscall({number}, 8, ctypes.create_string_buffer(256)), ctypes.get_errno())
"""
    with shimmed(profile()) as device:
        assert device.run(script).split() == ["-1", "38"]
        assert device.counters()["refused_count"] == 1


def test_processes_killed_anywhere_leave_a_device_that_works() -> None:
    """Also inside the model, where one of them holds the lock."""
    writer = """
import os, random, sys
random.seed(int(sys.argv[1]))
fd = os.open(f"file-{sys.argv[1]}", os.O_CREAT | os.O_RDWR)
print("go", flush=True)
while True:
    os.pwrite(fd, b"x" * 65536, random.randrange(64) * 65536)
    os.fsync(fd)
"""
    generator = random.Random(5)
    with shimmed(profile(write_s=1e-6)) as device:
        for round_ in range(30):
            writers = [device.start(writer, 3 * round_ + number) for number in range(3)]
            for process in writers:
                assert process.stdout is not None
                assert process.stdout.readline() == "go\n"
            for process in writers:
                # Not a wait for something: any moment will do, and a different one each time.
                signal.sigtimedwait([], generator.random() * 0.01)
                process.kill()
                process.communicate()
        script = """
import os
fd = os.open("last", os.O_CREAT | os.O_RDWR)
os.write(fd, b"x" * 65536)
os.fsync(fd)
os.sync()
"""
        device.run(script)
        assert device.counters()["dirty_bytes"] == 0


@pytest.mark.parametrize("state", [None, "", "/nowhere", "garbage"])
def test_a_program_never_runs_at_native_speed_by_mistake(state: str | None, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"x" * 100_000)
    variables = {**os.environ, "LD_PRELOAD": str(native.library_path("storage_shim.so"))}
    if state is not None:
        variables["GROUNDSPEED_STORAGE"] = str(tmp_path / state) if state == "garbage" else state
    done = subprocess.run(
        [sys.executable, "-c", "print('ran')"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert "ran" not in done.stdout
    assert done.stderr.startswith("groundspeed: storage cannot be emulated: ")
    assert done.stderr.count("\n") == 1


def test_a_full_file_system_is_told_when_the_state_is_made(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        (tmp_path / "config").write_text(
            "groundspeed-storage 1\nroot /x\ncache_bytes 1048576\n", encoding="utf-8"
        )
        done = subprocess.run(
            [native.executable_path("storage_state"), "create", tmp_path / "config", small / "s"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.strip().endswith("No space left on device")
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


NONSENSE = {
    "no configuration": "hello\n",
    "negative": "groundspeed-storage 1\nroot /x\ncache_bytes -5\n",
    "rate 0": "groundspeed-storage 1\nroot /x\nlimit device both requests 0 0 0\n",
    "rate nan": "groundspeed-storage 1\nroot /x\nlimit device both requests nan 0 0\n",
    "quorum": "groundspeed-storage 1\nroot /x\nreplicas 2\nacknowledge 3\n",
    "no root": "groundspeed-storage 1\ncache_bytes 4096\n",
    "short table": "groundspeed-storage 1\nroot /x\ntable device_read 1 2 3\n",
    "unknown key": "groundspeed-storage 1\nroot /x\niops 3000\n",
}


@pytest.mark.parametrize("config", NONSENSE.values(), ids=NONSENSE)
def test_a_nonsensical_configuration_is_refused_with_one_line(config: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(config)
    done = subprocess.run(
        [native.executable_path("storage_state"), "create", tmp_path / "config", tmp_path / "s"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "s").exists()


def test_both_spellings_of_every_call_are_taken() -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm is not here")
    done = subprocess.run(
        ["nm", "-D", "--defined-only", native.library_path("storage_shim.so")],
        capture_output=True,
        text=True,
        check=True,
    )
    taken = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    twice = [
        "open",
        "openat",
        "creat",
        "fopen",
        "freopen",
        "pread",
        "pwrite",
        "preadv",
        "pwritev",
        "ftruncate",
        "truncate",
    ]
    twice += [
        "fallocate",
        "posix_fallocate",
        "posix_fadvise",
        "sendfile",
        "mmap",
        "fcntl",
        "aio_read",
        "aio_write",
    ]
    assert {name for call in twice for name in (call, f"{call}64")} <= taken
    # And nothing but calls of the C library: a helper of ours would hide a program's own function.
    assert not [name for name in taken if name.startswith(("pages_", "device_", "config_"))]


def test_latency_is_not_added_to_what_the_real_call_took() -> None:
    """The real work is part of the emulated time: fixed 20 ms, not 20 ms and more."""
    with shimmed(profile(read_s=20e-3)) as device:
        (device.root / "file").write_bytes(b"x" * 4096 * 200)
        script = f"""{TIMED}
fd = os.open("file", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for page in range(0, 100, 2):
    timed(lambda: os.pread(fd, 4096, page * 4096))
"""
        taken = sorted(seconds(device.run(script)))
    assert taken[0] >= 0.020
    assert fixed(0.020).median_s <= taken[len(taken) // 2]
