"""Kinds of requirement, what they are measured in, and requirements under a name.

Which kinds there are is data (``ontology/``, read by :mod:`ses_service.knowledge.vocabulary`).  Only those
whose values the load model predicts are named here, because it computes each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ses_client.quantities import counts_bits, meant


class Kind(str):
    """A kind of requirement: its name, with what a decision must know of it.

    ``at_most``: a requirement is a maximum and no minimum.  ``unit`` is the symbol of the unit
    answers are given in, and ``size`` how many base units (bytes, bytes per second, seconds, ...) it is.
    Equal to every text that is its name.
    """

    __slots__ = ("at_most", "size", "unit")

    at_most: bool
    size: float
    unit: str

    CURRENT_READ_RATE: ClassVar[Kind]
    AVERAGE_READ_RATE: ClassVar[Kind]
    CURRENT_WRITE_RATE: ClassVar[Kind]
    AVERAGE_WRITE_RATE: ClassVar[Kind]
    FREE_CAPACITY: ClassVar[Kind]

    def __new__(cls, name: str, unit: str, size: float, *, at_most: bool = False) -> Kind:
        """Make a kind."""
        kind = super().__new__(cls, name)
        kind.unit, kind.size, kind.at_most = unit, size, at_most
        return kind

    @property
    def value(self) -> str:
        """The name, as a plain text."""
        return str.__str__(self)

    @property
    def bound_name(self) -> str:
        """What people and messages call the number of a requirement of it."""
        return "maximum" if self.at_most else "minimum"

    @property
    def record(self) -> str:
        """The kind as records keep it: of one that is not predicted, all that is known of it."""
        if self in PREDICTED:
            return self.value
        return f"{self.value} {'<=' if self.at_most else '>='} {self.size!r} {self.unit}"

    @classmethod
    def of_record(cls, text: str) -> Kind:
        """Return the kind of a record, whether or not it is described any more.  Raises ValueError."""
        for kind in PREDICTED:
            if kind == text:
                return kind
        name, direction, size, unit = text.split(" ", 3)
        return cls(name, unit, float(size), at_most=direction == "<=")

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Callable[[type], Any]) -> Any:
        """Tell pydantic, with which the database's records are made, how a kind is kept in them."""
        as_text = {
            "type": "function-plain",
            "function": lambda kind: kind.record,
            "return_schema": handler(str),
        }
        from_record = {"type": "no-info", "function": cls.of_record}
        return {
            "type": "function-after",
            "function": from_record,
            "schema": handler(str),
            "serialization": as_text,
        }


Kind.CURRENT_READ_RATE = Kind("current-read-rate", "MB/s", 1e6)
Kind.AVERAGE_READ_RATE = Kind("average-read-rate", "MB/s", 1e6)
Kind.CURRENT_WRITE_RATE = Kind("current-write-rate", "MB/s", 1e6)
Kind.AVERAGE_WRITE_RATE = Kind("average-write-rate", "MB/s", 1e6)
Kind.FREE_CAPACITY = Kind("free-capacity", "GB", 1e9)

PREDICTED = (
    Kind.CURRENT_READ_RATE,
    Kind.AVERAGE_READ_RATE,
    Kind.CURRENT_WRITE_RATE,
    Kind.AVERAGE_WRITE_RATE,
    Kind.FREE_CAPACITY,
)
"""The kinds of the QStorMan paper (section 4.1), in its order: the load model predicts them."""

WRITE_RATES = (Kind.CURRENT_WRITE_RATE, Kind.AVERAGE_WRITE_RATE)
CURRENT_RATES = (Kind.CURRENT_WRITE_RATE, Kind.CURRENT_READ_RATE)
RATES = (
    Kind.CURRENT_WRITE_RATE,
    Kind.AVERAGE_WRITE_RATE,
    Kind.CURRENT_READ_RATE,
    Kind.AVERAGE_READ_RATE,
)


def in_order(kinds: Mapping[Kind, object]) -> list[Kind]:
    """Return the kinds of a mapping: the predicted ones as above, then the others by name."""
    predicted = [kind for kind in PREDICTED if kind in kinds]
    if len(predicted) == len(kinds):
        return predicted
    return predicted + sorted(kind for kind in kinds if kind not in PREDICTED)


class UnknownKindError(ValueError):
    """No such kind of requirement is described."""


class UnknownUnitError(ValueError):
    """The unit is not one that fits the kind of requirement."""


@dataclass(frozen=True, slots=True)
class KindDescription:
    """What people and the edges must know of a kind.

    ``units`` are the symbols it may be written in, each with its size in base units, the smallest
    first.  ``weight`` is that of requirements that state none.  ``spellings`` are other names it is
    understood by.
    """

    kind: Kind
    label: str
    definition: str
    units: Mapping[str, float]
    weight: float = 1.0
    spellings: tuple[str, ...] = ()

    def to_base(self, value: float, unit: str) -> float:
        """Convert ``value`` written in ``unit`` to base units.  Raises UnknownUnitError."""
        try:
            return value * self.units[unit]
        except KeyError:
            near = meant(f"{value:.15g}", unit, self.units)
            bits = "it counts bits; " if near and counts_bits(unit) else ""
            hint = f"did you mean {near}? " if near else ""
            known = ", ".join(self.units)
            raise UnknownUnitError(
                f"unknown unit {unit!r} for {self.kind}; {bits}{hint}use one of {known}"
            ) from None
