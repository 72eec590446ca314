"""Debian packages as a layer of an image: downloaded by apt-get, unpacked and not installed.

No script of a package runs, so nothing here needs root and nothing of this machine is changed.
"""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from oci_archive import Layer

# Debian's own are links into /usr; some packages of Debian 12 still name the old places.
_MERGED = ("bin", "sbin", "lib", "lib64")
_NOT_NEEDED = ("bug", "doc", "info", "lintian", "locale", "man")


def read_list(text: str) -> dict[str, str | None]:
    """Read a list of packages: name, or name:path for one file of it; # begins a comment."""
    lines = (line.partition("#")[0] for line in text.splitlines())
    words = (word.partition(":") for line in lines for word in line.split())
    return {name: path or None for name, _, path in words}


def add_packages(layer: Layer, packages: Mapping[str, str | None], folder: Path) -> None:
    """Download packages of this machine's Debian and add what they hold to a layer."""
    folder.mkdir(parents=True, exist_ok=True)
    # The folder is not apt's own user's, which is said and does no harm.
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages]
    subprocess.run(command, check=True, cwd=folder)
    for name, only in packages.items():
        _add(layer, next(folder.glob(f"{name}_*.deb")), only)


def _add(layer: Layer, deb: Path, only: str | None) -> None:
    command = ["dpkg-deb", "--fsys-tarfile", deb]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive,
    ):
        for entry in archive:
            entry.name = _place(entry.name)
            if entry.islnk():
                entry.linkname = _place(entry.linkname)
            if _is_wanted(entry.name, only):
                layer.add(entry, archive.extractfile(entry) if entry.isreg() else None)
    if unpacking.returncode:
        raise subprocess.CalledProcessError(unpacking.returncode, command)


def _place(name: str) -> str:
    parts = PurePosixPath(name).parts
    return "/".join(("usr", *parts) if parts and parts[0] in _MERGED else parts)


def _is_wanted(name: str, only: str | None) -> bool:
    if not name or name.startswith(tuple(f"usr/share/{one}/" for one in _NOT_NEEDED)):
        return False
    return only is None or name == only
