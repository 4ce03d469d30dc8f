"""Requests and answers about changes of elements that an administrator makes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ses_service.api.schemas.answers import Answer, LevelName, StateName
from ses_service.api.schemas.knowledge import ChangeMade
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

    def said(self) -> dict[str, object]:
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


class MovedSet(Answer):
    """A requirement set whose next file would go elsewhere; `instead` null: no other element may take it."""

    level: LevelName
    name: str
    distance: float
    instead: str | None
    distance_instead: float | None


class Effect(Answer):
    """What depends on the element, by loads as they are now, before the change.

    `moved` are the requirement sets whose next file in this storage system would have gone there: of
    `requirement_sets_asked`, the first of `requirement_sets` in order. `other_elements` of the storage system
    would still take a file.
    """

    open_placements: int
    open_in_system: int
    other_elements: int
    requirement_sets: int
    requirement_sets_asked: int
    moved: list[MovedSet]


class ElementChangeMade(ChangeMade):
    """What was, or with `dry_run` would be, changed, and what depends on the element where it loses files."""

    element: str
    effect: Effect | None
