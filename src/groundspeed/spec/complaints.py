"""What is wrong with a file, in its own words: a path in it, what, and what to write instead.

For suites, and for any other file that is decoded with pydantic.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import BaseModel

from groundspeed.spec.designs import Bound
from groundspeed.spec.environments import EmbeddedEnvironment, ServerEnvironment
from groundspeed.spec.kubernetes import (
    ABSOLUTE,
    OBJECT_NAME,
    SECRET_KEY,
    KubernetesEnvironment,
)
from groundspeed.spec.models import Suite
from groundspeed.spec.workloads import ScriptWorkload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import ValidationError

# Discriminators and tags that pydantic puts in a path although no file has them.
_TARGETS: dict[str, type[BaseModel]] = {
    "embedded": EmbeddedEnvironment,
    "server": ServerEnvironment,
    "kubernetes": KubernetesEnvironment,
}
_TAGS = {*_TARGETS, "built-in", "script", "word", "list", "setting"}
_SETTING_TYPES = {"str", "int", "float", "bool"}
# Kinds of errors of pydantic that speak of Python, in words of a YAML file: what and hint.
_WORDS = {
    "tuple_type": ("not a list", "write a list, as in [1, 8]"),
    "model_type": ("not a mapping", "write keys and values below it"),
    "model_attributes_type": ("not a mapping", "write keys and values below it"),
    "dict_type": ("not a mapping", "write keys and values below it"),
    "mapping_type": ("not a mapping", "write keys and values below it"),
    "too_short": ("empty", "name at least one"),
    "int_type": ("not a whole number", "write a whole number, without quotes"),
    "int_parsing": ("not a whole number", "write a whole number, without quotes"),
    "int_from_float": ("not a whole number", "write a whole number, without quotes"),
    "string_type": ("not text", "write text, in quotes where it looks like a number"),
    "string_too_short": ("empty", "write a name"),
    "setting_type": ("not a value", "write text, a number, true or false"),
}
_PATTERNS = {
    OBJECT_NAME: (
        "not a name that Kubernetes has",
        "write lower-case letters, digits, - and . in between",
    ),
    SECRET_KEY: ("not a key of a Secret", "write letters, digits, -, _ and ."),
    ABSOLUTE: ("not an absolute path", "begin it with /"),
}
_TAGGED_FIELDS = {"environments", "workloads", "threads", "vary"}
_PROFILE_TAGS = {"named", "inline"}


class Form(NamedTuple):
    """What is decoded: what the whole is called, the keys known at a path, and where to look."""

    whole: str
    keys_at: Callable[[Sequence[str | int]], Sequence[str]]
    see: str


def complaints(
    source: str, error: ValidationError, form: Form | None = None
) -> tuple[tuple[str, str], ...]:
    """Word every error of a validation as a pair of message and hint, at least one.

    `source` is the name of the file that messages start with. Without a form it is a suite.
    """
    form = form or Form("suite", _keys_at, "see docs/suite.md or groundspeed schema")
    return tuple(_complaint(source, item, form) for item in _without_echoes(error))


def _without_echoes(error: ValidationError) -> list[dict[str, Any]]:
    """List errors, less those that only follow from another or say the same again.

    After a wrong item pydantic also finds the list empty, and of a value that fits no member of a
    union it says so once for each member.
    """
    items: list[dict[str, Any]] = [dict(item) for item in error.errors()]
    places = [item["loc"] for item in items]
    kept: dict[object, dict[str, Any]] = {}
    for item in items:
        place = item["loc"]
        inner = any(len(other) > len(place) and other[: len(place)] == place for other in places)
        if item["type"] == "too_short" and inner:
            continue
        if place[-1:] and place[-1] in _SETTING_TYPES and {"settings", "provision"} & {*place}:
            item["loc"], item["type"] = place[:-1], "setting_type"
        kept.setdefault((item["loc"], item["type"]), item)
    return list(kept.values())


def _complaint(  # noqa: PLR0911 - a kind of complaint, a line
    source: str, error: dict[str, Any], form: Form
) -> tuple[str, str]:
    location = [
        part
        for before, part in zip(("", *error["loc"]), error["loc"], strict=False)
        if part != "[key]" and not (before == "emulate" and part in _PROFILE_TAGS)
    ]
    shown = [
        str(part)
        for index, part in enumerate(location)
        if not (part in _TAGS and index in (1, 2) and location[0] in _TAGGED_FIELDS)
        or (location[0] == "environments" and index == 1)
    ]
    path = ".".join(shown) or form.whole
    where = f"{source}: {path}"
    kind = error["type"]
    if kind == "extra_forbidden":
        known = form.keys_at(location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
        return f"{where}: no such key", hint
    if kind == "missing":
        return f"{where}: missing", f"add the key {str(location[-1])!r}"
    if kind == "union_tag_not_found":
        return f"{where}: target is missing", f"write target: {' or target: '.join(_TARGETS)}"
    if kind == "union_tag_invalid":
        given = str(error["ctx"]["tag"])
        return f"{where}: no target {given!r}", _nearest(given, list(_TARGETS))
    if kind == "literal_error":
        given, expected = _plain(error["input"]), _plain(error["ctx"]["expected"])
        choices = [word.strip("' ") for word in expected.replace(" or ", ", ").split(",")]
        return f"{where}: {given!r} is not known", _nearest(given, choices)
    known_words = _WORDS.get(kind) or _PATTERNS.get(error.get("ctx", {}).get("pattern"))
    if known_words is not None:
        return f"{where}: {known_words[0]}", known_words[1]
    message = str(error["msg"]).removeprefix("Value error, ")
    what, _, advice = message.partition(": ")
    if kind == "value_error" and advice:
        return f"{where}: {what}", advice
    return f"{where}: {message[:1].lower()}{message[1:]}", form.see


def _plain(value: object) -> str:
    """Write a value as YAML has it."""
    return {"True": "true", "False": "false"}.get(str(value), str(value))


def _nearest(given: str, choices: Sequence[str]) -> str:
    near = difflib.get_close_matches(given, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else f"write one of {', '.join(choices)}"


def _keys_at(location: Sequence[str | int]) -> list[str]:
    """List the keys that the model at a path of a validation error knows."""
    model: type[BaseModel] = Suite
    if len(location) > 2 and location[0] == "environments":  # noqa: PLR2004 - its name, its target
        model = _below(_TARGETS[str(location[2])], location[3:])
    elif location and location[0] == "workloads":
        model = ScriptWorkload
    elif "bound" in location[1:]:
        model = Bound
    elif location:
        field = Suite.model_fields.get(str(location[0]))
        annotation = field.annotation if field else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return [
        field.alias or name
        for name, field in model.model_fields.items()
        # What is left out of what is written: passwords, and what is not understood there.
        if not field.exclude
    ]


def _below(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """Follow a path down from a model to the one that its last key belongs to."""
    for part in path:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if (field := fields.get(str(part))) is None:
            break
        choices = (field.annotation, *get_args(field.annotation))
        model = next(
            (c for c in choices if isinstance(c, type) and issubclass(c, BaseModel)), model
        )
    return model
