"""What every message is: a JSON object whose members are attributes, too.

A dictionary: making and sending one costs what plain JSON costs, and what nobody here knows stays in it.
Distributions whose Python runs ``ses`` have no library of the kind, a dataclass takes 0.4 ms of its start.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

JSON = dict[str, Any]
T = TypeVar("T")
_Reader = Callable[[Any], Any]

MAY_BE_ABSENT, OR_NULL = "may be absent", "or null"
Absent = Annotated[T | None, MAY_BE_ABSENT]
"""A member that the service leaves out where there is nothing to say; all others are in every answer."""


@dataclass_transform(kw_only_default=True)
class Message(dict[str, Any]):
    """A message: its members are the annotations of its class.

    A member that an earlier service does not say is what the class gives it, else ``None`` if it may be that.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        for name in own.get("__annotations__", {}):
            setattr(cls, name, _member(name, own.get(name)))

    @classmethod
    def of(cls, data: Any) -> Self:
        """Make one of decoded JSON; raises KeyError, TypeError or ValueError for JSON that does not fit."""
        if not isinstance(data, dict):
            raise TypeError(f"an object was expected, not {data!r}")
        message = cls(data)
        for name, (convert, needed, nullable) in _readers(cls).items():
            value = data.get(name)
            if value is not None:
                message[name] = convert(value)
            elif needed:
                raise KeyError(name)
            elif not nullable:
                message.pop(name, None)
        return message

    @classmethod
    def like(cls, source: object, **members: Any) -> Self:
        """Make one of ``members`` and, for all others, the attributes of these names that ``source`` has."""
        others = (name for name in _readers(cls) if name not in members)
        return cls({**{name: getattr(source, name) for name in others}, **members})

    def but(self, **members: Any) -> Self:
        """Return a copy with other values of these members."""
        return type(self)({**self, **members})


def _member(name: str, default: Any) -> property:
    return property(lambda message: message.get(name, default))


@cache
def _readers(kind: type[Message]) -> dict[str, tuple[_Reader, bool, bool]]:
    hints = {}
    for base in reversed(kind.__mro__):
        for name, text in vars(base).get("__annotations__", {}).items():
            hints[name] = _hint(text, base.__module__)
    readers = {}
    for name, hint in hints.items():
        nullable = type(None) in get_args(hint)
        needed = not nullable and getattr(kind, name).fget({}) is None
        readers[name] = (_reader(hint), needed, nullable)
    return readers


@cache
def _hint(text: str, module: str) -> Any:
    """Return the type that an annotation names; most are those of several members."""
    return get_type_hints(types.SimpleNamespace(__annotations__={"": text}), vars(sys.modules[module]))[""]


def _reader(hint: Any) -> _Reader:
    """Return what checks a value of a type, and makes messages of the objects in it."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _reader(next(member for member in of if member is not type(None)))
    if origin is Sequence:
        each = _nullable(of[0])
        return lambda values: tuple(each(value) for value in _of_type(values, list))
    if origin is Mapping:
        each = _nullable(of[1])
        return lambda values: {name: each(value) for name, value in _of_type(values, dict).items()}
    if isinstance(hint, type) and issubclass(hint, Message):
        return hint.of
    expected: Any = {float: (int, float), int: int, bool: bool}.get(hint, str)  # all that is named is a text
    if hint is bool:
        return lambda value: _of_type(value, bool)
    return lambda value: _of_type(None if isinstance(value, bool) else value, expected)


def _nullable(hint: Any) -> _Reader:
    convert = _reader(hint)
    return (
        (lambda value: None if value is None else convert(value)) if type(None) in get_args(hint) else convert
    )


def _of_type(value: Any, expected: Any) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"{value!r} was not expected here")
    return value
