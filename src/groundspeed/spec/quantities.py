"""Numbers, names and words as suite and profile files write them: each number with its unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from groundspeed import units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def from_text(parse: Callable[[str], float], example: str) -> BeforeValidator:
    """Read a number with its unit; a bare number is refused with the example."""

    def read(value: object) -> object:
        if isinstance(value, str):
            return parse(value)
        # Also refuses 60 for 60s: a bare number without its unit is how results get a thousand
        # times too good.
        msg = f"needs a unit, as in {example}"
        raise ValueError(msg)

    return BeforeValidator(read)


def _whole_seconds(value_s: float) -> float:
    if value_s < 1 or value_s != int(value_s):
        msg = "must be a whole number of seconds, at least 1s: pgbench -T takes no other"
        raise ValueError(msg)
    return value_s


def _no_repetition(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) != len(values):
        msg = "names a value twice"
        raise ValueError(msg)
    return values


def _off(value: object) -> object:
    return "off" if value is False else value


# YAML 1.1, which PyYAML reads, takes a bare off for false.
yaml_off = BeforeValidator(_off)
# The same of a choice where `no` is a word.
yaml_no = BeforeValidator(lambda value: "no" if value is False else value)


def word_or_words(
    words: Sequence[str], pattern: str
) -> tuple[BeforeValidator, AfterValidator, WithJsonSchema]:
    """Read a list of `words` or what fits a pattern, each once; one may stand without the list."""

    def read(value: object) -> object:
        return (value,) if isinstance(value, str) else value

    word = {"anyOf": [{"enum": list(words)}, {"pattern": pattern}], "type": "string"}
    schema = {"anyOf": [word, {"items": word, "type": "array", "uniqueItems": True}]}
    return BeforeValidator(read), AfterValidator(_no_repetition), WithJsonSchema(schema)


def quantity_schema(pattern: str, example: str) -> WithJsonSchema:
    """Describe a number with its unit to editors."""
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


_DURATION_PATTERN = r"^\s*[0-9]+(\.[0-9]+)?\s*(us|µs|ms|s|min|m|h)\s*$"
Duration = Annotated[
    float,
    from_text(units.parse_duration_s, "30s"),
    Field(ge=0),
    quantity_schema(_DURATION_PATTERN, "30s"),
]
PositiveDuration = Annotated[
    float,
    from_text(units.parse_duration_s, "50ms"),
    Field(gt=0),
    quantity_schema(_DURATION_PATTERN, "50ms"),
]
WholeDuration = Annotated[Duration, AfterValidator(_whole_seconds)]


def _slice(value: object) -> object:
    if value == "auto":
        return value
    if not isinstance(value, str):
        msg = "needs a unit, as in 2s, or is auto"
        raise ValueError(msg)  # noqa: TRY004 - pydantic takes a ValueError for a complaint
    return _whole_seconds(units.parse_duration_s(value))


# The word auto, or whole seconds.
Slice = Annotated[
    Literal["auto"] | float,
    BeforeValidator(_slice),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "auto", "type": "string"},
                {"type": "string", "pattern": _DURATION_PATTERN, "examples": ["2s"]},
            ]
        }
    ),
]


def _ratio(text: str) -> float:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", text)
    if match is None:
        msg = f"{text!r} is not a share: write it as in 3%"
        raise ValueError(msg)
    return float(match[1]) / 100


# More than half would call twice as fast the same.
Margin = Annotated[
    float,
    from_text(_ratio, "3%"),
    Field(gt=0, le=0.5),
    quantity_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$", "3%"),
]


def _searchable(ratio: float) -> float:
    # Finer than slices of a busy machine can tell, or coarser than a halving.
    if not 0.05 <= ratio <= 0.5:  # noqa: PLR2004 - both ends are in the message
        msg = "must be from 5% to 50%: finer takes more slices than a run has"
        raise ValueError(msg)
    return ratio


Within = Annotated[
    float,
    from_text(_ratio, "10%"),
    AfterValidator(_searchable),
    quantity_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$", "10%"),
]
Rate = Annotated[
    float,
    from_text(units.parse_rate_per_s, "500/s"),
    Field(gt=0),
    quantity_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*/\s*(s|min|m|h)\s*$", "500/s"),
]
Size = Annotated[
    int,
    from_text(units.parse_bytes, "8GiB"),
    Field(gt=0),
    quantity_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*([kKMGT]i?B|B)\s*$", "8GiB"),
]


def _cores(value: object) -> object:
    """Read processors as Kubernetes writes them: 2, 0.5 or 500m."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]{1,3})?|[0-9]+m)\s*", str(value))
    if match is None or isinstance(value, bool):
        msg = f"{value!r} is no number of cores: write it as in 2, 0.5 or 500m"
        raise ValueError(msg)
    text = match[1]
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


Cores = Annotated[
    float,
    BeforeValidator(_cores),
    Field(gt=0),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,3})?$|^[0-9]+m$"},
            ],
            "examples": [2, "500m"],
        }
    ),
]
Count = Annotated[int, Field(ge=1, strict=True)]
Counts = Annotated[tuple[Count, ...], Field(min_length=1), AfterValidator(_no_repetition)]
Name = Annotated[
    str, Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")
]
