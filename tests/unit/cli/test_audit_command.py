from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import ExitCode

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed

HEAD = "| Clients | old TPS | new TPS | Change |\n|---|---|---|---|\n"
GOOD = HEAD + "| 4 | 1,159 | 2,307 | +99% |\n| 16 | 1,216 | 5,328 | +338% |\n"
CUT = GOOD + "| 32 | 1,588 | 6,491 | +308% |\n"
WRONG = GOOD + "| 32 | 1,588 | 6,491 | +75% |\n"


@pytest.mark.parametrize(
    ("text", "code"), [(GOOD, ExitCode.OK), (CUT, ExitCode.OK), (WRONG, ExitCode.MISTAKES_FOUND)]
)
def test_the_exit_code_tells_errors_alone(groundspeed: Groundspeed, text: str, code: int) -> None:
    Path("post.md").write_text(text)
    assert groundspeed("audit", "post.md").code == code


def test_a_remark_is_printed_with_its_place_its_words_and_its_arithmetic(
    groundspeed: Groundspeed,
) -> None:
    Path("post.md").write_text(CUT)
    out = groundspeed("audit", "post.md").out
    assert out.startswith(
        "post.md\nnote [change] line 5, table 1, row 32, column Change: truncated"
    )
    assert '  "+308%"\n' in out
    assert "(6,491 - 1,588) / 1,588 = 308.8%" in out
    assert "1 table, 9 figures, 0 sentences looked at: 0 errors, 0 doubts, 1 note\n" in out


def test_less_severe_remarks_can_be_left_out(groundspeed: Groundspeed) -> None:
    Path("post.md").write_text(CUT)
    out = groundspeed("audit", "post.md", "--min-severity", "doubt").out
    assert "308%" not in out
    assert out.endswith("looked at: 0 errors, 0 doubts\n")


def test_several_files_as_json(groundspeed: Groundspeed) -> None:
    Path("good.md").write_text(GOOD)
    Path("wrong.md").write_text(WRONG)
    done = groundspeed("audit", "good.md", "wrong.md", "--format", "json")
    good, wrong = json.loads(done.out)
    assert (good["source"], good["remarks"]) == ("good.md", [])
    (remark,) = wrong["remarks"]
    assert (remark["severity"], remark["check"], remark["line"]) == ("error", "change", 5)
    assert remark["arithmetic"]


def test_markdown_keeps_the_words_of_the_article_from_being_markup(
    groundspeed: Groundspeed,
) -> None:
    Path("a_b_c.md").write_text(WRONG)
    out = groundspeed("audit", "a_b_c.md", "--format", "md").out
    assert out.startswith("## Audit of a\\_b\\_c.md\n\n- **error** (change), line 5")


def test_a_dash_reads_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "groundspeed.cli.main", "audit", "-"],
        input=WRONG,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.MISTAKES_FOUND
    assert done.stdout.startswith("standard input\n")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("gone.md", None, "error: gone.md: No such file or directory"),
        ("prose.md", b"No table here.", "error: prose.md: no table found"),
        ("picture.md", b"\x89PNG\xff", "error: picture.md: not a text in UTF-8"),
        ("broken.json", b"{", "error: broken.json: not JSON: "),
    ],
)
def test_a_file_that_cannot_be_checked_is_one_line_and_a_hint(
    groundspeed: Groundspeed, name: str, content: bytes | None, complaint: str
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    done = groundspeed("audit", name)
    assert done.code == ExitCode.USAGE
    error, hint = done.errors
    assert error.startswith(complaint)
    assert hint.startswith("hint: ")
