"""Objects as the YAML that people read and apply: many documents, keys in the usual order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groundspeed.manifests.naming import Object

# What every manifest begins with; all other keys stay in the order they were made in.
_FIRST = ("apiVersion", "kind", "metadata", "spec")
_WIDTH = 100
# PyYAML leaves these bare, and kubectl reads a number or a boolean: 1e3, 08, y.
_MISTAKEN = re.compile(r"[-+]?[.0-9][0-9a-fA-FxXoO_.+-]*|[yYnN]")
# Ends of lines that PyYAML would write as they are and not read again; quoted, they are escaped.
_ODD_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")


class _Writer(yaml.SafeDumper):
    """Writes texts of many lines as blocks, and nothing by reference to something above."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - as PyYAML has it
        return True


def _text(writer: _Writer, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _MISTAKEN.fullmatch(value) else None
    if _ODD_BREAKS.search(value):
        style = '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def documents(objects: Iterable[Object]) -> str:
    """Write objects as YAML documents, each begun by ---; the same objects give the same text."""
    return "".join(f"---\n{_document(one)}" for one in objects)


def _document(one: Object) -> str:
    first = {key: one[key] for key in _FIRST if key in one}
    ordered = first | {key: value for key, value in one.items() if key not in first}
    return yaml.dump(ordered, Dumper=_Writer, sort_keys=False, width=_WIDTH, allow_unicode=True)
