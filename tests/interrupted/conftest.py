"""A place of its own for every interrupted run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.small_runs import Place, make_place

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Directories of this test alone, its state directory among them."""
    with make_place() as made:
        monkeypatch.setenv("GROUNDSPEED_STATE_DIR", str(made.state))
        yield made
