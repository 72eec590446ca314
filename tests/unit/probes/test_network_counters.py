from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

import pytest

from groundspeed.probes.network_counters import (
    NetworkCounters,
    NetworkUnseenError,
    interface_of,
    route_of,
)
from tests.unit.probes.kernel_trees import write_files

HEAD = "Inter-|   Receive |  Transmit\n face |bytes packets |bytes packets\n"
# 10.0.0.0/8 by eth0, 10.1.0.0/16 by eth1, all others by eth0; 10.2.0.0/16 is refused.
ROUTES = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
wlan0\t00000000\t0100000A\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
eth1\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
*\t0000020A\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0
"""
ROUTES_6 = (
    "20010db8000000000000000000000000 20 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth2\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000400 00000003 00000000 00000003     eth0\n"
)


def write_network(proc: Path, *, received: int, sent: int, again: int) -> None:
    zeros = "0 " * 7
    write_files(
        proc,
        {
            "net/dev": f"{HEAD}    lo: 1 {zeros}1 {zeros}\n"
            f"  eth0:{received} {zeros}{sent} {zeros}\n",
            "net/snmp": "Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs InErrs\n"
            f"Tcp: 200 {again} 0\nUdp: InErrs\nUdp: 0\n",
        },
    )


def test_rates_of_an_interface(tmp_path: Path) -> None:
    write_files(tmp_path, {"class/net/eth0/speed": "10000\n"})
    write_network(tmp_path, received=1000, sent=500, again=7)
    network = NetworkCounters("eth0", proc=tmp_path, sys=tmp_path)
    network.begin()
    write_network(tmp_path, received=5000, sent=700, again=9)
    work = network.work(2.0)
    assert work is not None
    assert work.interface == "eth0"
    assert (work.received_bytes_per_s, work.sent_bytes_per_s) == (2000.0, 100.0)
    assert work.retransmits_per_s == 1.0
    assert work.link_bytes_per_s == 1.25e9


def test_a_virtual_interface_has_no_speed(tmp_path: Path) -> None:
    write_files(tmp_path, {"class/net/eth0/speed": "-1\n"})
    write_network(tmp_path, received=1, sent=1, again=1)
    (tmp_path / "net/snmp").unlink()
    network = NetworkCounters("eth0", proc=tmp_path, sys=tmp_path)
    network.begin()
    work = network.work(1.0)
    assert work is not None
    assert work.link_bytes_per_s is None
    assert work.retransmits_per_s is None
    gone = NetworkCounters("eth9", proc=tmp_path, sys=tmp_path)
    gone.begin()
    assert gone.work(1.0) is None


@pytest.mark.parametrize(
    ("address", "interface"),
    [
        ("10.5.0.1", "eth0"),
        ("10.1.2.3", "eth1"),
        ("192.0.2.1", "eth0"),
        ("10.2.0.1", None),
        ("2001:db8::5", "eth2"),
        ("2001:dead::1", "eth0"),
        ("fe80::1%eth7", "eth7"),
    ],
)
def test_the_most_special_route_is_taken(
    tmp_path: Path, address: str, interface: str | None
) -> None:
    write_files(tmp_path, {"net/route": ROUTES, "net/ipv6_route": ROUTES_6})
    assert route_of(ipaddress.ip_address(address), tmp_path) == interface


def test_no_route_and_a_strange_table(tmp_path: Path) -> None:
    assert route_of(ipaddress.ip_address("10.0.0.1"), tmp_path) is None
    write_files(tmp_path, {"net/route": "head\nstrange\n"})
    assert route_of(ipaddress.ip_address("10.0.0.1"), tmp_path) is None


@pytest.mark.parametrize(
    ("conninfo", "variables", "interface"),
    [
        ("host=/run/postgresql dbname=x", {}, None),
        ("dbname=x", {}, None),
        ("dbname=x", {"PGHOST": "127.0.0.1"}, "lo"),
        ("host=@abstract", {"PGHOST": "127.0.0.1"}, None),
        ("host=127.0.0.1,192.0.2.1 port=1", {}, "lo"),
        ("host=name.invalid hostaddr=127.0.0.2", {}, "lo"),
        ("postgresql://u@[::1]:5432/x", {}, "lo"),
    ],
)
def test_where_a_connection_goes(
    conninfo: str, variables: dict[str, str], interface: str | None
) -> None:
    assert interface_of(conninfo, variables, Path("/proc")) == interface


def test_an_address_of_this_machine_is_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        try:
            end.connect(("192.0.2.1", 9))
        except OSError as error:
            pytest.skip(f"no network here: {error}")
        own = end.getsockname()[0]
    assert interface_of(f"host={own}", {}, Path("/proc")) == "lo"


@pytest.mark.parametrize("conninfo", ["host=a=b '", "host=name.invalid", "host=192.0.2.1"])
def test_what_cannot_be_found_is_refused(conninfo: str, tmp_path: Path) -> None:
    # The routes are those of an empty tree.
    with pytest.raises(NetworkUnseenError):
        interface_of(conninfo, {}, tmp_path)
