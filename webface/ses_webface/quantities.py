"""Kinds of requirement, the units people write them in, and how numbers are shown.

The portal keeps its own short table: parts share contracts, not code.  Rates travel as MB/s and
capacities as GB (decimal, as in the paper); ``in_unit``/``from_unit`` only change the writing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_DECIMAL = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_BINARY = {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "PiB": 2.0**50}
_SIZES = _DECIMAL | _BINARY


class UnreadableNumberError(ValueError):
    """What was typed is not a number the form can use; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of requirement: its name in the contract, its words, and its units."""

    name: str
    label: str
    hint: str
    unit: str
    units: tuple[str, ...]

    @property
    def field(self) -> str:
        """Return the kind's name as a form field's prefix."""
        return self.name.replace("-", "_")


_RATES = ("kB/s", "MB/s", "GB/s", "TB/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s")
_CAPACITIES = ("MB", "GB", "TB", "PB", "MiB", "GiB", "TiB", "PiB")

KINDS: tuple[Kind, ...] = (
    Kind("current-write-rate", "Write rate now", "What one more writer would get at this moment.",
         "MB/s", _RATES),
    Kind("current-read-rate", "Read rate now", "What one more reader would get at this moment.",
         "MB/s", _RATES),
    Kind("average-write-rate", "Write rate, average", "The same over a longer time: steadier.",
         "MB/s", _RATES),
    Kind("average-read-rate", "Read rate, average", "The same over a longer time: steadier.",
         "MB/s", _RATES),
    Kind("free-capacity", "Free space", "Room that must be left where the file goes.",
         "GB", _CAPACITIES),
)  # fmt: skip
KIND_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_label(name: str) -> str:
    """Return the words for a kind; a kind this portal does not know keeps its own name."""
    kind = KIND_BY_NAME.get(name)
    return kind.label if kind else name


def kind_rank(name: str) -> int:
    """Return where a kind comes in lists; kinds this portal does not know come last."""
    return next((rank for rank, kind in enumerate(KINDS) if kind.name == name), len(KINDS))


def _size(unit: str) -> float:
    return _SIZES[unit.removesuffix("/s")]


def to_canonical(value: float, unit: str, kind: Kind) -> float:
    """Convert ``value`` in ``unit`` to MB/s or GB.  Raises KeyError for a unit not in the table."""
    return value * _size(unit) / _size(kind.unit)


def in_unit(value: float, unit: str, kind: Kind) -> float:
    """Convert ``value`` in MB/s or GB to ``unit``."""
    return value * _size(kind.unit) / _size(unit)


def shortest_writing(value: float, kind: Kind) -> tuple[str, str]:
    """Return (number, unit) in which ``value`` (MB/s or GB) is exact and shortest to read.

    1000 MB/s becomes 1 GB/s and 1.073741824 GB becomes 1 GiB; 20 MB/s stays as it is.
    """
    best = (format(value, ".15g"), kind.unit)
    for unit in kind.units:
        number = in_unit(value, unit, kind)
        text = format(number, ".6g")
        exact = math.isclose(float(text), number, rel_tol=1e-12)
        if exact and "e" not in text and len(text) < len(best[0]):
            best = (text, unit)
    return best


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
    if not math.isfinite(value) or abs(value) > 1e15:
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
    unit, size = "B", 1.0
    for name, candidate in _DECIMAL.items():
        if abs(value) >= candidate:
            unit, size = name, candidate
    return f"{show_number(value / size)}\u00a0{unit}"


def show_quantity(value: float | None, unit: str) -> str:
    """Return MB/s as they are and GB as bytes in the unit that reads best; a dash for None."""
    if value is None:
        return "–"
    return show_bytes(value * _DECIMAL["GB"]) if unit == "GB" else f"{show_number(value)}\u00a0{unit}"
