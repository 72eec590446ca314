from __future__ import annotations

import yaml

from groundspeed.manifests.yaml_text import documents

SCRIPT = "set -eu\necho one\n"


def test_keys_come_in_the_usual_order() -> None:
    text = documents([{"spec": {"b": 1, "a": 2}, "metadata": {"name": "x"}, "kind": "K"}])
    assert text == "---\nkind: K\nmetadata:\n  name: x\nspec:\n  b: 1\n  a: 2\n"


def test_texts_of_many_lines_are_blocks() -> None:
    text = documents([{"kind": "K", "data": {"run": SCRIPT}}])
    assert "run: |\n    set -eu\n    echo one\n" in text


def test_what_kubectl_would_read_as_a_number_is_quoted() -> None:
    values = ["1e3", "08", "0x1f", "1_000", "y", "off", "null", "123e4567", ".5", "+1"]
    text = documents([{"kind": "K", "data": dict(enumerate(values))}])
    for value in values:
        assert f": '{value}'\n" in text


def test_nothing_refers_to_something_above() -> None:
    shared = {"app": "x"}
    text = documents([{"kind": "K", "a": shared, "b": shared}])
    assert "&" not in text
    assert list(yaml.safe_load_all(text)) == [{"kind": "K", "a": shared, "b": shared}]
