"""Changes of single elements: drain, undrain, add, change, remove.

Administrators only, by themselves or in a portal, which names them.

Each is a change of the knowledge base like an import: checked against the shapes, made as a whole or not at
all, recorded in the history, undone there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ParamSpec

from flask import Response
from pydantic import Field, model_validator
from ses_client.messages.elements import StateName
from ses_client.messages.knowledge import Effect, ElementChangeMade, MovedSet

from ses_service.api import render, render_changes
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import must_name_a_person
from ses_service.api.problems import invalid, invalid_description
from ses_service.api.schemas.requests import Body, Moment, Text
from ses_service.decision.without_element import Moved
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange import element_edits
from ses_service.knowledge.exchange.element_edits import ElementName, SiteEdit
from ses_service.knowledge.times import moment
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

area = Area("element_changes", tag="elements")
P = ParamSpec("P")

ElementPart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,31}$")]
SystemPart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]
Positive = Annotated[float, Field(gt=0, le=1e21)]

_TAKES_FILES = frozenset({"active", "degraded", None})


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


def _change(
    asked: str, body: type[Body]
) -> Callable[[Callable[P, ElementChangeMade]], Callable[P, Response]]:
    return area.answers(asked, ElementChangeMade, 404, 409, roles=(Role.PORTAL, Role.ADMIN), body=body)


@_change("POST /v1/elements/<system>/<name>/drain", DrainIn)
def drain(system: str, name: str, asked: DrainIn) -> ElementChangeMade:
    """Drain an element: it takes no further files

    Open files stay where they are. With `until`, it takes files again from then on, without another change.
    """
    until = moment(asked.until)
    if until is not None and until <= runtime().state.now():
        raise invalid("json.until", "is over already")
    where = ElementName(system, name)
    edit = element_edits.drained(where, asked.reason, until)
    why = f": {asked.reason}" if asked.reason else ""
    why += f", until {asked.until}" if asked.until else ""
    return _made(where, edit, f"drain {where}{why}", asked.dry_run, asks_effect=True)


@_change("POST /v1/elements/<system>/<name>/undrain", EditIn)
def undrain(system: str, name: str, asked: EditIn) -> ElementChangeMade:
    """Let a drained element take files again

    409 when it is not being drained.
    """
    where = ElementName(system, name)
    return _made(where, element_edits.undrained(where), f"undrain {where}", asked.dry_run)


@_change("POST /v1/elements", AddIn)
def add(asked: AddIn) -> ElementChangeMade:
    """Add an element to a storage system

    A server that is not described yet is added with it.
    """
    where = ElementName(asked.system, asked.name)
    return _made(where, element_edits.added(where, asked.facts()), f"add element {where}", asked.dry_run)


@_change("PATCH /v1/elements/<system>/<name>", FactsIn)
def change_element(system: str, name: str, asked: FactsIn) -> ElementChangeMade:
    """Change what is stated of an element; what is not given stays"""
    where, facts = ElementName(system, name), asked.facts()
    loses = asked.state not in _TAKES_FILES
    reason = f"set {', '.join(facts) or 'nothing'} of {where}"
    return _made(where, element_edits.changed(where, facts), reason, asked.dry_run, asks_effect=loses)


@_change("POST /v1/elements/<system>/<name>/remove", EditIn)
def remove(system: str, name: str, asked: EditIn) -> ElementChangeMade:
    """Remove an element from the site

    Files on it stay where they are; the service forgets the element, and its open files count no more.
    """
    where = ElementName(system, name)
    edit = element_edits.removed(where)
    return _made(where, edit, f"remove element {where}", asked.dry_run, asks_effect=True)


def _made(
    where: ElementName, edit: SiteEdit, reason: str, dry_run: bool, *, asks_effect: bool = False
) -> ElementChangeMade:
    who, running = caller(), runtime()
    must_name_a_person(who)
    try:
        plan = running.site_manager.exchange().plan_edit(
            edit, reason, author=who.author, now=running.state.now()
        )
    except InvalidDescriptionError as error:
        raise invalid_description(error, "element") from None
    effect = _effect(where) if asks_effect else None
    number = None if dry_run else running.site_manager.apply(plan)
    change = render_changes.made(plan, number, dry_run)
    return ElementChangeMade(**change, element=str(where), effect=effect)


def _effect(where: ElementName) -> Effect | None:
    """Return what depends on an element; ``None`` for one the service has not read yet."""
    try:
        without = runtime().state.without(str(where))
    except KeyError:
        return None
    return Effect(
        open_placements=without.open_placements,
        open_in_system=without.open_in_system,
        other_elements=without.others,
        requirement_sets=without.sets_total,
        requirement_sets_asked=without.sets_asked,
        moved=[_moved(moved) for moved in without.moved],
    )


def _moved(moved: Moved) -> MovedSet:
    instead = moved.distance_instead
    return MovedSet.like(
        moved,
        distance=round(moved.distance, render.PLACES),
        distance_instead=None if instead is None else round(instead, render.PLACES),
    )
