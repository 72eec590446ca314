from __future__ import annotations

import pytest

from groundspeed.errors import UsageError
from groundspeed.tools import pgbench
from groundspeed.tools.pgbench_capture import reports
from tests.golden import pgbench_output

WHOLE = tuple(name for name in pgbench_output.NAMES if not name.endswith("aborted"))
ABORTED = tuple(name for name in pgbench_output.NAMES if name.endswith("aborted"))


def stdout(name: str) -> str:
    return pgbench_output.read(name).stdout


def as_terminal(name: str) -> str:
    """What a terminal shows: both streams, carriage returns and a coloured prompt."""
    output = pgbench_output.read(name)
    text = f"\x1b[32mme@host\x1b[0m:~$ {' '.join(output.argv)}\n{output.stderr}{output.stdout}"
    return text.replace("\n", "\r\n")


def as_ci_log(text: str) -> str:
    return "".join(
        f"bench\tpgbench\t2026-01-31T12:{at // 60:02}:{at % 60:02}.{at:07}Z {line}\n"
        for at, line in enumerate(text.splitlines())
    )


@pytest.mark.parametrize("name", WHOLE)
def test_a_report_is_found_wherever_it_stands(name: str) -> None:
    expected = pgbench.parse(stdout(name))
    for text in (stdout(name), as_terminal(name), as_ci_log(as_terminal(name))):
        (found,) = reports(text, "a.txt")
        assert found.report == expected


@pytest.mark.parametrize("name", WHOLE)
def test_the_version_is_that_of_the_first_line(name: str) -> None:
    (found,) = reports(as_terminal(name), "a.txt")
    major = name.partition("-")[0]
    assert (found.pgbench_version or "13").startswith(major)
    # pgbench names the server only where it is of another version.
    assert found.server_version == found.pgbench_version


def test_the_server_has_a_version_of_its_own() -> None:
    text = "pgbench (18.4, server 13.2)\n" + stdout("18-plain").partition("\n")[2]
    (found,) = reports(text, "a.txt")
    assert (found.pgbench_version, found.server_version) == ("18.4", "13.2")


def test_several_reports_of_one_file_in_their_order() -> None:
    text = "".join(f"run {at}\n{stdout(name)}done\n" for at, name in enumerate(WHOLE))
    found = reports(as_ci_log(text), "ci.log")
    assert [each.report for each in found] == [pgbench.parse(stdout(name)) for name in WHOLE]
    lines = text.splitlines()
    assert all(lines[each.line - 1].startswith("transaction type: ") for each in found)
    # A version belongs to its own report, and 13 tells none.
    assert [each.pgbench_version is None for each in found] == [n[:2] == "13" for n in WHOLE]


def test_what_stands_behind_a_report_is_left_alone() -> None:
    scripts = "SQL script 1: a.sql\n - 3 transactions (50.0% of total, tps = 1.5)\n"
    (found,) = reports(stdout("16-plain") + scripts, "a.txt")
    assert found.report.tps_per_s == pgbench.parse(stdout("16-plain")).tps_per_s


def test_a_connection_for_each_transaction_is_seen() -> None:
    text = stdout("16-plain").replace("initial connection time", "average connection time")
    assert [each.reconnects for each in reports(text + stdout("16-plain"), "a.txt")] == [
        True,
        False,
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_a_report_that_is_cut_anywhere_is_torn(name: str) -> None:
    lines = stdout(name).splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if line.startswith("transaction type"))
    for end in range(start + 1, len(lines) - 1):
        text = "".join(lines[:end])
        if "\ntps = " not in text:
            with pytest.raises(UsageError, match=r"a.txt: report at line \d: torn"):
                reports(text, "a.txt")
            # Nor does it borrow from the next one.
            with pytest.raises(UsageError, match="torn"):
                reports(text + stdout(name), "a.txt")
    for begin in range(start + 1, len(lines)):
        with pytest.raises(UsageError, match="torn"):
            reports("".join(lines[begin:]), "a.txt")


def test_a_report_that_goes_on_as_another_is_torn() -> None:
    whole = stdout("16-plain")
    cut = whole[: whole.index("number of threads")]
    rest = whole[whole.index("number of clients") :]
    with pytest.raises(UsageError, match="torn, it has the line 'number of clients' twice"):
        reports(cut + rest, "a.txt")
    with pytest.raises(UsageError, match="another one behind it has lost its beginning"):
        reports(whole + rest, "a.txt")


@pytest.mark.parametrize("name", ABORTED)
def test_an_aborted_run_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="aborted"):
        reports(as_terminal(name), "a.txt")
    with pytest.raises(UsageError, match="no line 'tps ='"):
        reports(stdout(name), "a.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.txt: empty"),
        (" \n\n", "a.txt: empty"),
        ("hello\n", "a.txt: not pgbench's, no line says 'transaction type:'"),
        (
            pgbench_output.read("16-plain").stderr,
            "a.txt: pgbench tells its progress here and no final report",
        ),
    ],
)
def test_what_holds_no_report_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        reports(text, "a.txt")
    assert caught.value.message == message


def test_a_report_without_a_transaction_is_no_figure() -> None:
    text = stdout("16-plain")
    count = pgbench.parse(text).transaction_count
    with pytest.raises(UsageError, match="no transaction succeeded"):
        reports(text.replace(f"actually processed: {count}", "actually processed: 0"), "a.txt")
