"""Quantities as people write them: a number and a unit, such as ``20MB/s`` or ``1.5 TiB``.

Which units a kind of requirement has is the service's knowledge; here are those of data and rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

DECIMAL_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
SIZES = {**DECIMAL_SIZES, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
"""Units of an amount of data, in bytes: the symbols of ``ontology/units.ttl``."""
RATES = {f"{unit}/s": size for unit, size in SIZES.items()}

# Texts, since a program that reads no quantity compiles none of them.
# What stands before the first letter that begins no exponent, and what stands behind.
_QUANTITY = r"\s*([^A-Za-zµμ/%]*(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµμ/%]\S*)?\s*"
_NUMBER = r"[-+]?(?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,4})?"
_UNIT = r"(?=[kmgtpb])(?P<prefix>[kmgtp]i?(?!t)|)(?:bytes?|bits?|b|)(?:/|per|p|)(?:seconds?|secs?|s|)"


def split(text: str) -> tuple[str, str]:
    """Return number and unit as they are written, each empty where it is missing.  Raises ValueError."""
    quantity = re.fullmatch(_QUANTITY, text)
    if quantity is None:
        raise ValueError(f"{text!r} is not a number and a unit")
    return quantity[1].strip(), quantity[2] or ""


def read(text: str) -> tuple[Decimal, str]:
    """Return the number, exactly, and the unit as it is written.  Raises ValueError where one is missing."""
    from decimal import Decimal

    number, unit = split(text)
    if not unit or not re.fullmatch(_NUMBER, number):
        raise ValueError(f"{text!r} is not a number and a unit")
    return Decimal(number), unit


def counts_bits(unit: str) -> bool:
    """Return whether a unit counts bits: ``Mbit/s``, ``Mb/s``, but not ``mb/s``."""
    small = unit.casefold()
    return "bit" in small or (unit[:1].isupper() and "b" in unit and "byte" not in small)


def meant(number: str, unit: str, known: Iterable[str]) -> str | None:
    """Return a quantity in one of the known units that was probably meant, ``None`` where there is none.

    Bits are given as bytes.
    """
    units = {symbol.casefold(): symbol for symbol in known}
    spelling = re.fullmatch(_UNIT, unit.strip(), re.IGNORECASE)
    per_second = "/s" if any(symbol.endswith("/s") for symbol in units) else ""
    near = None if spelling is None else units.get(f"{spelling['prefix'].casefold()}b{per_second}")
    if near is None:
        near = units.get(unit.casefold())
        return None if near is None else f"{number}{near}"
    return f"{_eighth(number) if counts_bits(unit) else number}{near}"


def _eighth(number: str) -> str:
    return f"{float(number) / 8:.6g}"
