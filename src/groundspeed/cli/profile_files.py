"""Finds a storage profile: by name in the catalogue, in a file, or written in a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundspeed.errors import SpecError
from groundspeed.storage import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.storage.profile import Profile

_SUFFIXES = (".yaml", ".yml")


def find(
    asked: str | Mapping[str, Any],
    parameters: Mapping[str, str],
    *,
    folder: Path,
    where: str | None = None,
) -> Profile:
    """Find a profile and provision it.

    `asked` is a name of the catalogue, the path of a file that ends in .yaml or .yml (relative to
    `folder`), or decoded YAML. `where` is the place that asked, for complaints. Raises SpecError.
    """
    try:
        return _find(asked, parameters, folder, where)
    except SpecError as error:
        pairs = [(error.message, error.hint), *error.further]
        first, *further = [(_placed(message, where), hint) for message, hint in pairs]
        raise SpecError(*first, further=tuple(further)) from None


def _find(
    asked: str | Mapping[str, Any], parameters: Mapping[str, str], folder: Path, where: str | None
) -> Profile:
    if not isinstance(asked, str):
        return catalogue.load(dict(asked), parameters, source=where or "profile")
    if asked.endswith(_SUFFIXES):
        path = folder / Path(asked).expanduser()
        return catalogue.parse(_read(path), parameters, source=str(path))
    return catalogue.profile(asked, parameters)


def _placed(message: str, where: str | None) -> str:
    """Begin a message with the place that asked, once."""
    return message if where is None or message.startswith(where) else f"{where}: {message}"


def assignments(given: Sequence[str]) -> dict[str, str]:
    """Read what is provisioned from "iops=16000" and the like. Raises SpecError."""
    found: dict[str, str] = {}
    for assignment in given:
        key, equals, value = assignment.partition("=")
        if not key or not equals or not value:
            raise SpecError(
                f"--set {assignment}: not an assignment", "write key=value, as in iops=16000"
            )
        if key in found:
            raise SpecError(f"--set {key}: written twice", "write each parameter once")
        found[key] = value
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8", "save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise SpecError(
            f"{path}: {reason}", "groundspeed profiles lists those that need no file"
        ) from None
