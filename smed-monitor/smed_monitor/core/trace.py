"""Reading a page by how the last one of the same layout was read.  Pure.

A collector finds its elements in a sample, adds values up and changes their units.  Done once with values
that note what becomes of them, this is known as sums of values times factors, for all elements at once.
It holds as long as every value that decided something (a flag, a comparison) says the same; whatever else
than sums and factors is made of a value counts as a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smed_monitor.core.errors import ElementMissingError
from smed_monitor.core.model import Reading
from smed_monitor.core.readings import WIDTH, Readings, Table, numbers_of, stacked


@dataclass(slots=True)
class Decisions:
    """The places whose values decided something: by being zero or not, or by what they are exactly."""

    truths: dict[int, bool] = field(default_factory=dict)
    exact: dict[int, float] = field(default_factory=dict)


class Traced(float):
    """A number that knows which values of the page it was made from, as (place, factor)."""

    terms: tuple[tuple[int, float], ...]
    values: Sequence[float]
    decisions: Decisions

    def _made(self, value: float, terms: tuple[tuple[int, float], ...]) -> Traced:
        made = Traced(value)
        made.terms, made.values, made.decisions = terms, self.values, self.decisions
        return made

    def __add__(self, other: float) -> float:
        """A sum of traced numbers is traced; with any other number it is a decision."""
        if isinstance(other, Traced):
            return self._made(float.__add__(self, other), self.terms + other.terms)
        return float.__add__(self.decided(), other)

    def __mul__(self, factor: float) -> float:
        """Traced, unless the factor comes from the page too."""
        if isinstance(factor, Traced):
            return self.decided() * factor.decided()
        return self._made(float.__mul__(self, factor), tuple((p, f * factor) for p, f in self.terms))

    def __truediv__(self, divisor: float) -> float:
        """Traced, unless the divisor comes from the page too."""
        if isinstance(divisor, Traced):
            return self.decided() / divisor.decided()
        return self._made(float.__truediv__(self, divisor), tuple((p, f / divisor) for p, f in self.terms))

    def __bool__(self) -> bool:
        """Whether it is not zero, which decides something."""
        if len(self.terms) == 1:
            self.decisions.truths[self.terms[0][0]] = float.__bool__(self)
        else:
            self.decided()
        return float.__bool__(self)

    def decided(self) -> float:
        """The plain number; whoever wants that makes something of it that cannot be traced."""
        self.decisions.exact.update((place, self.values[place]) for place, _ in self.terms)
        return float.__add__(self, 0.0)


def _deciding(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def method(self: Traced, *others: Any) -> Any:
        return plain(self.decided(), *others)

    return method


for _name in (
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__float__", "__int__"),
    *("__radd__", "__sub__", "__rsub__", "__rmul__", "__rtruediv__", "__floordiv__", "__rfloordiv__"),
    *("__mod__", "__rmod__", "__pow__", "__rpow__", "__neg__", "__abs__", "__round__", "__trunc__"),
    *("__repr__", "__str__", "__format__"),
):
    setattr(Traced, _name, _deciding(_name))


def traced(values: Sequence[float], decisions: Decisions) -> list[Traced]:
    """``values`` that know their places and note in ``decisions`` what they decide."""
    found = []
    for place, value in enumerate(values):
        one = Traced(value)
        one.terms, one.values, one.decisions = ((place, 1.0),), values, decisions
        found.append(one)
    return found


class Trace:
    """How the elements of a target were read from one layout."""

    def __init__(self, found: Sequence[Reading | ElementMissingError], decisions: Decisions) -> None:
        """``found`` was read from ``traced`` values."""
        rows = [numbers_of(each if isinstance(each, Reading) else Reading(device="")) for each in found]
        terms = [[one.terms if isinstance(one, Traced) else () for one in row] for row in rows]
        longest = max((len(each) for row in terms for each in row), default=0)
        none = (-1, 0.0)  # the place behind the last, which holds a zero
        filled = [
            [[each[k] if k < len(each) else none for each in row] for row in terms] for k in range(longest)
        ]
        pairs = np.array(filled, np.float64).reshape(longest, len(rows), WIDTH, 2)
        self._places = pairs[..., 0].astype(np.intp)
        factors = pairs[..., 1]
        self._factors = factors if np.any((factors != 1) & (self._places >= 0)) else None
        plain = [[0.0 if isinstance(one, Traced) else one for one in row] for row in rows]
        self._constant: Table = np.array(plain, np.float64).reshape(len(rows), WIDTH)
        self._form = stacked(found, self._constant)
        self._truth_places = np.array(list(decisions.truths), np.intp)
        self._truths = np.array(list(decisions.truths.values()), np.bool_)
        self._exact_places = np.array(list(decisions.exact), np.intp)
        self._exact = np.array(list(decisions.exact.values()), np.float64)

    def readings(self, values: Sequence[float]) -> Readings | None:
        """What the collector would read from ``values``; ``None`` where it might decide otherwise."""
        row = np.array([*values, 0.0])
        if not (
            np.array_equal(row[self._truth_places] != 0, self._truths)
            and np.array_equal(row[self._exact_places], self._exact)
        ):
            return None
        numbers = self._constant
        for k, places in enumerate(self._places):
            part = row[places]
            numbers = numbers + (part if self._factors is None else part * self._factors[k])
        form = self._form
        return Readings(numbers, form.devices, form.flags, form.notes, form.absent)
