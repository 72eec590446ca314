"""The network between load and server: which interface it is, and what went through it."""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import psycopg
from psycopg import conninfo as connections

from groundspeed.probes.kernel_files import grown, read_whole, whole_number
from groundspeed.record.machine import NetworkWork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Address, IPv6Address
    from pathlib import Path

_LOOPBACK = "lo"
_LIBPQ_SCHEMES = frozenset({"postgres", "postgresql"})
_REJECTS = 0x200  # RTF_REJECT
# Fields of a line of /proc/net/dev behind the name.
_RECEIVED, _SENT = 0, 8
_BYTES_PER_MEGABIT = 125_000


class NetworkUnseenError(Exception):
    """The interface cannot be found; the message says why."""


class _Reading(NamedTuple):
    received: int
    sent: int
    retransmitted: int | None


class _Route(NamedTuple):
    network: bytes
    prefix_bits: int
    metric: int
    flags: int
    interface: str

    def holds(self, address: bytes) -> bool:
        """Whether an address begins as the network does."""
        rest = len(address) * 8 - self.prefix_bits
        return int.from_bytes(address) >> rest == int.from_bytes(self.network) >> rest


class NetworkCounters:
    """/proc/net/dev of one interface and TCP's retransmits, at begin and end.

    Retransmits are those of all connections of the machine.
    """

    def __init__(self, interface: str, *, proc: Path, sys: Path) -> None:
        self._interface = interface
        self._proc = proc
        self._speed = sys / "class/net" / interface / "speed"
        self._begin: _Reading | None = None

    def begin(self) -> None:
        """Count from here."""
        self._begin = self._read()

    def work(self, elapsed_s: float) -> NetworkWork | None:
        """Give rates since `begin`; None where the interface has no line (any more)."""
        before, after = self._begin, self._read()
        if before is None or after is None or elapsed_s <= 0:
            return None
        again = None
        if before.retransmitted is not None and after.retransmitted is not None:
            again = grown(before.retransmitted, after.retransmitted) / elapsed_s
        # Virtual interfaces say -1, or nothing.
        megabits = whole_number(read_whole(self._speed))
        return NetworkWork(
            interface=self._interface,
            received_bytes_per_s=grown(before.received, after.received) / elapsed_s,
            sent_bytes_per_s=grown(before.sent, after.sent) / elapsed_s,
            retransmits_per_s=again,
            link_bytes_per_s=megabits * _BYTES_PER_MEGABIT if megabits and megabits > 0 else None,
        )

    def _read(self) -> _Reading | None:
        for line in read_whole(self._proc / "net/dev").splitlines():
            # No blank need follow the colon.
            name, _, rest = line.partition(b":")
            if name.strip() == self._interface.encode():
                words = rest.split()
                if len(words) > _SENT and words[_RECEIVED].isdigit() and words[_SENT].isdigit():
                    return _Reading(int(words[_RECEIVED]), int(words[_SENT]), self._retransmitted())
        return None

    def _retransmitted(self) -> int | None:
        lines = read_whole(self._proc / "net/snmp").splitlines()
        tables = [line.split() for line in lines if line.startswith(b"Tcp:")]
        return next(
            (
                whole_number(value)
                for names, values in zip(tables[::2], tables[1::2], strict=False)
                for name, value in zip(names, values, strict=False)
                if name == b"RetransSegs"
            ),
            None,
        )


def interface_of(conninfo: str, variables: Mapping[str, str], proc: Path) -> str | None:
    """Find the interface to a server; None for a unix socket. Raises NetworkUnseenError.

    `variables` are libpq's; of a URL that is none of libpq's they do not count. A name is looked up
    and nothing is sent to the server. Of several hosts the first is taken.
    """
    host = _host_of_url(conninfo)
    if host is None:
        host = _host_of_libpq(conninfo, variables)
    if not host or host.startswith(("/", "@")):
        return None
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)[0][4]
        address = ipaddress.ip_address(str(found[0]))
    except (OSError, ValueError, UnicodeError) as error:
        raise NetworkUnseenError(f"no address was found for {host}") from error
    interface = _LOOPBACK if _is_here(address) else route_of(address, proc)
    if interface is None:
        raise NetworkUnseenError(f"no route leads to {address}")
    return interface


def _host_of_url(conninfo: str) -> str | None:
    """Give the host of a URL of another kind of server, empty for a socket; None where it is none.

    Raises NetworkUnseenError.
    """
    scheme, mark, _ = conninfo.partition("://")
    if not mark or scheme in _LIBPQ_SCHEMES or not scheme.isalnum():
        return None
    try:
        return urlsplit(conninfo).hostname or ""
    except ValueError as error:
        raise NetworkUnseenError("the URL of the server cannot be read") from error


def _host_of_libpq(conninfo: str, variables: Mapping[str, str]) -> str:
    try:
        parameters = connections.conninfo_to_dict(conninfo)
    except psycopg.Error as error:
        raise NetworkUnseenError("the connection string cannot be read") from error
    told = (
        parameters.get("hostaddr"),
        variables.get("PGHOSTADDR"),
        parameters.get("host"),
        variables.get("PGHOST"),
    )
    return next((str(one) for one in told if one), "").split(",")[0]


def _is_here(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address is this machine's own, of whichever interface: then it is lo."""
    if address.is_loopback:
        return True
    is_old = isinstance(address, ipaddress.IPv4Address)
    family = socket.AF_INET if is_old else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as end:
            # Connecting a datagram socket only chooses a route; any port will do.
            end.connect((str(address), 9))
            return str(end.getsockname()[0]) == str(address)
    except OSError:
        return False


def route_of(address: IPv4Address | IPv6Address, proc: Path) -> str | None:
    """Find the interface of the most special route that holds an address; None without any."""
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        return address.scope_id
    fitting = [route for route in _routes(address.version, proc) if route.holds(address.packed)]
    best = max(fitting, key=lambda route: (route.prefix_bits, -route.metric), default=None)
    return best.interface if best and not best.flags & _REJECTS else None


def _routes(version: int, proc: Path) -> Iterator[_Route]:
    """Read the kernel's routing table of one internet protocol."""
    try:
        if version == 4:  # noqa: PLR2004 - of the internet protocol
            for line in read_whole(proc / "net/route").splitlines()[1:]:
                name, to, _, flags, _, _, metric, mask = line.split()[:8]
                # Printed as a number of the machine, kept in the order of the network.
                network = struct.pack("=I", int(to, 16))
                bits = int(mask, 16).bit_count()
                yield _Route(network, bits, int(metric), int(flags, 16), name.decode())
        else:
            for line in read_whole(proc / "net/ipv6_route").splitlines():
                to, prefix, _, _, _, metric, _, _, flags, name = line.split()
                network = bytes.fromhex(to.decode())
                yield _Route(
                    network, int(prefix, 16), int(metric, 16), int(flags, 16), name.decode()
                )
    except ValueError:
        # A table in another form tells nothing.
        return
