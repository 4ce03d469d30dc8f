"""Amounts as people write them: ``"100GB"``, ``"1.5 TiB"``, ``"50 MB/s"``."""

from __future__ import annotations

import math
from decimal import Decimal

from ses_client.quantities import RATES, SIZES, read


def mb_per_s(name: str, amount: float | str) -> float:
    """Return a rate in MB/s: a number is one already, a text has a unit.  Raises ValueError."""
    return float(_bytes(name, amount, RATES, "50MB/s") / 10**6) if isinstance(amount, str) else float(amount)


def gb(name: str, amount: float | str) -> float:
    """Return an amount of data in GB: a number is one already, a text has a unit.  Raises ValueError."""
    return float(_bytes(name, amount, SIZES, "100GB") / 10**9) if isinstance(amount, str) else float(amount)


def whole_bytes(name: str, amount: int | str) -> int:
    """Return an amount of data in bytes, rounded up: a number is one already.  Raises ValueError."""
    return math.ceil(_bytes(name, amount, SIZES, "4MiB")) if isinstance(amount, str) else amount


def _bytes(name: str, text: str, units: dict[str, int], example: str) -> Decimal:
    try:
        number, unit = read(text)
        return number * units[unit]
    except (KeyError, ValueError):
        raise ValueError(
            f"{name}: {text!r} is not understood. Write a number and a unit, like {example}. "
            f"Units: {', '.join(units)}"
        ) from None
