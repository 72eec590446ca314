"""Reports of pgbench found in text: its output, a terminal's capture, the log of a CI job.

What stands before, between and behind them is left alone; a report that is not whole is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import UsageError
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Sequence

_START = "transaction type: "
_END = re.compile(r"tps = [\d.]+ ")
_VERSION = re.compile(r"pgbench \((?P<tool>.+?)(?:, server (?P<server>.+))?\)")
_ABORTED = "Run was aborted; the above results are incomplete"
# Colours and cursor movements of a terminal (ECMA-48), and the marks some CI systems add.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07)|\ufeff")
# Where one report was cut and another one goes on behind it.
_ONCE = ("scaling factor:", "number of clients:", "number of threads:", "latency average =")
_WHOLE_HINT = "import the whole output of a pgbench that ended by itself"


class CapturedReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report; `line` from 1 is where it starts.

    Versions are None where it does not tell them: pgbench 13 never does, and a capture may begin
    after that line. `reconnects` is with a connection for each transaction (-C).
    """

    report: pgbench.Report
    line: int
    pgbench_version: str | None
    server_version: str | None
    reconnects: bool


def reports(text: str, source: str) -> tuple[CapturedReport, ...]:
    """Find every report in a text, in order.

    Each line may have something before it, the same on all of them but for digits, as a time.
    Raises UsageError, which begins with `source`, where there is none or one is not whole.
    """
    lines = _lines(text)
    if not text.strip():
        raise UsageError(f"{source}: empty", "name a file with the output of pgbench")
    _refuse_aborted(lines, source)
    starts = [at for at, line in enumerate(lines) if _START in line]
    if not starts:
        raise _without_report(lines, source)
    bounds = [0, *starts[1:], len(lines)]
    found = []
    for index, start in enumerate(starts):
        before = 0 if index == 0 else starts[index - 1]
        found.append(_report(lines, (before, start, bounds[index + 1]), source))
    return tuple(found)


def _lines(text: str) -> list[str]:
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return plain.split("\n")


def _refuse_aborted(lines: Sequence[str], source: str) -> None:
    for at, line in enumerate(lines, start=1):
        if _ABORTED in line:
            raise UsageError(
                f"{source}: line {at}: pgbench says that its run was aborted",
                "a number of an aborted run means nothing: cut it out to import the others",
            )


def _without_report(lines: Sequence[str], source: str) -> UsageError:
    if any("tps = " in line and "connect" in line for line in lines):
        return UsageError(f"{source}: torn, the beginning of a report is missing", _WHOLE_HINT)
    if any(re.search(r"progress: [\d.]+ s, [\d.]+ tps", line) for line in lines):
        return UsageError(
            f"{source}: pgbench tells its progress here and no final report", _WHOLE_HINT
        )
    return UsageError(
        f"{source}: not pgbench's, no line says 'transaction type:'",
        "name what pgbench printed, or published results as JSON; groundspeed audit reads articles",
    )


def _report(lines: Sequence[str], bounds: tuple[int, int, int], source: str) -> CapturedReport:
    """Read the report between lines; `bounds` are the one before it, its start and the next."""
    before, start, end = bounds
    prefix = _prefix(lines[start])
    block = _stripped(lines[start:end], prefix)
    ends = [at for at, line in enumerate(block) if _END.match(line)]
    # pgbench 13 has two such lines, with and without the time to connect.
    last = next((at for at in ends if at + 1 not in ends), None)
    where = f"{source}: report at line {start + 1}"
    if last is None:
        raise UsageError(f"{where}: torn, it has no line 'tps ='", _WHOLE_HINT)
    if ends[-1] != last:
        raise UsageError(f"{where}: another one behind it has lost its beginning", _WHOLE_HINT)
    whole = "\n".join(block[: last + 1]) + "\n"
    twice = next((key for key in _ONCE if whole.count(f"\n{key}") > 1), None)
    if twice is not None:
        raise UsageError(
            f"{where}: torn, it has the line {twice.strip(' :=')!r} twice", _WHOLE_HINT
        )
    try:
        report = pgbench.parse(whole)
    except ValueError as error:
        told = str(error).removeprefix("pgbench's report lacks")
        raise UsageError(f"{where}: torn, it lacks{told}", _WHOLE_HINT) from None
    if report.transaction_count == 0 or report.tps_per_s == 0:
        raise UsageError(f"{where}: no transaction succeeded", "there is no figure to import")
    tool, server = _versions(_stripped(lines[before:start], prefix))
    return CapturedReport(
        report=report,
        line=start + 1,
        pgbench_version=tool,
        server_version=server,
        reconnects="average connection time = " in whole or "reconnection times" in whole,
    )


def _prefix(line: str) -> re.Pattern[str]:
    """Make a pattern of what stands before a line: the same words, any digits."""
    before = line[: line.index(_START)]
    parts = re.split(r"\d+", before)
    return re.compile(r"\d+".join(re.escape(part) for part in parts))


def _stripped(lines: Sequence[str], prefix: re.Pattern[str]) -> list[str]:
    """Take off the prefix; a line without it is somebody else's and becomes empty."""
    matches = [(line, prefix.match(line)) for line in lines]
    return [line[match.end() :].rstrip() if match else "" for line, match in matches]


def _versions(lines: Sequence[str]) -> tuple[str | None, str | None]:
    """Give the versions of pgbench and of the server, by the last line that tells them.

    pgbench 14 and later name the server only where its version is another one (printVersion).
    """
    for line in reversed(lines):
        match = _VERSION.fullmatch(line)
        if match is not None:
            return match["tool"], match["server"] or match["tool"]
    return None, None
