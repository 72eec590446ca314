"""An API server of one's own for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kube_server import KubeServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.kube.client import Client


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with KubeServer() as found:
        yield found


@pytest.fixture
def api(server: KubeServer) -> Client:
    return server.client()
