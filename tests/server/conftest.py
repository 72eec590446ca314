"""Places and given servers for tests with a real PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.server.given import Given, serve
from tests.small_runs import Place, make_place

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Directories of this test alone, its state directory among them."""
    with make_place() as made:
        monkeypatch.setenv("GROUNDSPEED_STATE_DIR", str(made.state))
        yield made


@pytest.fixture(scope="module")
def given() -> Iterator[Given]:
    """A server that somebody else owns, with a password on its socket and on loopback."""
    with serve(16) as server:
        yield server


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Given]:
    """The same with TLS, where a build and openssl are here that can."""
    with serve(15, tls=True) as server:
        yield server
