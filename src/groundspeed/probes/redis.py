"""A Redis as a probe sees it: INFO once a second, its serving thread at every tick, its own delays.

It asks and gathers; what looks come to is in `redis_looks`. It does not look at the machine beyond
the server's one thread, changes nothing on the server, and does not judge.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.probes import redis_looks
from groundspeed.probes.redis_asking import RedisAsking
from groundspeed.probes.sampling import Part
from groundspeed.probes.serving_thread import ServingThread
from groundspeed.record.evidence import Delay, ServingWork
from groundspeed.tools.redis_info import SlowCommand, parse_latency, parse_slow_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.ports import WatchPoints
    from groundspeed.probes.redis_looks import Look
    from groundspeed.probes.serving_thread import Times
    from groundspeed.tools.resp import Reply

# Asked at the end of a second, an answer is of that second; a stuck server answers in a later one.
_ANSWER_S = 0.02
_SLOW_COMMANDS = 128


class RedisSampler:
    """The server at `points`, as `probes.sampling.Sampler`.

    Raises TargetError where the server cannot be reached, and nothing later.
    """

    def __init__(self, points: WatchPoints) -> None:
        self._asking = RedisAsking(points)
        self._thread = ServingThread(points.server_pid)
        unseen = self._thread.why_unseen()
        if unseen is not None:
            self._asking.note("serving-thread", unseen)
        self._settings = self._ask_settings()
        self._round_trip_s = self._asking.round_trip_s()
        self._absent_always = dict(self._asking.absent)
        self._start()

    def _start(self) -> None:
        self._looks: list[Look] = []
        # The look that the last whole second ended with.
        self._shown: Look | None = None
        self._last_times: tuple[float, Times] | None = None
        self._first_times: tuple[float, Times] | None = None
        self._slow_id: int | None = None
        self._asked_count = 0

    def begin(self) -> None:
        """Take the first look: from here on it counts."""
        if not self._asking.is_lost:
            self._asking.absent = dict(self._absent_always)
        self._start()
        self._slow_id = self._last_slow_id()
        self._asking.restart_cost()
        self._asking.send_info()
        self._fetch(limit_s=None)
        self._shown = self._looks[-1] if self._looks else None
        self._thread.begin()
        self._first_times = self._last_times = self._read_times()

    def tick(self) -> None:
        """See what the serving thread is at; take an answer that was late."""
        self._thread.look()
        self._fetch(limit_s=0.0)

    def second(self) -> Mapping[str, float | None]:
        """Give rates and levels of the second that just ended; None where there was no answer."""
        seen = self._thread.take_second()
        busy = self._take_busy_ratio()
        self._asking.send_info()
        self._fetch(limit_s=_ANSWER_S)
        last = self._looks[-1] if self._looks else None
        before, self._shown = self._shown, last
        is_new = last is not None and last is not before
        values = redis_looks.per_second(before if is_new else None, last if is_new else None)
        return {**values, "main_busy_ratio": busy, **seen}

    def end(self) -> Part:
        """Take the last look and sum up."""
        # Costs are those of the measured time: what follows is no load's loss.
        cost = self._asking.cost()
        times = self._read_times()
        self._fetch(limit_s=None)
        self._asking.send_info()
        self._fetch(limit_s=None)
        serving = redis_looks.serving(self._looks, own_request_count=self._asked_count)
        if serving is not None:
            serving = self._with_thread(self._with_own_delays(serving), times)
        waits = self._thread.waits() if serving is not None else ()
        has_samples = serving is not None and self._thread.sample_count > 0
        return Part(
            serving=serving,
            persistence=redis_looks.persistence(
                self._looks,
                redis_looks.log_sync_of(
                    self._settings.get("appendonly"), self._settings.get("appendfsync")
                ),
            ),
            waits=waits,
            wait_source=self._thread.source if has_samples else None,
            activity_sample_count=self._thread.sample_count if has_samples else 0,
            events=redis_looks.events(self._looks),
            costs=(cost,),
            absent=tuple(self._asking.absent.values()),
        )

    def close(self) -> None:
        """Hang up."""
        self._asking.close()
        self._thread.close()

    def _fetch(self, limit_s: float | None) -> None:
        """Keep the answer to INFO, if it is there; without a limit it is waited for."""
        text = self._asking.fetch_info(limit_s)
        if text is None:
            return
        self._asked_count += 1
        try:
            self._looks.append(redis_looks.look_of(text, time.time()))
        except ValueError as error:
            self._asking.note("server-counters", str(error))

    def _read_times(self) -> tuple[float, Times] | None:
        times = self._thread.times()
        return None if times is None else (time.monotonic(), times)

    def _take_busy_ratio(self) -> float | None:
        before, now = self._last_times, self._read_times()
        self._last_times = now
        if before is None or now is None or now[0] <= before[0]:
            return None
        return min(1.0, (now[1].busy_s - before[1].busy_s) / (now[0] - before[0]))

    def _with_thread(self, work: ServingWork, last: tuple[float, Times] | None) -> ServingWork:
        """Add what the kernel says of the serving thread: it also tells of waiting for a core."""
        first = self._first_times
        work = msgspec.structs.replace(work, round_trip_s=self._round_trip_s)
        if first is None or last is None or last[0] <= first[0]:
            return work
        elapsed_s = last[0] - first[0]
        return msgspec.structs.replace(
            work,
            main_busy_ratio=min(1.0, (last[1].busy_s - first[1].busy_s) / elapsed_s),
            main_ready_ratio=min(1.0, (last[1].ready_s - first[1].ready_s) / elapsed_s),
        )

    def _with_own_delays(self, work: ServingWork) -> ServingWork:
        """Add what the server itself found slow in the trial."""
        slow = self._slow_commands()
        last_id = max((one.entry_id for one in slow), default=self._slow_id)
        new = [one for one in slow if self._slow_id is not None and one.entry_id > self._slow_id]
        count = None
        if self._slow_id is not None and last_id is not None:
            # The list is short; numbers go on.
            count = last_id - self._slow_id
        return msgspec.structs.replace(
            work,
            slow_count=count,
            slowest_s=max((one.duration_s for one in new), default=None),
            delays=self._delays(),
        )

    def _ask_settings(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in ("appendonly", "appendfsync", "latency-monitor-threshold"):
            answer = self._asking.ask("server-settings", "CONFIG", "GET", name)
            if isinstance(answer, tuple) and len(answer) == 2:  # noqa: PLR2004 - name and value
                found[name] = _text(answer[1])
        return found

    def _last_slow_id(self) -> int | None:
        slow = self._slow_commands(1)
        if "slow-log" in self._asking.absent:
            return None
        # Numbers begin with 0.
        return max((one.entry_id for one in slow), default=-1)

    def _slow_commands(self, count: int = _SLOW_COMMANDS) -> tuple[SlowCommand, ...]:
        answer = self._asking.ask("slow-log", "SLOWLOG", "GET", count)
        try:
            return () if answer is None else parse_slow_log(answer)
        except ValueError as error:
            self._asking.note("slow-log", str(error))
            return ()

    def _delays(self) -> tuple[Delay, ...]:
        if self._settings.get("latency-monitor-threshold", "0") == "0":
            reason = "the server's latency monitor is off (latency-monitor-threshold)"
            self._asking.note("latency-monitor", reason)
            return ()
        answer = self._asking.ask("latency-monitor", "LATENCY", "LATEST")
        if answer is None:
            return ()
        try:
            spikes = parse_latency(answer)
        except ValueError as error:
            self._asking.note("latency-monitor", str(error))
            return ()
        since_s = int(self._looks[0].at_s)
        recent = [spike.event for spike in spikes if spike.at_s >= since_s]
        found = (self._delay(name, since_s) for name in recent)
        return tuple(delay for delay in found if delay is not None)

    def _delay(self, name: str, since_s: int) -> Delay | None:
        """Sum up one kind of delay since the trial began: the worst of each second is told."""
        answer = self._asking.ask("latency-monitor", "LATENCY", "HISTORY", name)
        worst_s = [took_s for at_s, took_s in _history(answer) if at_s >= since_s]
        if not worst_s:
            return None
        return Delay(name=name, count=len(worst_s), total_s=sum(worst_s), longest_s=max(worst_s))


def _history(answer: Reply) -> list[tuple[int, float]]:
    """Read LATENCY HISTORY: pairs of a time since 1970 and milliseconds."""
    rows = answer if isinstance(answer, tuple) else ()
    pairs = [row for row in rows if isinstance(row, tuple) and len(row) == 2]  # noqa: PLR2004
    return [
        (at_s, took_ms / 1000)
        for at_s, took_ms in pairs
        if isinstance(at_s, int) and isinstance(took_ms, int)
    ]


def _text(value: Reply) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
