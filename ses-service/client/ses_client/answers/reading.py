"""Answers as dataclasses.  A field is read from the member of its name, or from where :class:`At` says.

A member that is missing or null is the field's default; without one ``None``, if the field may be that.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Self, Union, get_args, get_origin, get_type_hints

JSON = dict[str, Any]
_Reader = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class At:
    """Where a field is read from: names of members with dots between; none for the object itself.

    ``convert``, a function with a name of its own, makes the value of what is there, ``None`` if nothing is;
    without it the field's type does.
    """

    path: str
    convert: _Reader | None = None


class Part:
    """A dataclass that can be made from JSON."""

    __slots__ = ()

    @classmethod
    def of(cls, data: Any) -> Self:
        """Make one; raises KeyError, TypeError, ValueError or AttributeError for JSON that does not fit."""
        return cls(**{name: read(data) for name, read in _readers(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Part):
    """The whole answer to one question; ``json`` is all the service said, for programs."""

    json: JSON = field(default_factory=dict, repr=False, compare=False)


def number(value: Any) -> float:
    """Return a number; raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a number was expected, not {value!r}")
    return float(value)


def text(value: Any) -> str:
    """Return a text, an empty one for none."""
    return "" if value is None else str(value)


@cache
def _readers(kind: type[Any]) -> tuple[tuple[str, _Reader], ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple((one.name, _reader(one, hints[one.name])) for one in fields(kind) if one.name != "json")


def _reader(one: Field[Any], hint: Any) -> _Reader:
    at = At(one.name)
    if get_origin(hint) is Annotated:
        hint, at = get_args(hint)
    names = [name for name in at.path.split(".") if name]
    optional = type(None) in get_args(hint)
    convert = at.convert or _converter(hint)

    def read(data: Any) -> Any:
        for name in names:
            data = None if data is None else data.get(name)
        if data is not None or at.convert is not None:
            return convert(data)
        if one.default is MISSING and not optional:
            raise KeyError(at.path)
        return None if one.default is MISSING else one.default

    return read


def _converter(hint: Any) -> _Reader:
    """Return what makes a value of a type from one of JSON."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _converter(next(one for one in of if one is not type(None)))
    if origin is tuple and of[-1] is ...:
        each = _converter(of[0])
        return lambda values: tuple(map(each, values))
    if origin is tuple:
        every = [_converter(one) for one in of]
        return lambda values: tuple(make(value) for make, value in zip(every, values, strict=True))
    if origin is Mapping:
        value_of = _converter(of[1])
        return lambda data: {str(name): value_of(value) for name, value in data.items()}
    convert: _Reader = number if hint is float else hint
    return hint.of if issubclass(hint, Part) else convert
