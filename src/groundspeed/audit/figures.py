"""Numbers as they are printed: a value, and how far the truth may lie from it.

"1,159" is anything from 1158.5 to 1159.5, "1.2k" from 1150 to 1250. Decimal, so that the digits are
those on the page. Spans (closed intervals) carry that through every ratio, so that a statement is
objected to only where no rounding of its inputs can make it true.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Decimal
from enum import StrEnum

import msgspec

_HALF = Decimal("0.5")
HUNDRED = Decimal(100)


class Mark(StrEnum):
    """What stands before the decimals."""

    POINT = "."
    COMMA = ","


class Span(msgspec.Struct, frozen=True):
    """A closed interval; low <= high."""

    low: Decimal
    high: Decimal

    def meets(self, other: Span) -> bool:
        """Tell whether the two have a value in common."""
        return self.low <= other.high and other.low <= self.high

    def over(self, other: Span) -> Span:
        """Divide two positive spans."""
        return Span(self.low / other.high, self.high / other.low)

    def times(self, other: Span) -> Span:
        """Multiply two positive spans."""
        return Span(self.low * other.low, self.high * other.high)

    def scaled(self, factor: Decimal, shift: Decimal = Decimal(0)) -> Span:
        """Apply factor * x + shift; a negative factor turns it round."""
        ends = sorted((self.low * factor + shift, self.high * factor + shift))
        return Span(ends[0], ends[1])

    @property
    def size(self) -> Span:
        """Drop the sign."""
        if self.low >= 0:
            return self
        if self.high <= 0:
            return Span(-self.high, -self.low)
        return Span(Decimal(0), max(-self.low, self.high))


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A printed number; `half` is half a unit of its last printed place, in the same unit."""

    value: Decimal
    half: Decimal
    text: str

    @property
    def span(self) -> Span:
        """All values that are printed like this."""
        return Span(self.value - self.half, self.value + self.half)

    @property
    def digits_count(self) -> int:
        """Count the significant digits that were printed."""
        return len(re.sub(r"\D", "", self.text).lstrip("0"))

    def scaled(self, factor: Decimal) -> Figure:
        """Turn it into another unit; the text stays what was printed."""
        return Figure(value=self.value * factor, half=self.half * abs(factor), text=self.text)

    def widened(self, half: Decimal) -> Figure:
        """Allow it to be `half` off, where that is more than its digits say."""
        return Figure(value=self.value, half=max(self.half, half), text=self.text)

    def cut_from(self, value: Decimal) -> bool:
        """Tell whether dropping the further digits of `value`, unrounded, gives this figure."""
        unit = self.half * 2
        if unit == 0:
            return False
        return (value / unit).to_integral_value(ROUND_DOWN) * unit == self.value


_GROUP = "[\u00a0\u202f\u2009'\u2019]"
POINT_NUMBER = rf"\d{{1,3}}(?:(?:,|{_GROUP})\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
COMMA_NUMBER = rf"\d{{1,3}}(?:(?:\.|{_GROUP})\d{{3}})+(?:,\d+)?|\d+(?:,\d+)?"
NUMBER = {Mark.POINT: f"(?:{POINT_NUMBER})", Mark.COMMA: f"(?:{COMMA_NUMBER})"}
_STEPS = {"k": Decimal(1000), "K": Decimal(1000), "M": Decimal(1_000_000)}


def number(text: str, mark: Mark, step: str = "") -> Figure:
    """Read the digits of a number that matches NUMBER[mark]; `step` is "", "k", "K" or "M"."""
    bare = re.sub(_GROUP + "| ", "", text)
    bare = bare.replace(",", "") if mark is Mark.POINT else bare.replace(".", "").replace(",", ".")
    value = Decimal(bare)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 - the pattern admits no NaN
    factor = _STEPS.get(step, Decimal(1))
    half = _HALF * Decimal(1).scaleb(exponent)
    return Figure(value=value * factor, half=half * factor, text=text + step)


def rounded_in_prose(figure: Figure) -> Figure:
    """Widen a whole number that ends in zeros: "1,200" may be said for 1,159.

    Half the unit of its last digit that is no zero, for "1,200" 50 and for "1,000" as well 50.
    """
    whole = int(figure.value)
    if figure.value != whole or whole < HUNDRED:
        return figure
    zeros = len(str(whole)) - len(str(whole).rstrip("0"))
    places = min(zeros, len(str(whole)) - 2)
    return figure.widened(_HALF * Decimal(10) ** places) if places else figure


def guess_mark(texts: list[str]) -> Mark | None:
    """Tell the decimal mark from numbers that admit one reading; None where none does, or both."""
    joined = [re.sub(r"[^\d.,]", "", text) for text in texts]
    comma = sum(bool(re.fullmatch(r"\d{1,3}(\.\d{3})*,(\d{1,2}|\d{4,})", t)) for t in joined)
    comma += sum(bool(re.fullmatch(r"0,\d+|\d{1,3}(\.\d{3}){2,}", t)) for t in joined)
    point = sum(bool(re.fullmatch(r"\d{1,3}(,\d{3})*\.(\d{1,2}|\d{4,})", t)) for t in joined)
    point += sum(bool(re.fullmatch(r"0\.\d+|\d{1,3}(,\d{3}){2,}", t)) for t in joined)
    if bool(comma) == bool(point):
        return None
    return Mark.COMMA if comma else Mark.POINT


def show(value: Decimal, digits: int = 4) -> str:
    """Write a number for people: so many significant digits, whole ones in full."""
    if value == 0:
        return "0"
    decimals = max(digits - 1 - value.adjusted(), 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
