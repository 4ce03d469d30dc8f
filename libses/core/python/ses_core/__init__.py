"""The decision core of QStorMan for Python: see ses/core.h for what it decides and how.

The selection service and the simulator decide by it, so that they decide as programs and agents do.
"""

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
