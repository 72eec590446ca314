"""Which keys on a given server are ours: claimed before they are written, deleted by the claim.

The claim is a hash on that server, which names the run and the keys; the lease names the hash. So
the next command can delete what a run that was killed left, and nothing that it did not write.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.record import Caution
from groundspeed.targets import redis_client, redis_keys
from groundspeed.targets.leases import OwnedDatabase
from groundspeed.targets.redis_client import Address
from groundspeed.targets.redis_keys import KeySpace

if TYPE_CHECKING:
    from groundspeed.targets.leases import LeaseFile

# A field of the hash; all others are prefixes of keys.
_COMMENT = "comment"
_RIGHTS = "~groundspeed:* and the load's own keys, +@read +@write +@connection"
_SCHEMES = ("redis://", "rediss://", "unix://")


def is_of_redis(owned: OwnedDatabase) -> bool:
    """Whether what a lease names is a claim on a Redis."""
    return owned.conninfo.startswith(_SCHEMES)


def drop_owned_keys(owned: OwnedDatabase) -> None:
    """Delete what a dead run left on a given server. Raises TargetError."""
    variable = owned.password_env
    if variable is not None and variable not in os.environ:
        raise TargetError(
            f"the password of {owned.conninfo} is not here", f"set the variable {variable}"
        )
    password = None if variable is None else os.environ[variable]
    address = Address(url=owned.conninfo, password=password)
    with redis_client.connect(address) as client:
        told = client.pairs("HGETALL", owned.name)
        if told.get(_COMMENT) != owned.comment:
            # It was never made, or has been deleted: then so were the keys.
            return
        for field, count in told.items():
            if field != _COMMENT:
                space = KeySpace(prefix=field.strip(), count=int(count))
                redis_keys.delete(client, space.names())
        client.ask("UNLINK", owned.name)


def unsettled(error: TargetError) -> Caution:
    """Word that nothing is known of what a server writes in the background."""
    return Caution(
        code="no-checkpoint",
        message=f"the server was not seen at rest before the trial ({error.message}):"
        " what an earlier load left to write may have cost it time",
    )


class Claim:
    """The keys of one run on one server; nothing is claimed at first."""

    def __init__(
        self,
        address: Address,
        password_env: str | None,
        *,
        mark: str,
        comment: str,
        lease: LeaseFile,
    ) -> None:
        """Prepare names. `mark` is the name of the hash."""
        self._address = address
        self._lease = lease
        self._owned = OwnedDatabase(
            conninfo=address.url, name=mark, password_env=password_env, comment=comment
        )
        self._spaces: set[KeySpace] = set()
        self._is_marked = False

    def take(self, space: KeySpace) -> None:
        """Claim keys before they are written.

        Raises TargetError where one of them is there and was not claimed before, or the user may
        not write.
        """
        if space in self._spaces:
            return
        ours = max((s.count for s in self._spaces if s.prefix == space.prefix), default=0)
        with redis_client.connect(self._address) as client:
            found = redis_keys.existing_count(client, space.names(min(ours, space.count)))
            if found:
                raise TargetError(
                    f"{found:,} of the keys that the load would write are there already"
                    f" ({space.prefix}…), and they are not ours",
                    "name a server that holds none of them; nothing was written there",
                )
            if not space.count or space.count > ours:
                self._mark(client, space)
        self._spaces.add(space)

    def _mark(self, client: redis_client.Client, space: KeySpace) -> None:
        if not self._is_marked:
            self._lease.own_database(self._owned)
            self._is_marked = True
        # The literal key has a field of its own beside the numbered ones.
        field = space.prefix if space.count else f"{space.prefix} "
        mark = (self._owned.name, _COMMENT, self._owned.comment, field, space.count)
        try:
            client.ask("HSET", *mark)
        except redis_client.RefusedError as error:
            if not self._spaces:
                # Nothing is there to be deleted, nor could it be.
                self._lease.disown_database(self._owned)
                self._is_marked = False
            raise TargetError(error.message, f"{error.hint}: {_RIGHTS}") from None

    def delete_keys(self) -> None:
        """Delete all that was claimed; the claim stays. Raises TargetError."""
        with redis_client.connect(self._address) as client:
            for space in self._spaces:
                redis_keys.delete(client, space.names())

    def give_up(self) -> None:
        """Delete all that was claimed, and the claim. Raises TargetError."""
        if not self._is_marked:
            return
        self.delete_keys()
        with redis_client.connect(self._address) as client:
            client.ask("UNLINK", self._owned.name)
        self._lease.disown_database(self._owned)
        self._is_marked = False
