"""Members of JSON as values of a type, and the base of all answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The whole answer to one question; ``json`` is all the service said, for programs."""

    json: JSON = field(default_factory=dict, repr=False, compare=False)


def number(value: Any) -> float:
    """Return a number; raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a number was expected, not {value!r}")
    return float(value)


def maybe_number(value: Any) -> float | None:
    """Return a number, ``None`` for none."""
    return None if value is None else number(value)


def maybe_text(value: Any) -> str | None:
    """Return a text, ``None`` for none."""
    return None if value is None else str(value)


def texts(values: Any) -> tuple[str, ...]:
    """Return the texts of a list, nothing for none."""
    return tuple(str(one) for one in values or ())
