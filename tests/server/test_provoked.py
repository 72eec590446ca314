"""Bottlenecks provoked on real servers: each is named, and none is given another's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.targets import emulation
from tests.server.provoked import confusion
from tests.server.provoked.cases import PROVOCATIONS, Provocation
from tests.server.provoked.driving import provoke

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.small_runs import Place


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)


@pytest.mark.parametrize("case", PROVOCATIONS, ids=lambda case: case.name.replace(" ", "-"))
def test_what_was_provoked_is_named(
    place: Place,
    case: Provocation,
    record_property: Callable[[str, object], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    found = provoke(place, case)
    named = found.diagnosis.bottleneck
    confusion.note(case, named, record_property, tmp_path_factory)
    assert named in case.named, confusion.story(found)
    assert len(found.diagnosis.clues) == 3
    assert all(clue.source for clue in found.diagnosis.clues)
    assert found.diagnosis.remedy
