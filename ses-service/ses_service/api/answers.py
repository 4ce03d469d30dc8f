"""What the contract says of answers: the messages of :mod:`ses_client.messages` as schemas.

Nothing here is needed to answer: the schemas are made where the document is asked for.
"""

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from ses_client import messages
from ses_client.messages.access import Problem
from ses_client.messages.message import MAY_BE_ABSENT, OR_NULL, Message

from ses_service.api.schemas.kinds import shown_units, without_defaults
from ses_service.api.schemas.requests import KindName, Moment, ScopeName
from ses_service.ledger.ordered_by import OrderName

Json: TypeAlias = dict[str, Any]

_NAMED: dict[str, Any] = {
    "Fifths": Annotated[list[int], Field(min_length=6, max_length=6)],
    "KindName": KindName,
    "Moment": Moment,
    "OrderName": OrderName,
    "ScopeName": ScopeName,
    "ShownUnit": Annotated[str, Field(json_schema_extra=shown_units)],
}


def add_messages(schemas: Json, named: Iterator[str]) -> None:
    """Add the schemas of messages that the document names and does not have."""
    known = _messages()
    for name in set(named) - schemas.keys():
        schema = _model(known[name]).model_json_schema(ref_template="#/components/schemas/{model}")
        for nested, definition in schema.pop("$defs", {}).items():
            schemas.setdefault(nested, definition)
        schemas[name] = schema


def _messages() -> dict[str, type[Message]]:
    modules = [import_module(f"{messages.__name__}.{info.name}") for info in iter_modules(messages.__path__)]
    members = [member for module in modules for member in vars(module).values()]
    return {
        member.__name__: member
        for member in members
        if isinstance(member, type) and issubclass(member, Message)
    }


@cache
def _model(kind: type[Message]) -> type[BaseModel]:
    members: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        shown = _type(hint)
        if MAY_BE_ABSENT in marks and OR_NULL not in marks:
            shown = Union[tuple(part for part in get_args(shown) if part is not type(None))]  # noqa: UP007
        members[name] = (shown, None if MAY_BE_ABSENT in marks else ...)
    config = ConfigDict(extra="ignore" if kind is Problem else "forbid", json_schema_extra=without_defaults)
    return create_model(kind.__name__, __config__=config, __doc__=kind.__doc__, **members)


def _type(hint: Any) -> Any:
    origin, of = get_origin(hint), get_args(hint)
    if origin is Annotated:
        words = (argument if get_origin(argument) is Literal else _NAMED.get(argument) for argument in of[1:])
        return next((word for word in words if word is not None), None) or _type(of[0])
    if origin in (Union, types.UnionType):
        return Union[tuple(_type(argument) for argument in of)]  # noqa: UP007
    if origin is Sequence:
        return list[_type(of[0])]  # type: ignore[misc]
    if origin is Mapping:
        return dict[_type(of[0]), _type(of[1])]  # type: ignore[misc]
    return _model(hint) if isinstance(hint, type) and issubclass(hint, Message) else hint
