"""Numbers as people type and read them; sizes of units come with each kind from the service."""

import math
from decimal import Decimal

from ses_client.limits import MAX_BOUND
from ses_client.messages.requirements import Requirement
from ses_client.messages.vocabulary import Kind
from ses_client.quantities import DECIMAL_SIZES, counts_bits, meant, split


class UnreadableNumberError(ValueError):
    """What was typed is not a number the form can use; the sentence says why."""


def to_canonical(value: float, unit: str, kind: Kind) -> float:
    """Convert ``value`` in ``unit`` to the kind's unit.  Raises KeyError for a unit it does not have."""
    return float(Decimal(repr(value)) * Decimal(repr(kind.size(unit))))  # 1e-9 is none as a float


def shortest_writing(value: float, kind: Kind) -> tuple[str, str]:
    """Return (number, unit) in which ``value`` (in the kind's unit) is exact and shortest to read.

    1000 MB/s becomes 1 GB/s and 1.073741824 GB becomes 1 GiB; 20 MB/s stays as it is.
    """
    best = (format(value, ".15g"), kind.unit)
    for unit in kind.choices:
        number = value / kind.size(unit)
        text = format(number, ".6g")
        exact = math.isclose(float(text), number, rel_tol=1e-12)
        if exact and "e" not in text and len(text) < len(best[0]):
            best = (text, unit)
    return best


def as_stated(requirement: Requirement, kind: Kind | None) -> tuple[str, str]:
    """Return (number, unit) of a requirement in the unit people wrote it in, as they would write it again."""
    unit = requirement.stated_unit or requirement.unit
    if kind is None or unit not in kind.sizes:
        return format(requirement.bound, ".15g"), requirement.unit
    shown = next(choice for choice in kind.choices if kind.size(choice) == kind.size(unit))
    return format(requirement.bound * kind.size(requirement.unit) / kind.size(shown), ".15g"), shown


def read_quantity(text: str, unit: str, kind: Kind) -> tuple[float, str, str]:
    """Return (value, number, unit) of ``500 MB/s``, ``1.5TiB``, or a number, which is in ``unit``.

    The number is as it was typed.  A unit in other letters than its own is understood where it can only mean
    one.  Raises UnreadableNumberError, with a sentence to show beside the field.
    """
    try:
        number, typed = split(text)
    except ValueError:
        number = typed = ""
    if not number or not typed:
        return read_number(text), text, unit
    meant = _unit_meant(typed, kind)
    if meant is None:
        raise UnreadableNumberError(_no_unit(number, typed, kind))
    return read_number(number), number, meant


def _unit_meant(typed: str, kind: Kind) -> str | None:
    """Return the unit by its symbol, else one that differs in the case of letters, unless bits are meant."""
    units = list(kind.units)
    if typed in units:
        return typed
    alike = [unit for unit in units if unit.casefold() == typed.casefold()]
    return alike[0] if len(alike) == 1 and not counts_bits(typed) else None


def _no_unit(number: str, typed: str, kind: Kind) -> str:
    try:
        near = meant(f"{read_number(number):.15g}", typed, kind.choices)
    except UnreadableNumberError:
        near = None
    bits = " counts bits, and" if near and counts_bits(typed) else ""
    step = f"Did you mean {near}?" if near else f"Write {number} {kind.unit}, for example."
    return f"“{typed}”{bits} is no unit of this. {step} Units are {', '.join(kind.choices)}."


def read_number(text: str) -> float:
    """Read a positive decimal number as people type it: ``20``, ``1.5``, ``1,5``, ``1 000``.

    Raises UnreadableNumberError, with a sentence to show beside the field, for anything else.
    """
    plain = text.strip().replace("\u00a0", "").replace("\u202f", "").replace(" ", "")
    if plain.count(",") == 1 and "." not in plain:
        whole, _, digits = plain.partition(",")
        if len(digits) == 3 and whole.lstrip("+-") not in ("", "0"):
            raise UnreadableNumberError(
                f"“{text.strip()}” could be read in two ways. Write {whole}.{digits} or {whole}{digits}."
            )
        plain = f"{whole}.{digits}"
    if not plain.isascii() or not set(plain) <= set("0123456789.+-eE"):
        raise UnreadableNumberError("Write a number, for example 20 or 1.5.")
    try:
        value = float(plain)
    except ValueError:
        raise UnreadableNumberError("Write a number, for example 20 or 1.5.") from None
    if not math.isfinite(value) or abs(value) > MAX_BOUND:
        raise UnreadableNumberError("This number is too large.")
    if value < 0:
        raise UnreadableNumberError("A requirement cannot be negative.")
    if value == 0:
        raise UnreadableNumberError("Zero asks for nothing. Leave the field empty instead.")
    return value


def show_number(value: float | None) -> str:
    """Return a number with three significant digits, grouped by thousands; a dash for None."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return format(float(format(value, ".3g")), "g")


def show_bytes(value: float | None) -> str:
    """Return a number of bytes in the decimal unit that reads best; a dash for None."""
    if value is None:
        return "–"
    unit, size = "B", 1
    for name, candidate in DECIMAL_SIZES.items():
        if abs(value) >= candidate:
            unit, size = name, candidate
    return f"{show_number(value / size)}\u00a0{unit}"


def show_quantity(value: float | None, unit: str) -> str:
    """Return MB/s as they are and GB as bytes in the unit that reads best; a dash for None."""
    if value is None:
        return "–"
    return show_bytes(value * DECIMAL_SIZES["GB"]) if unit == "GB" else f"{show_number(value)}\u00a0{unit}"
