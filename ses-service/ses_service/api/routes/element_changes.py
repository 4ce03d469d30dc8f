"""Changes of single elements: drain, undrain, add, change, remove.

Administrators only, by themselves or in a portal, which names them.

Each is a change of the knowledge base like an import: checked against the shapes, made as a whole or not at
all, recorded in the history, undone there.
"""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.knowledge import Effect, ElementChangeMade, MovedSet

from ses_service.api import render, render_changes
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import must_name_a_person
from ses_service.api.contract import answers
from ses_service.api.problems import InvalidProblem, invalid_description
from ses_service.api.schemas.element_changes import AddIn, DrainIn, EditIn, FactsIn
from ses_service.decision.without_element import Without
from ses_service.knowledge import InvalidDescriptionError
from ses_service.knowledge.exchange import element_edits
from ses_service.knowledge.exchange.element_edits import ElementName, SiteEdit
from ses_service.knowledge.times import moment
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

blueprint = APIBlueprint("element_changes", __name__, tag="elements")

_SUBJECTS = 200
_TAKES_FILES = frozenset({"active", "degraded", None})


@blueprint.post("/v1/elements/<system>/<name>/drain")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.input(DrainIn)
@blueprint.doc(responses=answers(ElementChangeMade, 404, 409, 503, body=True))
def drain(system: str, name: str, json_data: DrainIn) -> Response:
    """Drain an element: it takes no further files

    Open files stay where they are. With `until`, it takes files again from then on, without another change.
    """
    until = moment(json_data.until)
    if until is not None and until <= runtime().state.now():
        raise InvalidProblem([{"location": "json.until", "message": "is over already"}])
    where = ElementName(system, name)
    edit = element_edits.drained(where, json_data.reason, until)
    why = f": {json_data.reason}" if json_data.reason else ""
    why += f", until {json_data.until}" if json_data.until else ""
    return _made(where, edit, f"drain {where}{why}", json_data.dry_run, asks_effect=True)


@blueprint.post("/v1/elements/<system>/<name>/undrain")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.input(EditIn)
@blueprint.doc(responses=answers(ElementChangeMade, 404, 409, 503, body=True))
def undrain(system: str, name: str, json_data: EditIn) -> Response:
    """Let a drained element take files again

    409 when it is not being drained.
    """
    where = ElementName(system, name)
    return _made(where, element_edits.undrained(where), f"undrain {where}", json_data.dry_run)


@blueprint.post("/v1/elements")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.input(AddIn)
@blueprint.doc(responses=answers(ElementChangeMade, 404, 409, 503, body=True))
def add(json_data: AddIn) -> Response:
    """Add an element to a storage system

    A server that is not described yet is added with it.
    """
    where = ElementName(json_data.system, json_data.name)
    return _made(
        where, element_edits.added(where, json_data.facts()), f"add element {where}", json_data.dry_run
    )


@blueprint.patch("/v1/elements/<system>/<name>")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.input(FactsIn)
@blueprint.doc(responses=answers(ElementChangeMade, 404, 409, 503, body=True))
def change_element(system: str, name: str, json_data: FactsIn) -> Response:
    """Change what is stated of an element; what is not given stays"""
    where, facts = ElementName(system, name), json_data.facts()
    loses = json_data.state not in _TAKES_FILES
    reason = f"set {', '.join(facts) or 'nothing'} of {where}"
    return _made(where, element_edits.changed(where, facts), reason, json_data.dry_run, asks_effect=loses)


@blueprint.post("/v1/elements/<system>/<name>/remove")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.input(EditIn)
@blueprint.doc(responses=answers(ElementChangeMade, 404, 409, 503, body=True))
def remove(system: str, name: str, json_data: EditIn) -> Response:
    """Remove an element from the site

    Files on it stay where they are; the service forgets the element, and its open files count no more.
    """
    where = ElementName(system, name)
    edit = element_edits.removed(where)
    return _made(where, edit, f"remove element {where}", json_data.dry_run, asks_effect=True)


def _made(
    where: ElementName, edit: SiteEdit, reason: str, dry_run: bool, *, asks_effect: bool = False
) -> Response:
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
    change = render_changes.made(plan, number, dry_run, _SUBJECTS)
    return render.answer(ElementChangeMade(**change, element=str(where), effect=effect))


def _effect(where: ElementName) -> Effect | None:
    """Return what depends on an element; ``None`` for one the service has not read yet."""
    try:
        dependents = runtime().state.without(str(where))
    except KeyError:
        return None
    return _rendered(dependents)


def _rendered(without: Without) -> Effect:
    return Effect(
        open_placements=without.open_placements,
        open_in_system=without.open_in_system,
        other_elements=without.others,
        requirement_sets=without.sets_total,
        requirement_sets_asked=without.sets_asked,
        moved=[
            MovedSet(
                level=moved.level.value,
                name=moved.name,
                distance=round(moved.distance, render.PLACES),
                instead=moved.instead,
                distance_instead=None
                if moved.distance_instead is None
                else round(moved.distance_instead, render.PLACES),
            )
            for moved in without.moved
        ],
    )
