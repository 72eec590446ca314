"""Whatever is in an object comes back from its YAML."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.manifests.yaml_text import documents

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_objects_come_back(objects: list[dict[str, Any]]) -> None:
    assert list(yaml.safe_load_all(documents(objects))) == objects
