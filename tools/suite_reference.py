"""Writes the reference of suite files from the models, to standard output: `make docs`.

Every key, its type, its default and its description stand in `groundspeed.spec` and nowhere else.
"""

from __future__ import annotations

import sys
from typing import Any

from groundspeed import presets, spec

HEAD = """\
# Suite files

<!-- Made by `make docs` from src/groundspeed/spec/models.py. Do not edit. -->

A suite is a YAML file: what is compared, under which load, how long and how often. `groundspeed
plan FILE` shows what becomes of it, and `groundspeed schema` prints its JSON Schema for editors.
A wrong key, unit or name is told with its path in the file. Durations, sizes and rates always carry
a unit. `--set key=value` changes one value, with dots between keys, as in
`--set measure.duration=2s`. Storage that is emulated is described in [Storage
profiles](profiles.md).
"""
SECTIONS = (
    ("Suite", "The whole file"),
    ("Postgres", "postgres"),
    ("EmbeddedEnvironment", "environments.NAME, target embedded"),
    ("Storage", "environments.NAME.storage"),
    ("ServerEnvironment", "environments.NAME, target server"),
    ("KubernetesEnvironment", "environments.NAME, target kubernetes"),
    ("ClusterStorage", "environments.NAME.storage and wal_storage, target kubernetes"),
    ("Gp3", "environments.NAME.storage.gp3"),
    ("Longhorn", "environments.NAME.storage.longhorn"),
    ("Weka", "environments.NAME.storage.weka"),
    ("LocalVolume", "environments.NAME.storage.local"),
    ("Resources", "environments.NAME.resources"),
    ("Placement", "environments.NAME.placement"),
    ("Service", "environments.NAME.service"),
    ("ScriptWorkload", "workloads, a script of your own"),
    ("Measure", "measure"),
    ("Bound", "measure.bound"),
    ("Pgbench", "pgbench"),
)


def kind(schema: dict[str, Any]) -> str:
    """Name the type of a value in a few words."""
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    # Ordered and each once; "null" only says that the key may be left out.
    kinds = dict.fromkeys(kind(s) for s in choices if s.get("type") != "null")
    words = {"string": "text", "integer": "whole number", "number": "number"}
    if len(kinds) == 2 and f"list of {next(iter(kinds))}" in kinds:  # noqa: PLR2004 - and its list
        text = f"{next(iter(kinds))}, or a list of them"
    elif kinds:
        text = " or ".join(kinds)
    elif "$ref" in schema:
        text = f"`{schema['$ref'].rpartition('/')[2]}`"
    elif "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        text = ", ".join(f"`{'true' if value is True else value}`" for value in values)
    elif schema.get("type") == "array":
        text = f"list of {kind(schema['items'])}"
    elif schema.get("type") == "object":
        # A mapping whose keys have a pattern has its values below that pattern.
        patterns = schema.get("patternProperties", {})
        values = schema.get("additionalProperties") or next(iter(patterns.values()), None)
        text = f"mapping of names to {kind(values)}" if isinstance(values, dict) else "mapping"
    elif "examples" in schema:
        text = f"text such as `{schema['examples'][0]}`"
    else:
        text = words.get(str(schema.get("type")), "true or false")
    return text


def default(name: str, schema: dict[str, Any], required: list[str]) -> str:
    """Write the default of a key; durations are numbers in the model and text in the file."""
    if name in required:
        return "required"
    value = schema.get("default")
    if value in (None, "", {}, []):
        return ""
    if isinstance(value, dict):
        return "see below"
    if isinstance(value, float):
        return f"`{value:g}s`"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def section(title: str, schema: dict[str, Any]) -> str:
    """Write one model as a table."""
    lines = [f"## {title}", "", schema.get("description", ""), ""]
    lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
    for name, value in schema["properties"].items():
        cells = (
            f"`{name}`",
            kind(value),
            default(name, value, schema.get("required", [])),
            value.get("description", ""),
        )
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def reference() -> str:
    """Write the whole page."""
    schema = spec.json_schema()
    models = {"Suite": schema, **schema["$defs"]}
    parts = [HEAD, *(section(title, models[name]) for name, title in SECTIONS)]
    parts.append(f"## An example: the preset quick\n\n```yaml\n{presets.read('quick')}```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(reference())
