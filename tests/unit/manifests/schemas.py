"""What an API server would say of an object: unknown fields are refused here, not dropped.

Kinds that come with CustomResourceDefinitions are held against those; the built-in ones against the
types of the official client, which are made from the API's own description.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from kubernetes import client

CRDS = Path(__file__).parents[2] / "crds"
PLAIN = {"str": str, "int": int, "bool": bool, "object": object}


@cache
def definitions() -> dict[tuple[str, str], Any]:
    """Read the schemas in tests/crds by apiVersion and kind."""
    found = {}
    for path in sorted(CRDS.glob("*.yaml")):
        for crd in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
            for version in crd["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                found[f"{group}/{version['name']}", kind] = strict(schema)
    return found


def strict(schema: object) -> object:
    """Refuse what a schema does not name, wherever it names anything."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    is_open = made.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in made
    if isinstance(made.get("properties"), dict) and "type" in made and not is_open:
        made["additionalProperties"] = False
    return made


def complaints(obj: dict[str, Any]) -> list[str]:
    """List what is wrong with an object."""
    schema = definitions().get((obj["apiVersion"], obj["kind"]))
    if schema is not None:
        found = jsonschema.Draft202012Validator(schema).iter_errors(obj)
        return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in found]
    version = "".join(part.capitalize() for part in obj["apiVersion"].split("/")[-1:])
    return list(_differences(obj, f"{version}{obj['kind']}", obj["kind"]))


def _differences(value: object, kind: str, where: str) -> list[str]:
    listed = re.fullmatch(r"List\[(.+)\]", kind)
    if listed is not None:
        if not isinstance(value, list):
            return [f"{where}: no list"]
        return [
            s for n, each in enumerate(value) for s in _differences(each, listed[1], f"{where}.{n}")
        ]
    mapped = re.fullmatch(r"Dict\[str, (.+)\]", kind)
    if mapped is not None:
        if not isinstance(value, dict):
            return [f"{where}: no mapping"]
        return [
            s for k, each in value.items() for s in _differences(each, mapped[1], f"{where}.{k}")
        ]
    if kind in PLAIN:
        wrong = not isinstance(value, PLAIN[kind]) or (kind == "int" and isinstance(value, bool))
        return [f"{where}: {value!r} is no {kind}"] if wrong else []
    return _fields(value, getattr(client, kind), where)


def _fields(value: object, model: type, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where}: no mapping"]
    kinds = {model.attribute_map[name]: kind for name, kind in model.openapi_types.items()}
    found = [f"{where}: unknown field {key}" for key in value if key not in kinds]
    for key in value.keys() & kinds.keys():
        found += _differences(value[key], kinds[key], f"{where}.{key}")
    return found
