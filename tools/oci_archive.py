"""Layers and an OCI archive of them, written by hand: what an image is, without an engine.

A layer is a tar file; the same files give the same bytes, so that whoever loads the image again
takes only what is new. See the OCI image specification, 1.1.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any, BinaryIO, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


class Layer:
    """A layer that is being written; a context manager, after which its file is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Under another name until it is whole: a layer that is there is taken as it is.
        self._unfinished = path.with_name(f".{path.name}")
        self._tar = tarfile.open(self._unfinished, "w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed by __exit__
        self._there: set[str] = set()

    def __enter__(self) -> Self:
        """Begin it."""
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        """Finish it; after an error nothing stays."""
        self._tar.close()
        if kind is None:
            self._unfinished.replace(self._path)
        else:
            self._unfinished.unlink()

    def add(self, entry: tarfile.TarInfo, data: BinaryIO | None = None) -> None:
        """Add an entry; of two with one name the first stays."""
        if entry.name in self._there:
            return
        self._there.add(entry.name)
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        entry.pax_headers = {}
        self._tar.addfile(entry, data)

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Add a directory."""
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        self.add(entry)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
        self.add(entry)

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a file with this content."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), mode
        self.add(entry, io.BytesIO(data))

    def tree(self, source: Path, name: str) -> None:
        """Add all that is below a directory, under another name, readable for everybody."""
        for path in sorted(source.rglob("*")):
            inside = f"{name}/{path.relative_to(source).as_posix()}"
            if path.is_symlink():
                self.link(inside, str(path.readlink()))
            elif path.is_dir():
                self.folder(inside)
            else:
                runs = path.stat().st_mode & 0o100
                self.file(inside, path.read_bytes(), 0o755 if runs else 0o644)


def write_image(
    out: Path, *, name: str, architecture: str, config: dict[str, Any], layers: Sequence[Path]
) -> str:
    """Write an image as an OCI archive; give its digest."""
    digests = [_digest_of(layer) for layer in layers]
    configuration = _json(
        {
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": digests},
            "history": [{"created_by": layer.stem.rsplit("-", 1)[0]} for layer in layers],
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, configuration),
            "layers": [
                {"mediaType": _LAYER, "digest": digest, "size": layer.stat().st_size}
                for layer, digest in zip(layers, digests, strict=True)
            ],
        }
    )
    found = _descriptor(_MANIFEST, manifest)
    found["platform"] = {"architecture": architecture, "os": "linux"}
    # containerd reads the first, others the second.
    found["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name,
    }
    _write_archive(out, found, (configuration, manifest), dict(zip(digests, layers, strict=True)))
    return str(found["digest"])


def _write_archive(
    out: Path, descriptor: dict[str, Any], documents: Sequence[bytes], layers: dict[str, Path]
) -> None:
    unfinished = out.with_name(f".{out.name}")
    with tarfile.open(unfinished, "w") as archive:
        _put(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _put(archive, "index.json", _json({"schemaVersion": 2, "manifests": [descriptor]}))
        for document in documents:
            _put(archive, _blob(_digest(document)), document)
        for digest, layer in layers.items():
            entry = tarfile.TarInfo(_blob(digest))
            entry.size = layer.stat().st_size
            with layer.open("rb") as data:
                archive.addfile(entry, data)
    unfinished.replace(out)


def _put(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _descriptor(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": _digest(data), "size": len(data)}


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _digest_of(path: Path) -> str:
    with path.open("rb") as data:
        return f"sha256:{hashlib.file_digest(data, 'sha256').hexdigest()}"


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"
