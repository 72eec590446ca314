"""Power cuts after operations that are drawn, against a model of a few lines of what is durable."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.unit.native.cutting import cutting
from tests.unit.native.replay import profile

if TYPE_CHECKING:
    from tests.unit.native.cutting import Cut

FILES = ("a", "b", "c")
LONGEST = 30000


class Inode:
    """A file, whatever its name: what a program reads and what the device holds."""

    def __init__(self) -> None:
        self.content = b""
        self.durable = b""
        self.is_resized = False

    def becomes(self, content: bytes) -> None:
        self.is_resized = self.is_resized or len(content) != len(self.content)
        self.content = content

    def synced(self) -> None:
        self.durable = self.content
        self.is_resized = False


class Model:
    """Names and files, as they are and as they are durable; for a device of no latency."""

    def __init__(self) -> None:
        self.names: dict[str, Inode] = {}
        self.durable_names: dict[str, Inode] = {}

    def commit(self) -> None:
        self.durable_names = dict(self.names)

    def waits(self, inode: Inode) -> bool:
        """Whether fdatasync has to commit: the file is new, or of another length."""
        new = not any(inode is other for other in self.durable_names.values())
        return new or inode.is_resized

    def after_the_cut(self) -> dict[str, bytes]:
        return {name: inode.durable for name, inode in self.durable_names.items()}


def drawn(rng: random.Random, model: Model) -> str:
    """Draw one operation, do it in the model, and write it as Python."""
    name = rng.choice(FILES)
    inode = model.names.get(name)
    if inode is None:
        model.names[name] = Inode()
        return f"files[{name!r}] = os.open({name!r}, CREATE | os.O_EXCL, 0o600)"
    (kind,) = rng.choices((changed, synced, renamed), (16, 4, 2.5))
    return kind(rng, model, name, inode)


def changed(rng: random.Random, _: Model, name: str, inode: Inode) -> str:
    offset, length = rng.randrange(LONGEST), rng.randrange(1, 9000)
    (what,) = rng.choices(("write", "append", "truncate"), (8, 6, 2))
    if what == "truncate":
        inode.becomes(inode.content[:offset].ljust(offset, b"\0"))
        return f"os.ftruncate(files[{name!r}], {offset})"
    if what == "append":
        offset, length = len(inode.content), rng.randrange(1, 200)
    byte = bytes([rng.randrange(97, 123)])
    padded = inode.content.ljust(offset, b"\0")
    inode.becomes(padded[:offset] + byte * length + padded[offset + length :])
    return f"os.pwrite(files[{name!r}], {byte!r} * {length}, {offset})"


def synced(rng: random.Random, model: Model, name: str, inode: Inode) -> str:
    what = rng.choice(("fsync", "fdatasync"))
    if what == "fsync" or model.waits(inode):
        model.commit()
    inode.synced()
    return f"os.{what}(files[{name!r}])"


def renamed(rng: random.Random, model: Model, name: str, _: Inode) -> str:
    what = rng.choice(("unlink", "rename", "directory"))
    if what == "unlink":
        del model.names[name]
        return f"os.unlink({name!r}); os.close(files.pop({name!r}))"
    if what == "rename":
        to = rng.choice([other for other in FILES if other != name])
        model.names[to] = model.names.pop(name)
        return f"os.rename({name!r}, {to!r}); files[{to!r}] = files.pop({name!r})"
    model.commit()
    return "os.fsync(os.open('.', os.O_RDONLY))"


def reopened(model: Model) -> Model:
    """Go on from what the power cut left."""
    fresh = Model()
    for name, inode in model.durable_names.items():
        fresh.names[name] = Inode()
        fresh.names[name].content = fresh.names[name].durable = inode.durable
    fresh.commit()
    return fresh


def contents(device: Cut) -> dict[str, bytes]:
    return {name: device.read(name) for name in sorted(device.names())}


@pytest.mark.parametrize("seed", range(40))
def test_files_are_what_the_model_says(seed: int) -> None:
    rng = random.Random(seed)
    model = Model()
    with cutting(profile()) as device:
        for _ in range(3):
            lines = [drawn(rng, model) for _ in range(rng.randrange(1, 60))]
            opened = "files = {name: os.open(name, os.O_RDWR) for name in os.listdir('.')}"
            device.killed("\n".join([opened, *lines]))
            assert contents(device) == {n: i.content for n, i in sorted(model.names.items())}
            device.cut()
            assert contents(device) == dict(sorted(model.after_the_cut().items())), lines
            model = reopened(model)
