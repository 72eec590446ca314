"""Time outside of the server: connecting, on the way, or in the load tool itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.bottleneck import pods
from groundspeed.analyse.bottleneck.places import Place

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

# A round trip within a machine takes 0.03 to 0.1 ms, and on a busy one several times that while no
# network has a part in it: there only what a tunnel or a relay adds would be this long. Over a real
# link 0.15 ms is what a good network of one building takes.
_LOCAL_ROUND_TRIP_S = 1e-3
_REMOTE_ROUND_TRIP_S = 0.15e-3
_LOOPBACK = "lo"
# A thread that is busy for half of the time answers each client as it comes; one that is busy for
# 90% has a line of answers before it.
_IDLE_THREAD_RATIO, _BUSY_THREAD_RATIO = 0.5, 0.9
# Frames, headers and acknowledgements take the rest of a full link.
_FULL_LINK_RATIO = 0.85
# A thread that connects answers none of its other clients meanwhile: where a quarter of the time is
# in no transaction, what is left outside is mostly waiting for that.
_CONNECTS_RATIO = 0.25


class Parts(NamedTuple):
    """Shares of the clients' time outside of the server; `rest` is the load's or a processor's."""

    connecting: float
    network: float
    rest: float


def parts(scene: Scene) -> Parts:
    """Share out the time outside: connecting first, then round trips, then the rest."""
    whole = scene.share(Place.OUTSIDE)
    if scene.connecting_ratio >= _CONNECTS_RATIO:
        return Parts(whole, 0.0, 0.0)
    connecting = min(whole, scene.connecting_ratio)
    whole -= connecting
    network = whole if link_is_full(scene) else whole * _trips_ratio(scene, whole)
    return Parts(connecting, network, whole - network)


def _trips_ratio(scene: Scene, left: float) -> float:
    """Share of the time outside that round trips take, by their number and length."""
    trip_s = scene.round_trip_s
    rate = scene.outcome.tps_per_s
    if trip_s is None or trip_s < _least_round_trip_s(scene) or not left or not rate:
        return 0.0
    each_s = left * scene.clients / rate
    # A script of the user's own has as many trips as fit: at least one, or it was not the network.
    trips = scene.statement_count or max(1, round(each_s / trip_s))
    return min(1.0, trips * trip_s / each_s)


def _least_round_trip_s(scene: Scene) -> float:
    network = scene.host.network if scene.host is not None else None
    # A unix socket is no interface, so nothing is said of one.
    is_local = network is None or network.interface == _LOOPBACK
    return _LOCAL_ROUND_TRIP_S if is_local else _REMOTE_ROUND_TRIP_S


def link_is_full(scene: Scene) -> bool:
    """Whether one direction of the link to the server was used up."""
    network = scene.host.network if scene.host is not None else None
    if network is None or not network.link_bytes_per_s:
        return False
    most = max(network.received_bytes_per_s, network.sent_bytes_per_s)
    return most >= _FULL_LINK_RATIO * network.link_bytes_per_s


def thread_saturation(scene: Scene) -> float:
    """How far the load tool's busiest thread is from keeping up; 0..1."""
    # One that is held back is never idle, however little it burns.
    held = pods.load_held_ratio(scene)
    busy = scene.host.cpu.load_thread_ratio if scene.host is not None else None
    if busy is None:
        return held
    span = _BUSY_THREAD_RATIO - _IDLE_THREAD_RATIO
    return max(held, min(1.0, max(0.0, (busy - _IDLE_THREAD_RATIO) / span)))
