"""Units people write, and their size in bytes (or bytes per second)."""

from __future__ import annotations

from ses_service.model import Kind

_PREFIXES = {
    "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip

CAPACITY_UNITS: dict[str, float] = {f"{prefix}B": size for prefix, size in _PREFIXES.items()}
RATE_UNITS: dict[str, float] = {f"{prefix}B/s": size for prefix, size in _PREFIXES.items()}

RATE_UNIT = "MB/s"
CAPACITY_UNIT = "GB"


class UnknownUnitError(ValueError):
    """The unit is not one that fits the kind of requirement."""


def units_for(kind: Kind) -> dict[str, float]:
    """Return the units a requirement of this kind may be written in, with their sizes."""
    return CAPACITY_UNITS if kind is Kind.FREE_CAPACITY else RATE_UNITS


def canonical_unit(kind: Kind) -> str:
    """Return the unit answers are given in: MB/s for rates, GB for capacity (as in the paper)."""
    return CAPACITY_UNIT if kind is Kind.FREE_CAPACITY else RATE_UNIT


def to_base(value: float, unit: str, kind: Kind) -> float:
    """Convert ``value`` written in ``unit`` to bytes or bytes per second."""
    try:
        return value * units_for(kind)[unit]
    except KeyError:
        known = ", ".join(units_for(kind))
        raise UnknownUnitError(f"unknown unit {unit!r} for {kind.value}; use one of {known}") from None


def from_base(value: float, kind: Kind) -> float:
    """Convert bytes or bytes per second to the canonical unit of the kind."""
    return value / units_for(kind)[canonical_unit(kind)]
