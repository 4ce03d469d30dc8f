"""What services tell each other, and what is known of the sizes of files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ses_service.api.schemas.answers import Answer
from ses_service.api.schemas.nodes import Id, Time
from ses_service.api.schemas.requests import Body, Bytes, ElementId, Query, Text
from ses_service.ledger.peer_placements import Change

MOST_CHANGES = 10_000
MOST_STRIPES = 2000


class LedgerChange(Body):
    """How a placement stands.  `stripes` are the ids of all its elements; none when it has ended."""

    placement_id: Id
    node: Text | None = None
    stripes: Annotated[list[ElementId], Field(max_length=MOST_STRIPES, default_factory=list)]
    booked_at: Time = 0.0
    expected_bytes: Bytes | None = None
    state: Literal["open", "ended"]

    @model_validator(mode="after")
    def _somewhere(self) -> LedgerChange:
        if self.state != "ended" and not self.stripes:
            raise ValueError("a placement that has not ended is on an element")
        return self

    def to_model(self) -> Change:
        """Return it as the core knows it."""
        elements = () if self.state == "ended" else tuple(self.stripes)
        return Change(self.placement_id, elements, self.booked_at, self.node, self.expected_bytes)


class LedgerChanges(Body):
    """Changes in order.  `origin` is the `instance` of the service that tells them.

    `sequence` grows by one with each message; `full`: what was told before does not count any more.
    """

    origin: Id
    sequence: Annotated[int, Field(ge=1, lt=2**53)]
    full: bool = False
    changes: Annotated[list[LedgerChange], Field(max_length=MOST_CHANGES, default_factory=list)]


class ChangesTaken(Answer):
    """Whether they were taken; `resync`: no, a message before is missing, so tell everything again."""

    instance: str
    resync: bool


class SizesQuery(Query):
    """Whose sizes to list; without a user everybody's."""

    user: Text | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class SizesOut(Answer):
    """What is known of the sizes of one kind of file.  `median_bytes` is what a decision counts on.

    `application` is null for programs without a name, `pattern` for all files of the application.
    """

    user: str
    application: str | None
    pattern: str | None
    count: int
    median_bytes: float
    last_bytes: float
    last_at: float


class SizeList(Answer):
    """Sizes of files, what was learned last first."""

    sizes: list[SizesOut]
