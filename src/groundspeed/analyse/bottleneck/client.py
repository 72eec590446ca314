"""The other end: a load tool that cannot ask faster, the way to it, and the making of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import outside, pods, processor, remedies
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene


def bound(scene: Scene) -> Suspect | None:
    """Client-bound: sessions wait to be asked, and the load tool is always at work."""
    if scene.host is None:
        return None
    cpu = scene.host.cpu
    taken = 0.0 if outside.link_is_full(scene) else scene.share(Place.ANSWER)
    held = pods.load_clues(scene)
    clues = [_outside(scene)]
    if cpu.load_thread_ratio is not None:
        name = "of one core is what the load tool's busiest thread burns"
        clues.insert(0, _seen(name, cpu.load_thread_ratio, "ratio"))
    clues[:0] = held
    if cpu.load_cpu_count is not None:
        clues.append(_seen("cores burnt by the load tool", cpu.load_cpu_count, "count"))
    if cpu.server_cpu_count is not None:
        clues.append(_seen("cores burnt by the server", cpu.server_cpu_count, "count"))
    return Suspect(
        bottleneck=Bottleneck.CLIENT,
        score=min(1.0, processor.split(scene).load + taken),
        clues=tuple(clues),
        remedy=pods.LOAD_REMEDY if held else _remedy(scene),
        counted=bool(held) or cpu.load_thread_ratio is not None,
    )


def _remedy(scene: Scene) -> str:
    return remedies.CLIENT if scene.serving is None else remedies.CLIENT_TOOL


def network(scene: Scene) -> Suspect | None:
    """Network-bound: round trips are what transactions are made of, or the link is full."""
    full = outside.link_is_full(scene)
    score = outside.parts(scene).network + scene.share(Place.REPLICA)
    if full:
        score += scene.share(Place.ANSWER)
    if score <= 0:
        return None
    replica = scene.share(Place.REPLICA) > score / 2
    remedy = remedies.REPLICA if replica else remedies.LINK if full else remedies.ROUND_TRIP
    return Suspect(
        bottleneck=Bottleneck.NETWORK,
        score=min(1.0, score),
        clues=tuple(_network_clues(scene, replica=replica)),
        remedy=remedy,
    )


def _network_clues(scene: Scene, *, replica: bool) -> list[Clue]:
    clues = []
    if replica:
        clues.append(scene.waits_clue("of database time waits for a standby", Place.REPLICA))
    host = scene.host
    link = host.network if host is not None else None
    if link is not None and link.link_bytes_per_s and outside.link_is_full(scene):
        most = max(link.received_bytes_per_s, link.sent_bytes_per_s)
        source = f"/sys/class/net/{link.interface}"
        share = most / link.link_bytes_per_s
        clues.append(Clue(name="of the link is used", value=share, unit="ratio", source=source))
    if scene.round_trip_s is not None:
        name = "is a round trip to the server and back"
        asked = "statement" if scene.serving is None else "request"
        clues.append(
            Clue(name=name, value=scene.round_trip_s, unit="s", source=f"an empty {asked}, timed")
        )
    name = f"of each {scene.words.one} is spent outside of the server"
    source = f"{scene.waits_source} and {scene.tool}"
    clues.append(Clue(name=name, value=scene.outside_s, unit="s", source=source))
    clues.append(_outside(scene))
    return clues


def connection(scene: Scene) -> Suspect | None:
    """Connection-bound: clients are in no transaction, because they have no session yet."""
    if not scene.connecting_ratio:
        return None
    rate = scene.outcome.tps_per_s
    source = f"clients less rate x latency (Little's law), {scene.tool}"
    name = "of the clients' time is in no transaction: they connect"
    clues = [Clue(name=name, value=scene.connecting_ratio, unit="ratio", source=source)]
    if rate:
        each_s = scene.connecting_ratio * scene.clients / rate
        name = f"goes by before each {scene.words.one}"
        clues.append(Clue(name=name, value=each_s, unit="s", source=source))
        name = f"is what a {scene.words.one} takes once it is connected"
        latency_s = scene.outcome.latency.mean_s
        clues.append(Clue(name=name, value=latency_s, unit="s", source=scene.latency_source))
    return Suspect(
        bottleneck=Bottleneck.CONNECTION,
        score=min(1.0, max(scene.connecting_ratio, outside.parts(scene).connecting)),
        clues=tuple(clues),
        remedy=remedies.CONNECTION,
        counted=True,
    )


def _outside(scene: Scene) -> Clue:
    if scene.serving is not None:
        name = "of its time the thread of all clients waits for them"
        return scene.waits_clue(name, Place.OUTSIDE)
    return Clue(
        name="of the clients' time is outside of the server",
        value=scene.share(Place.OUTSIDE),
        unit="ratio",
        source=scene.waits_source,
    )


def _seen(name: str, value: float, unit: str) -> Clue:
    return Clue(name=name, value=value, unit=unit, source="/proc/PID/stat and /proc/PID/task")
