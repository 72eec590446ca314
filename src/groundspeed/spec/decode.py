"""YAML text becomes a checked `Suite`; values given on the command line go in before the check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError

from groundspeed.errors import SpecError
from groundspeed.spec import conninfo
from groundspeed.spec.complaints import complaints
from groundspeed.spec.models import Suite

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML as the standard says: a key written twice is an error, not the last one's victory."""

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 - PyYAML's signature
    ) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = str(self.construct_object(key_node, deep=True))
            if key in seen:
                problem = f"the key {key!r} is written twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def parse_yaml(text: str, source: str) -> object:
    """Read YAML in which no key is written twice. Raises SpecError with line and column."""
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        message = f"{where}: {error.problem or 'not YAML'}"
        raise SpecError(message, "mend the YAML at that place") from None
    except yaml.YAMLError:
        raise SpecError(f"{source}: not YAML", "write UTF-8 text in YAML") from None


def apply_override(data: dict[str, Any], assignment: str) -> None:
    """Set one value in decoded YAML from "a.b=value"; the value is read as YAML.

    Raises SpecError when it is not an assignment, runs through a scalar, or carries a password.
    """
    key, equals, text = assignment.partition("=")
    if not equals or not key:
        raise SpecError(
            f"--set {key}: not an assignment", "write key=value, as in measure.duration=2s"
        )
    *parents, last = key.split(".")
    if last == "password" or (last == "dsn" and "password" in _dsn_keys(text)):
        raise SpecError(*_seen_by_everyone(key))
    place: Any = data
    for parent in parents:
        place = place.setdefault(parent, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise SpecError(f"--set {key}: there is nothing to set below it", "see groundspeed schema")
    value = parse_yaml(text, f"--set {key}")
    if _holds_password(value):
        raise SpecError(*_seen_by_everyone(key))
    place[last] = value


def _seen_by_everyone(key: str) -> tuple[str, str]:
    return (
        f"--set {key}: a password on the command line is seen by everyone on this machine",
        "leave it out and name an environment variable in password_env",
    )


def _holds_password(value: object) -> bool:
    """Tell whether a decoded value holds an environment with a password, however deep."""
    if not isinstance(value, dict):
        return False
    dsn = value.get("dsn")
    return (
        "password" in value
        or (isinstance(dsn, str) and "password" in _dsn_keys(dsn))
        or any(map(_holds_password, value.values()))
    )


def _dsn_keys(dsn: str) -> Iterable[str]:
    try:
        return conninfo.parameters_of(dsn)
    except ValueError:
        # The URL of another engine's server.
        return () if urlsplit(dsn).password is None else ("password",)


def load_suite(text: str, *, source: str, overrides: Sequence[str] = ()) -> Suite:
    """Decode and check a suite.

    `text` is YAML, `source` the name that complaints start with, `overrides` are "key=value" with
    dotted keys. Raises SpecError with every complaint found.
    """
    data = parse_yaml(text, source)
    if not isinstance(data, dict):
        raise SpecError(f"{source}: not a suite", "a suite file starts with  suite: NAME")
    for assignment in overrides:
        apply_override(data, assignment)
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        first, *further = complaints(source, error)
        raise SpecError(*first, further=tuple(further)) from None
