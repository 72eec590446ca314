"""A namespace of its own for each test on a real cluster; `make test-k8s` says which.

Nothing here is a stand-in: a real API server, kubelet, scheduler and PostgreSQL.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.k8s.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    name = request.node.originalname.removeprefix("test_").replace("_", "-")[:40].strip("-")
    lab = Lab(
        directory=tmp_path,
        namespace=f"gst-{name}-{secrets.token_hex(3)}",
        image=os.environ["GROUNDSPEED_K8S_IMAGE"],
        node=os.environ.get("GROUNDSPEED_K8S_NODE"),
        volumes=Path(os.environ.get("GROUNDSPEED_K8S_DIRECTORY", "/nonexistent")),
        classes=tuple(os.environ.get("GROUNDSPEED_K8S_CLASSES", "").split(",")),
    )
    with lab:
        yield lab
