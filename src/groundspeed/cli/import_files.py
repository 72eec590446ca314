"""Files that people hand to `groundspeed import`: read, told apart, reports with their logs."""

from __future__ import annotations

import datetime as dt
import hashlib
from enum import Enum
from pathlib import Path  # noqa: TC003 - the type of a field of a NamedTuple
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.errors import UsageError
from groundspeed.importing import PastLoad
from groundspeed.targets.past_log import read_log
from groundspeed.tools import pgbench_capture, pgbench_log
from groundspeed.tools.pgbench_log import LogKind, LogShape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# More than any report has, with hours of progress lines; a log is never read whole into memory.
_MOST_BYTES = 256 * 1024 * 1024
_HEAD_BYTES = 4096


class Kind(Enum):
    """What a file is taken for."""

    OUTPUT = "output"
    LOG = "log"
    JSON = "json"


class Source(NamedTuple):
    """One file; `name` is unique among those given. `content` is empty for a log."""

    path: Path
    name: str
    kind: Kind
    content: bytes
    log: LogShape | None = None

    @property
    def sha256(self) -> str:
        """Say which bytes it has, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def dated_at(self) -> str:
        """Give the date of the file, in the form of records."""
        moment = dt.datetime.fromtimestamp(self.path.stat().st_mtime, tz=dt.UTC)
        return moment.isoformat(timespec="milliseconds")


class Output(NamedTuple):
    """What pgbench wrote, and the log files that were given behind it."""

    source: Source
    logs: tuple[Source, ...]


def read(paths: Sequence[Path]) -> tuple[Source, ...]:
    """Read files and tell by their beginnings what they are. Raises UsageError."""
    names: list[str] = []
    found = []
    for path in paths:
        name, number = path.name, 2
        while name in names:
            name, number = f"{path.stem}-{number}{path.suffix}", number + 1
        names.append(name)
        found.append(_read(path, name))
    return tuple(found)


def _read(path: Path, name: str) -> Source:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            text = head.decode("utf-8-sig", "replace")
            log = pgbench_log.shape(text)
            if log is not None:
                return Source(path, name, Kind.LOG, b"", log)
            content = head + file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "name a file that can be read") from None
    if len(content) > _MOST_BYTES:
        raise UsageError(
            f"{path}: more than {_MOST_BYTES // 1024**2} MiB, and no log of pgbench",
            "name what pgbench printed, or its log (-l)",
        )
    is_json = text.lstrip().startswith(("{", "["))
    return Source(path, name, Kind.JSON if is_json else Kind.OUTPUT, content)


def outputs(sources: Sequence[Source]) -> tuple[Output, ...]:
    """Give each output the logs that follow it. Raises UsageError for a log without one."""
    found: list[tuple[Source, list[Source]]] = []
    for source in sources:
        if source.kind is Kind.OUTPUT:
            found.append((source, []))
        elif not found:
            raise UsageError(
                f"{source.path}: a log without the report of its pgbench",
                "name what pgbench printed first, and its log behind it",
            )
        else:
            found[-1][1].append(source)
    return tuple(Output(source, tuple(logs)) for source, logs in found)


def loads(output: Output) -> Iterator[PastLoad]:
    """Read the reports of an output, each with its log if there are logs. Raises UsageError."""
    source = output.source
    text = source.content.decode("utf-8-sig", "replace")
    reports = pgbench_capture.reports(text, source.name)
    for captured, logs in zip(reports, _logs_of(output, len(reports)), strict=True):
        load = PastLoad(
            captured=captured, file=source.name, sha256=source.sha256, file_at=source.dated_at
        )
        yield _with_log(load, logs) if logs else load


def _logs_of(output: Output, reports_count: int) -> list[tuple[Source, ...]]:
    if not output.logs:
        return [()] * reports_count
    by_path = {str(log.path): log for log in output.logs}
    groups = [
        tuple(by_path[path] for path in group) for group in pgbench_log.by_process(list(by_path))
    ]
    if len(groups) != reports_count:
        raise UsageError(
            f"{output.source.name}: {_some(reports_count, 'report')} and the logs of"
            f" {len(groups)} pgbench",
            "name the logs of each report behind it, in its order; none at all is fine as well",
        )
    return groups


def _some(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _with_log(load: PastLoad, logs: Sequence[Source]) -> PastLoad:
    shapes = [log.log for log in logs if log.log is not None]
    if any(shape.kind is LogKind.AGGREGATES for shape in shapes):
        raise UsageError(
            f"{logs[0].path}: an aggregated log (--aggregate-interval) has sums and no"
            " transactions: no percentile follows from it",
            "import the report without it, or measure with -l alone",
        )
    extra_count = max(shape.extra_count for shape in shapes)
    has_lag = load.captured.report.schedule_lag_mean_s is not None
    past = read_log(
        [log.path for log in logs],
        duration_s=load.captured.report.duration_s,
        has_lag=has_lag,
        # Columns behind the lag can be nothing else.
        has_retries=extra_count > int(has_lag),
    )
    return msgspec.structs.replace(load, log=past.totals, seconds=past.seconds)
