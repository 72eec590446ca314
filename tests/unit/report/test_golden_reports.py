from __future__ import annotations

import pytest

from tests.golden import reports


@pytest.mark.parametrize("name", reports.RENDERERS)
def test_report_is_as_it_was_when_last_read(name: str) -> None:
    rendered = reports.RENDERERS[name]()

    # In bytes: CSV has line ends of its own.
    assert rendered.encode() == (reports.FOLDER / name).read_bytes(), (
        "if this is meant: PYTHONPATH=src python -m tests.golden.reports, and read the difference"
    )
