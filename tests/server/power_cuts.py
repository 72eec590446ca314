"""Servers on an emulated device that are killed and lose its power, and who wrote what to them."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from groundspeed import spec
from groundspeed.storage import catalogue
from groundspeed.storage.placement import Emulation
from groundspeed.targets import places, process, remains
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.leases import LeaseFile
from tests.interrupted.driving import wait_until_gone
from tests.small_runs import account

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.storage.power_cut import DroppedWork
    from tests.small_runs import Place

MIB = 1024**2
NAME = "groundspeed-power-cut"
PROFILE = """
profile: cut
about: every synced write takes the same
device: {read: 100us, write: 2ms, sync: 3ms, parallel: 8}
request_size: 128KiB
figures: [{what: all, standing: assumed, source: a test, date: 2026-01}]
"""


class Losing:
    """A directory on a device that may lose its power."""

    def __init__(self, home: Path, device: EmulatedDevice, lease: LeaseFile) -> None:
        self.home = home
        self.device = device
        self.lease = lease

    def kill_and_cut(self) -> DroppedWork:
        """Kill every process on the device at once, and take the power."""
        at_ns = time.monotonic_ns()
        pids = remains.users_of(self.device.state_file)
        assert pids
        # All stand still before the first is gone: nobody tidies up after another.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                os.kill(pid, number)
        for pid in pids:
            wait_until_gone(pid)
        return self.device.cut_power(at_ns=at_ns)


@contextmanager
def losing(place: Place) -> Iterator[Losing]:
    """Make a directory `data` of the server's user, on a device that may lose its power."""
    profile = catalogue.load(spec.parse_yaml(PROFILE, "cut"))
    asked = Emulation(
        profile=profile, cache_bytes=256 * MIB, memory_bytes=256 * MIB, memory_assumed=False
    )
    with LeaseFile("cut") as lease:
        home = places.make(place.storage / NAME, account(), lease)
        device = EmulatedDevice(asked, NAME, account=account(), lease=lease, loses_power=True)
        data = home / "data"
        data.mkdir(mode=0o700)
        user = account()
        if user is not None:
            os.chown(data, user.uid, user.gid)
        try:
            device.make([data])
            yield Losing(home, device, lease)
        finally:
            device.remove()
            places.remove(home, lease)


class Redis:
    """A connection to a Redis of ours, one command after another."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._answers = self._socket.makefile("rb")

    def ask(self, *words: object) -> bytes:
        """Give the line of an answer, or what a bulk answer holds."""
        parts = [str(word).encode() for word in words]
        self._socket.sendall(
            b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(p), p) for p in parts)
        )
        line = self._answers.readline()
        if line[:1] != b"$":
            assert line[:1] in b"+:", line
            return line[1:-2]
        return self._answers.read(int(line[1:]) + 2)[:-2]

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


class RedisServer:
    """A Redis on the device, ended by its id."""

    def __init__(self, at: Losing, program: str, *settings: str) -> None:
        self._path = at.home / "redis.socket"
        self._log = at.home / "redis.log"
        arguments = ("--port", "0", "--unixsocket", str(self._path), "--dir", str(at.home / "data"))
        self._process = process.start(
            [program, *arguments, "--daemonize", "no", "--logfile", str(self._log), *settings],
            account=account(),
            environment=at.device.variables(),
        )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        for _ in range(3000):
            assert self._process.poll() is None, self._log.read_text()
            try:
                connection = self.connect()
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.01)
                continue
            try:
                loading = b"loading:1" in connection.ask("INFO", "persistence")
            finally:
                connection.close()
            if not loading:
                return
        raise AssertionError(self._log.read_text())

    def connect(self) -> Redis:
        return Redis(self._path)

    def end(self) -> None:
        """Reap it, killed before or now."""
        process.end(self._process, first=signal.SIGKILL)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
