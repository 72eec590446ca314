"""The keys that redis-benchmark touches: whether they are there, made where it reads, deleted.

Names are those of redis-benchmark 6 to 8 and valkey-benchmark 8.
"""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.targets import redis_client, redis_preload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from groundspeed.plan import Command
    from groundspeed.targets.redis_client import Address, Client

# Written so where it was asked for no key space.
_LITERAL = b"__rand_int__"
_DIGITS = 12
_BATCH_COUNT = 1000
_BATCH_BYTES = 1024 * 1024
# Between two lines about a preload.
_TELL_S = 5.0
_SEED = 1
_VALUES = "key:"
# By test: the prefix of numbered keys, or the one key. What is not here touches none.
_NUMBERED = {"set": _VALUES, "get": _VALUES, "mset": _VALUES, "incr": "counter:"}
_SINGLE = {
    **dict.fromkeys(("lpush", "rpush", "lpop", "rpop"), "mylist"),
    **dict.fromkeys(("lrange", "lrange_100", "lrange_300", "lrange_500", "lrange_600"), "mylist"),
    **dict.fromkeys(("sadd", "spop"), "myset"),
    **dict.fromkeys(("zadd", "zpopmin"), "myzset"),
    "hset": "myhash",
}


class KeySpace(msgspec.Struct, frozen=True, kw_only=True):
    """Numbered keys from 0 on; `count` 0 is the one key of a test without a key space."""

    prefix: str
    count: int

    def names(self, first: int = 0) -> Iterator[bytes]:
        """Name its keys, from a number on."""
        prefix = self.prefix.encode()
        if not prefix.endswith(b":"):
            yield prefix
        elif not self.count:
            yield prefix + _LITERAL
        else:
            for number in range(first, self.count):
                yield b"%b%0*d" % (prefix, _DIGITS, number)


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a redis-benchmark command touches, and the values that it expects to be there."""

    spaces: tuple[KeySpace, ...]
    payload_bytes: int
    reads_values: bool


def load_of(command: Command) -> Load:
    """Read a command that `tools.redis_benchmark` made."""
    pairs = dict(itertools.pairwise(command.arguments))
    count = int(pairs.get("-r", "0"))
    tests = pairs.get("-t", "").split(",")
    spaces = [
        KeySpace(prefix=_NUMBERED[test], count=count)
        if test in _NUMBERED
        else KeySpace(prefix=_SINGLE[test], count=0)
        for test in tests
        if test in _NUMBERED or test in _SINGLE
    ]
    return Load(
        spaces=tuple(dict.fromkeys(spaces)),
        payload_bytes=int(pairs.get("-d", "3")),
        reads_values="get" in tests,
    )


def existing_count(client: Client, names: Iterable[bytes]) -> int:
    """Count the keys that are there. Raises TargetError."""
    found = 0
    for batch in _batches(names):
        found += client.number("EXISTS", *batch)
    return found


def delete(client: Client, names: Iterable[bytes]) -> None:
    """Delete keys, where they are. Raises TargetError."""
    for batch in _batches(names):
        client.ask("UNLINK", *batch)


def _batches(names: Iterable[bytes]) -> Iterator[list[bytes]]:
    left = iter(names)
    while batch := list(itertools.islice(left, _BATCH_COUNT)):
        yield batch


def seed(address: Address, load: Load) -> int:
    """Make the keys that a load will read and that are missing; returns how many were made.

    A GET of nothing is no measure of a GET: it moves no value and never looks for one. Raises
    TargetError.
    """
    made = 0
    for space in load.spaces:
        if space.prefix != _VALUES or not load.reads_values:
            continue
        with redis_client.connect(address) as client:
            names = enumerate(space.names())
            while batch := list(itertools.islice(names, _BATCH_COUNT)):
                missing = len(batch) - client.number("EXISTS", *(name for _, name in batch))
                if missing:
                    _make(client, [name for _, name in batch], load.payload_bytes)
                made += missing
    return made


def _make(client: Client, names: list[bytes], payload_bytes: int) -> None:
    rng = random.Random(_SEED)  # noqa: S311 - values, no secrets
    # At once: where each write is synced, a server syncs once for all that it has read.
    batch_count = max(1, _BATCH_BYTES // max(1, payload_bytes))
    for start in range(0, len(names), batch_count):
        # Those that are there stay as they are.
        requests = (
            ("SET", name, rng.randbytes(payload_bytes), "NX")
            for name in names[start : start + batch_count]
        )
        client.do_all(tuple(requests))


def preload(
    address: Address, *, key_count: int, payload_bytes: int, tell: Callable[[str], None]
) -> None:
    """Fill a server with numbered keys; tell now and then how far it is. Raises TargetError."""
    told_s = time.monotonic()

    def on_progress(done_count: int) -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= _TELL_S or done_count == key_count:
            told_s = time.monotonic()
            tell(f"{done_count:,} of {key_count:,} keys are there")

    with redis_client.connect(address) as client:
        redis_preload.preload(
            client.socket,
            key_count=key_count,
            payload_bytes=payload_bytes,
            rng=random.Random(_SEED),  # noqa: S311 - values, no secrets
            on_progress=on_progress,
        )


def values(count: int) -> KeySpace:
    """Name the key space that a preload of so many keys makes."""
    return KeySpace(prefix=_VALUES, count=count)
