"""Units as people write them, and which of those that are known was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WRITTEN = re.compile(
    r"(?=[kmgtpb])(?P<prefix>[kmgtp]i?(?!t)|)(?:bytes?|bits?|b|)(?:/|per|p|)(?:seconds?|secs?|s|)",
    re.IGNORECASE,
)


def counts_bits(unit: str) -> bool:
    """Return whether a unit counts bits: ``Mbit/s``, ``Mb/s``, but not ``mb/s``."""
    small = unit.casefold()
    return "bit" in small or (unit[:1].isupper() and "b" in unit and "byte" not in small)


def meant(number: str, unit: str, known: Iterable[str]) -> str | None:
    """Return a quantity in one of the known units that was probably meant, ``None`` where there is none.

    Bits are told as bytes.
    """
    units = {one.casefold(): one for one in known}
    found = _WRITTEN.fullmatch(unit.strip())
    per_second = "/s" if any(one.endswith("/s") for one in units) else ""
    near = None if found is None else units.get(f"{found['prefix'].casefold()}b{per_second}")
    if near is None:
        near = units.get(unit.casefold())
        return None if near is None else f"{number}{near}"
    return f"{_eighth(number) if counts_bits(unit) else number}{near}"


def _eighth(number: str) -> str:
    return f"{float(number) / 8:.6g}"
