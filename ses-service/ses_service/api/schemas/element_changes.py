"""Requests and answers about changes of elements that an administrator makes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from ses_client.messages.elements import StateName

from ses_service.api.schemas.requests import Body, Moment, Text
from ses_service.knowledge.times import moment

ElementPart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,31}$")]
SystemPart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]
Positive = Annotated[float, Field(gt=0, le=1e21)]


class DrainIn(Body):
    """Why an element takes no further files, and until when; without `until`, until it is undrained."""

    reason: Text | None = None
    until: Moment | None = None
    dry_run: bool = False


class EditIn(Body):
    """Nothing but whether it is only to be shown."""

    dry_run: bool = False


class FactsIn(Body):
    """Facts of an element; null: stated no more. Rates are bytes per second.

    `state_reason` and `state_until` go with `state`: without them it has none.
    """

    server: Text | None = None
    target: Text | None = None
    label: Text | None = None
    tier: Text | None = None
    pool: Text | None = None
    state: StateName | None = None
    state_reason: Text | None = None
    state_until: Moment | None = None
    capacity_bytes: Positive | None = None
    read_rate: Positive | None = None
    write_rate: Positive | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _state_with_its_facts(self) -> FactsIn:
        given = self.model_fields_set
        if "state" not in given and given & {"state_reason", "state_until"}:
            raise ValueError("state_reason and state_until go with state")
        for name in given & {"server", "target"}:
            if getattr(self, name) is None:
                raise ValueError(f"an element has a {name} always")
        return self

    def facts(self) -> dict[str, object]:
        """Return the facts that are given, times in seconds since the epoch."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"dry_run", "system", "name"}}
        if "state_until" in given:
            given["state_until"] = moment(given["state_until"])
        return dict(sorted(given.items()))


class AddIn(FactsIn):
    """An element to be added to a storage system."""

    system: SystemPart
    name: ElementPart
    server: Text
    target: Text
