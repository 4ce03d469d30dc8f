"""The decision core of QStorMan for Python: see ses/core.h for what it decides and how.

The selection service and the simulator decide by it, so that they decide as programs and agents do.
What is here is over numpy arrays, and loaded when it is first named: ``ses_core.c`` needs no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ses_core.layout import (
        ELEMENT,
        NEED,
        OFFER,
        POLICY,
        REQUIREMENT,
        SAMPLE,
        VERDICT,
        Cause,
        Kind,
        Order,
        Refusal,
        State,
    )
    from ses_core.query import Query, Records, Rows, Words, defaults, need, observe, table

__all__ = [
    "ELEMENT",
    "NEED",
    "OFFER",
    "POLICY",
    "REQUIREMENT",
    "SAMPLE",
    "VERDICT",
    "Cause",
    "Kind",
    "Order",
    "Query",
    "Records",
    "Refusal",
    "Rows",
    "State",
    "Words",
    "defaults",
    "need",
    "observe",
    "table",
]

_OF_QUERY = frozenset({"Query", "Records", "Rows", "Words", "defaults", "need", "observe", "table"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module("ses_core.query" if name in _OF_QUERY else "ses_core.layout")
    value = globals()[name] = getattr(module, name)
    return value
