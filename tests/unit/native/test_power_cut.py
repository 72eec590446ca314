"""Power cuts: programs are killed, and the files hold what the device had."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from groundspeed import native
from tests.unit.native.cutting import cutting
from tests.unit.native.replay import profile
from tests.unit.native.shimmed import shimmed

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = profile(read_s=1e-4, write_s=1e-3, sync_s=1e-3)
PAGE = 4096

WRITES = {
    "write": "os.lseek(fd, 8192, 0); os.write(fd, b'n' * 4096)",
    "pwrite": "os.pwrite(fd, b'n' * 4096, 8192)",
    "writev": "os.lseek(fd, 8192, 0); os.writev(fd, [b'n' * 2048, b'n' * 2048])",
    "pwritev": "os.pwritev(fd, [b'n' * 2048, b'n' * 2048], 8192)",
    "pwritev2": "os.pwritev(fd, [b'n' * 4096], 8192, os.RWF_HIPRI)",
    "sendfile": "os.lseek(fd, 8192, 0); os.sendfile(fd, other, 0, 4096)",
    "copy_file_range": "os.copy_file_range(other, fd, 4096, 0, 8192)",
}
SYNCS = {
    "none": "pass",
    "fsync": "os.fsync(fd)",
    "fdatasync": "os.fdatasync(fd)",
    "sync_file_range": "assert libc.sync_file_range(fd, ctypes.c_int64(8192),"
    " ctypes.c_int64(4096), 7) == 0",
    "syncfs": "libc.syncfs(fd)",
    "other file": "os.fsync(other)",
}


# One way to write is enough for the rarer ways to sync.
PAIRS = [(write, sync) for write in WRITES for sync in ("none", "fdatasync")]
PAIRS += [("pwrite", sync) for sync in SYNCS if sync not in {"none", "fdatasync"}]


@pytest.mark.parametrize(("write", "sync"), PAIRS)
def test_what_is_overwritten_in_place_comes_back_unless_it_was_synced(
    write: str, sync: str
) -> None:
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"o" * 65536)
        device.killed(f"""
other = make("other", b"n" * 4096)
fd = os.open("file", os.O_RDWR)
{WRITES[write]}
{SYNCS[sync]}
""")
        assert device.read("file")[8192:12288] == b"n" * 4096
        dropped = device.cut()
        synced = sync not in {"none", "other file"}
        assert device.read("file")[8192:12288] == (b"n" if synced else b"o") * 4096
        assert device.read("file").count(b"o") == 65536 - (4096 if synced else 0)
        assert (dropped.files_count, dropped.pages_count, dropped.bytes) == (
            (0, 0, 0) if synced else (1, 1, PAGE)
        )
        assert device.cut().is_nothing


def test_a_second_write_after_a_sync_is_taken_back_to_the_first() -> None:
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"o" * 8192)
        device.killed("""
fd = os.open("file", os.O_RDWR)
os.pwrite(fd, b"a" * 6000, 100)
os.fdatasync(fd)
os.pwrite(fd, b"b" * 50, 200)
os.pwrite(fd, b"c" * 50, 5000)
""")
        assert device.cut().pages_count == 2
        assert device.read("file") == b"o" * 100 + b"a" * 6000 + b"o" * 2092


@pytest.mark.parametrize("flags", ["os.O_APPEND | os.O_WRONLY", "os.O_RDWR"])
def test_a_log_ends_where_it_was_synced_last(flags: str) -> None:
    with cutting(DEVICE) as device:
        device.killed(f"""
fd = os.open("log", {flags} | os.O_CREAT, 0o600)
for i in range(300):
    os.write(fd, b"%099d\\n" % i)
    if i == 137:
        os.fdatasync(fd)
""")
        dropped = device.cut()
        assert device.read("log").splitlines() == [b"%099d" % i for i in range(138)]
        assert dropped.shortened_count == 1
        assert dropped.bytes == 162 * 100
        # It goes on where it is, also past the end it had.
        device.killed("""
fd = os.open("log", os.O_APPEND | os.O_WRONLY)
for i in range(138, 400):
    os.write(fd, b"%099d\\n" % i)
os.fdatasync(fd)
os.write(fd, b"lost")
""")
        device.cut()
        assert device.read("log").splitlines() == [b"%099d" % i for i in range(400)]


def test_the_beginning_of_a_page_that_grew_comes_back_too() -> None:
    with cutting(DEVICE) as device:
        device.killed("""
fd = make("file", b"durable")
os.pwrite(fd, b" and not", 7)
os.pwrite(fd, b"DUR", 0)
""")
        device.cut()
        assert device.read("file") == b"durable"


def test_a_hole_that_was_filled_out_of_order_is_empty_again() -> None:
    """The later part of a longer file was synced, the earlier was not: it is zeros, not stale."""
    with cutting(DEVICE) as device:
        device.killed("""
fd = make("file", b"x" * 4096)
os.pwrite(fd, b"y" * 40960, 4096)
assert libc.sync_file_range(fd, ctypes.c_int64(36864), ctypes.c_int64(4096), 7) == 0
os.fsync(make("other", b"z"))
""")
        device.cut(str(time.monotonic_ns() + 6_000_000_000))
        assert device.read("file") == b"x" * 4096 + bytes(32768) + b"y" * 4096


@pytest.mark.parametrize("flag", ["os.O_DSYNC", "os.O_SYNC"])
def test_synced_descriptors_lose_nothing_and_others_of_the_file_do(flag: str) -> None:
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"o" * 16384)
        device.killed(f"""
synced = os.open("file", os.O_RDWR | {flag})
plain = os.open("file", os.O_RDWR)
os.pwrite(plain, b"p" * 4096, 0)
os.pwrite(synced, b"s" * 4096, 4096)
os.pwrite(synced, b"s" * 4096, 16384)
os.pwrite(plain, b"p" * 4096, 20480)
os.pwrite(plain, b"p" * 4096, 8192)
""")
        device.cut()
        parts = (b"o", b"s", b"o", b"o", b"s")
        assert device.read("file") == b"".join(part * 4096 for part in parts)


def test_direct_writes_are_on_the_device() -> None:
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"o" * 8192)
        device.killed("""
fd = os.open("file", os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
block.write(b"d" * 4096)
os.pwrite(fd, block, 0)
""")
        assert device.cut().is_nothing
        assert device.read("file") == b"d" * 4096 + b"o" * 4096


SIZES = {
    "longer": ("os.ftruncate(fd, 50000)", 30000),
    "longer by path": ("os.truncate('file', 50000)", 30000),
    "allocated": ("os.posix_fallocate(fd, 0, 50000)", 30000),
    "shorter": ("os.ftruncate(fd, 10001)", 30000),
    "shorter by path": ("os.truncate('file', 10001)", 30000),
    "opened": ("os.open('file', os.O_WRONLY | os.O_TRUNC)", 30000),
    "shorter, longer": ("os.ftruncate(fd, 5); os.pwrite(fd, b'n' * 40000, 9000)", 30000),
    "longer, synced": ("os.ftruncate(fd, 50000); os.fdatasync(fd)", 50000),
    "shorter, synced": ("os.ftruncate(fd, 10001); os.fsync(fd)", 10001),
}


@pytest.mark.parametrize(("change", "then"), SIZES.values(), ids=SIZES)
def test_a_file_is_as_long_as_it_was_synced(change: str, then: int) -> None:
    old = bytes(range(1, 251)) * 120
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(old)
        device.killed(f"fd = os.open('file', os.O_RDWR)\n{change}")
        device.cut()
        assert device.read("file") == (old + bytes(20000))[:then]


NAMES = {
    "made": ("make('new', b'x', synced=False)", {"old"}),
    "made, synced": ("make('new', b'x')", {"old", "new"}),
    "made, directory synced": (
        "make('new', b'x', synced=False); os.fsync(os.open('.', os.O_RDONLY))",
        {"old", "new"},
    ),
    "made, other synced": (
        "make('new', b'x', synced=False); make('other')",
        {"old", "new", "other"},
    ),
    "removed": ("os.unlink('old')", {"old"}),
    "removed, synced": ("os.unlink('old'); make('other')", {"other"}),
    "renamed": ("os.rename('old', 'new')", {"old"}),
    "renamed, synced": ("os.rename('old', 'new'); os.fsync(os.open('new', 2))", {"new"}),
    "linked": ("os.link('old', 'new')", {"old"}),
    "directory": ("os.mkdir('d'); make('d/new', synced=False)", {"old"}),
    "directory, synced": ("os.mkdir('d'); make('d/new')", {"old", "d", "d/new"}),
    "failed": (
        "[libc.mkdir(b'old', 0o700), libc.unlink(b'none'), libc.rename(b'none', b'old')]",
        {"old"},
    ),
}


@pytest.mark.parametrize(("change", "then"), NAMES.values(), ids=NAMES)
def test_names_are_what_the_last_sync_of_any_file_made_durable(change: str, then: set[str]) -> None:
    with cutting(DEVICE) as device:
        (device.root / "old").write_bytes(b"old")
        device.killed(change)
        device.cut()
        assert device.names() == then
        assert device.cut().is_nothing
        if "old" in then:
            assert device.read("old") == b"old"


def test_data_of_a_new_file_needs_a_sync_of_its_own() -> None:
    with cutting(DEVICE) as device:
        device.killed("make('new', b'x' * 9000, synced=False); make('other', b'y')")
        device.cut()
        assert (device.read("new"), device.read("other")) == (b"", b"y")


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize("committed", [True, False])
def test_a_file_that_is_replaced_is_the_old_or_the_new_one(
    *, committed: bool, synced: bool
) -> None:
    """Written beside, synced, renamed over: the old content or the new, as the rename committed.

    Without the first sync a committed rename leaves an empty file, as file systems do.
    """
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"old content")
        device.killed(f"""
fd = make("file.new", b"new", synced={synced})
os.rename("file.new", "file")
if {committed}:
    os.fsync(os.open(".", os.O_RDONLY))
""")
        device.cut()
        new = b"new" if synced else b""
        assert device.read("file") == (new if committed else b"old content")
        left = {"file"} if committed or not synced else {"file", "file.new"}
        assert device.names() == left


def test_a_removed_file_comes_back_as_it_was_synced() -> None:
    with cutting(DEVICE) as device:
        device.killed("""
fd = make("file", b"durable")
os.write(fd, b" not")
os.pwrite(fd, b"NOT", 0)
os.unlink("file")
os.pwrite(fd, b"after", 0)
other = os.open("file", CREATE, 0o600)
os.write(other, b"another")
""")
        device.cut()
        assert device.names() == {"file"}
        assert device.read("file") == b"durable"


def test_what_was_written_by_stdio_needs_a_sync_as_well() -> None:
    stdio = """
libc.fopen.restype = ctypes.c_void_p
for name, synced, more in (("never", 0, 0), ("synced", 1, 0), ("more", 1, 1)):
    file = ctypes.c_void_p(libc.fopen(name.encode(), b"w"))
    libc.fwrite(b"x" * 10000, 1, 10000, file)
    libc.fflush(file)
    if synced:
        os.fsync(libc.fileno(file))
    if more:
        libc.fwrite(b"y" * 10000, 1, 10000, file)
        libc.fflush(file)
"""
    with cutting(DEVICE) as device:
        device.killed(stdio)
        assert len(device.read("never")) == 10000
        device.cut()
        assert device.read("never") == b""
        assert device.read("synced") == b"x" * 10000
        assert device.read("more") == b"x" * 10000


def test_what_was_mapped_is_kept() -> None:
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"o" * 8192)
        device.killed("""
mapped = mmap.mmap(os.open("file", os.O_RDWR), 8192)
mapped[:2] = b"nn"
""")
        device.cut()
        assert device.read("file")[:4] == b"nnoo"


def test_the_kernel_writes_back_in_time() -> None:
    """Past the limit of 10% of the cache, or after 30 s: what is written back stays."""
    with cutting(DEVICE, cache_bytes=16 * 1024**2) as device:
        (device.root / "file").write_bytes(b"o" * 8 * 1024**2)
        script = """
fd = os.open("file", os.O_RDWR)
for i in range(640):
    os.pwrite(fd, b"n" * 4096, i * 8192)
time.sleep(0.05)
os.pwrite(fd, b"n", 0)
"""
        device.killed(script)
        kept = device.cut().pages_count
        # 1.6 MiB may be dirty, and 64 requests of a page may be on their way.
        assert 300 < kept <= 410 + 64 + 1
    with cutting(DEVICE, cache_bytes=64 * 1024**2) as device:
        (device.root / "file").write_bytes(b"o" * 8 * 1024**2)
        device.killed(script)
        assert device.cut(time.monotonic_ns() + 40 * 10**9).is_nothing
        assert device.read("file").count(b"n") == 640 * 4096


def test_a_sync_under_way_when_the_power_goes_has_done_nothing() -> None:
    """Nor what was written while it was under way, when it came to its end."""
    slow = profile(write_s=0.05, sync_s=0.3)
    with cutting(slow) as device:
        (device.root / "file").write_bytes(b"o" * 8192)
        process = device.start("""
import threading
fd = os.open("file", os.O_RDWR)
os.pwrite(fd, b"a", 0)
def late():
    time.sleep(0.1)
    os.pwrite(fd, b"b", 1)
thread = threading.Thread(target=late)
thread.start()
os.fsync(fd)
thread.join()
print("synced", flush=True)
os.pwrite(fd, b"c", 2)
os.fsync(os.open("file", os.O_RDWR))
""")
        assert process.stdout is not None
        assert process.stdout.readline() == "synced\n"
        while device.read("file")[:3] != b"abc":
            time.sleep(0.001)
        process.kill()
        process.communicate()
        device.cut()
        assert device.read("file")[:4] == b"aooo"


def test_many_files_and_processes_at_once() -> None:
    """Each writes numbers into files of its own and a shared one, and notes what it synced."""
    writer = """
me = int(sys.argv[1])
shared = os.open("shared", CREATE, 0o600)
own = [os.open(f"own{me}.{i}", CREATE, 0o600) for i in range(20)]
acknowledged = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
n = 0
while True:
    n += 1
    os.pwrite(shared, b"%8d" % n, me * 1000)
    os.pwrite(own[n % 20], b"%8d" % n, n // 20 % 3 * 4096)
    if n % 3 == 0:
        os.fdatasync(shared)
        os.fdatasync(own[n % 20])
        os.pwrite(acknowledged, b"%8d" % n, 0)
        if n == 300:
            print("far", flush=True)
"""
    fast = profile(write_s=1e-4, sync_s=1e-4)
    with cutting(fast) as device:
        notes = [device.state.with_name(f"acknowledged{i}") for i in range(3)]
        processes = [device.start(writer, i, note) for i, note in enumerate(notes)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "far\n"
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()
        dropped = device.cut()
        assert dropped.pages_count > 0
        shared = device.read("shared").ljust(4096, b"\0")
        for i, note in enumerate(notes):
            last = int(note.read_bytes())
            # Another's sync of the shared file is one, too; it cannot be later than the kill.
            assert last <= int(shared[i * 1000 : i * 1000 + 8]) <= last + 3
            place = last // 20 % 3 * 4096
            assert int(device.read(f"own{i}.{last % 20}")[place : place + 8]) in {last, last + 3}


def test_a_process_killed_anywhere_does_not_stop_the_others_or_the_cut() -> None:
    """Killed in the middle of keeping, again and again: what is synced is never taken back."""
    writer = """
import random
me = int(sys.argv[1])
rng = random.Random(me)
fd = os.open("file", os.O_RDWR)
while True:
    os.pwrite(fd, b"w" * rng.randrange(1, 30000), rng.randrange(1 << 20))
"""
    checker = """
fd = os.open("checked", CREATE, 0o600)
for n in range(400):
    os.pwrite(fd, b"%8d" % n, 4096 * (n % 7))
    os.fdatasync(fd)
os.pwrite(fd, b"unsynced", 0)
print(n, flush=True)
"""
    fast = profile(write_s=1e-5, sync_s=1e-5)
    with cutting(fast, cache_bytes=64 * 1024**2) as device:
        (device.root / "file").write_bytes(b"o" * (1 << 20))
        for i in range(40):
            process = device.start(writer, i)
            while b"w" not in device.read("file")[:40960]:
                assert process.poll() is None
            process.kill()
            process.communicate()
        device.killed(checker)
        device.cut()
        assert device.read("file") == b"o" * (1 << 20)
        checked = device.read("checked")
        numbers = [int(checked[4096 * i : 4096 * i + 8]) for i in range(7)]
        assert sorted(numbers) == list(range(393, 400))


def test_a_seed_keeps_a_part_and_always_the_same() -> None:
    seen = []
    for seed in (1, 1, 2):
        with cutting(DEVICE) as device:
            (device.root / "file").write_bytes(b"o" * 65536)
            device.killed("""
fd = os.open("file", os.O_RDWR)
os.pwrite(fd, b"n" * 32768, 0)
os.pwrite(os.open("log", CREATE, 0o600), b"n" * 10000, 0)
""")
            device.cut(0, seed)
            file = device.read("file")
            assert set(file) == set(b"on")
            assert file[32768:] == b"o" * 32768
            # Whole sectors are one or the other.
            assert all(len(set(file[at : at + 512])) == 1 for at in range(0, 32768, 512))
            seen.append(file)
    assert seen[0] == seen[1] != seen[2]


def test_it_is_refused_while_a_process_lives() -> None:
    with cutting(DEVICE) as device:
        (device.root / "file").write_bytes(b"o" * 8192)
        process = device.start("""
os.pwrite(os.open("file", os.O_RDWR), b"n", 0)
print("written", flush=True)
signal.pause()
""")
        assert process.stdout is not None
        process.stdout.readline()
        refused = device.tool()
        assert refused.returncode == 1
        assert refused.stderr.splitlines() == [
            f"storage_state: {device.state}: process {process.pid} still uses it: end it first"
        ]
        assert device.read("file")[:1] == b"n"
        process.kill()
        process.communicate()
        device.cut()
        assert device.read("file")[:1] == b"o"


def test_it_is_refused_where_not_all_could_be_kept() -> None:
    with cutting(DEVICE, extra="power_cut_pages 64\n") as device:
        (device.root / "file").write_bytes(b"o" * 1024**2)
        device.killed("os.pwrite(os.open('file', os.O_RDWR), b'n' * 1024**2, 0)")
        refused = device.tool()
        assert refused.returncode == 1
        assert "cannot be told" in refused.stderr
        assert device.read("file") == b"n" * 1024**2


def test_other_devices_know_no_power_cut(tmp_path: Path) -> None:
    with shimmed(DEVICE) as device:
        device.run("import os; os.close(os.open('file', os.O_CREAT))")
        tool = native.executable_path("storage_state")
        refused = subprocess.run(
            [tool, "power_cut", device.state], capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        assert refused.stderr.endswith(": this device was not made for power cuts\n")
        assert [path.name for path in device.state.parent.iterdir() if "power" in path.name] == []
        text = (device.state.parent / "config").read_text()
        for lines in ("power_cut relative", "power_cut /none-such", "power_cut_pages 1"):
            config = tmp_path / "config"
            config.write_text(f"{text}\n{lines}\n")
            refused = subprocess.run(
                [tool, "create", config, tmp_path / "state"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert refused.returncode == 1
            assert len(refused.stderr.splitlines()) == 1
            assert not (tmp_path / "state").exists()


def test_the_machine_starts_again_with_an_empty_cache() -> None:
    slow = profile(read_s=20e-3)
    with cutting(slow) as device:
        (device.root / "file").write_bytes(b"o" * 8192)
        script = "os.pread(os.open('file', os.O_RDONLY), 4096, 0)"
        device.killed(script)
        device.killed(script)
        device.cut()
        device.killed(script)
        with_cache = device.counters()["reads"]
        assert (with_cache["miss_pages_count"], with_cache["hit_pages_count"]) == (2, 1)


SQLITE = """
import sqlite3
database = sqlite3.connect("database", isolation_level=None)
database.execute("PRAGMA journal_mode = {mode}")
database.execute("PRAGMA synchronous = {synchronous}")
database.execute("CREATE TABLE written (number INTEGER PRIMARY KEY, filling BLOB)")
for number in range(200):
    database.execute("INSERT INTO written VALUES (?, randomblob(?))", (number, number * 50))
"""
CHECK = """
import sqlite3
database = sqlite3.connect("database")
assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
print(database.execute("SELECT count(*), max(number) FROM written").fetchone())
"""


@pytest.mark.parametrize(
    ("mode", "synchronous", "lost"),
    [("DELETE", "EXTRA", 0), ("DELETE", "FULL", 1), ("TRUNCATE", "FULL", 0), ("WAL", "FULL", 0)],
)
def test_sqlite_keeps_what_its_manual_promises(mode: str, synchronous: str, lost: int) -> None:
    """FULL does not sync the directory after the journal is deleted, which is what commits there.

    So the last transaction may be rolled back after a loss of power; EXTRA is for that.
    """
    with cutting(DEVICE) as device:
        device.killed(SQLITE.format(mode=mode, synchronous=synchronous))
        assert not device.cut().is_nothing or lost == 0
        process = device.start(CHECK)
        out, err = process.communicate(timeout=60)
        assert out.strip() == str((200 - lost, 199 - lost)), err
