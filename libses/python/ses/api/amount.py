"""Amounts as people write them: ``"100GB"``, ``"1.5 TiB"``, ``"50 MB/s"``."""

from __future__ import annotations

import math
import re
from decimal import Decimal

SIZES = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip
"""Units of an amount of data, in bytes: the symbols of ``ontology/units.ttl``."""

_WRITTEN = re.compile(r"\s*(-?\d{1,30}(?:\.\d{1,30})?)\s*([A-Za-z]+)(/s)?\s*", re.ASCII)


def mb_per_s(name: str, amount: float | str) -> float:
    """Return a rate in MB/s: a number is one already, a text has a unit.  Raises ValueError."""
    return float(_bytes(name, amount, "/s", "50MB/s") / 10**6) if isinstance(amount, str) else float(amount)


def gb(name: str, amount: float | str) -> float:
    """Return an amount of data in GB: a number is one already, a text has a unit.  Raises ValueError."""
    return float(_bytes(name, amount, None, "100GB") / 10**9) if isinstance(amount, str) else float(amount)


def whole_bytes(name: str, amount: int | str) -> int:
    """Return an amount of data in bytes, rounded up: a number is one already.  Raises ValueError."""
    return math.ceil(_bytes(name, amount, None, "4MiB")) if isinstance(amount, str) else amount


def _bytes(name: str, text: str, per: str | None, example: str) -> Decimal:
    found = _WRITTEN.fullmatch(text)
    if found is None or found[2] not in SIZES or found[3] != per:
        units = ", ".join(f"{unit}{per or ''}" for unit in SIZES)
        raise ValueError(
            f"{name}: {text!r} is not understood. Write a number and a unit, like {example}. Units: {units}"
        )
    return Decimal(found[1]) * SIZES[found[2]]
