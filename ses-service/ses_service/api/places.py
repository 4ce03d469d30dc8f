"""What is done with places for a caller, as plain functions: caller and request in, an answer out."""

import math
import time
from collections.abc import Callable, Iterator, Sequence

from ses_client.messages.places import Place, PlaceGiven

from ses_service.api import render
from ses_service.api.callers import must_act_for, must_ask_for
from ses_service.api.problems import NotFoundProblem, NothingFitsProblem, OverloadedProblem, invalid
from ses_service.api.profiles import find_profile
from ses_service.api.render import Reply
from ses_service.api.schemas.places import PlaceRequest, Renewal
from ses_service.ledger.placement import Held, Placement, PlacementState
from ses_service.ledger.places import OF_DIRECTORIES, RENEW_WITHIN, has_own_directory
from ses_service.process.runtime import Runtime
from ses_service.security.tokens import Principal, Role
from ses_service.state.place_access import NothingFitsError
from ses_service.store.errors import DatabaseError

_LOOK_AGAIN = 0.01  # seconds
_PATIENCE = 5.0  # seconds, with a database that answers


def give_in_parts(now: Runtime, who: Principal, body: PlaceRequest) -> Iterator[Reply | float]:
    """Choose and claim in one step; then wait until that is stored, seconds at a time, before the answer.

    A stated size fits beside all claims, so services that share a database give such places in turns.
    """
    must_act_for(who, body.subject.user)
    must_ask_for(who, body.subject.user, body.subject.vo, now.state.environment.home_vo)
    _must_have_directories(now, body.storage_system)
    if now.turns is None or body.expected_bytes is None:
        place = _given(now, who, body)
        yield from _until_stored(now)
    else:
        asked = now.turns.take(lambda: _given(now, who, body))
        try:
            yield from _until(asked.done)
        finally:
            asked.cancel()
        try:
            place = asked.result()
        except DatabaseError:
            raise OverloadedProblem from None
    yield render.reply(explained(now, place, [*now.notes_on(body.subject.vo), *now.notes()]))


def _given(now: Runtime, who: Principal, body: PlaceRequest) -> Placement:
    place = _of_a_peer(now, who, body.place_id)
    if place is not None:
        return place
    profile = find_profile(body.profile, now.state.sets)
    about = body.to_model(now.state.now())
    asked = body.asked(profile, exclude=frozenset(body.exclude), limit=0, place=about)
    try:
        return now.state.give(asked)
    except NothingFitsError as error:
        raise NothingFitsProblem(body.storage_system, render.refusals(error.decision.refused)) from None


def give(now: Runtime, who: Principal, body: PlaceRequest) -> Reply:
    """Do the same in a thread that may wait."""
    for step in give_in_parts(now, who, body):
        if isinstance(step, Reply):
            return step
        time.sleep(step)
    raise AssertionError("the last part is the answer")


def renew(now: Runtime, who: Principal, body: Renewal, place_id: str) -> Reply:
    """Let a place count for some time more."""
    return render.reply(shown(now, now.state.places.renew(find(now, who, place_id), body.written_bytes)))


def end(now: Runtime, who: Principal, place_id: str, written: float | None) -> Placement:
    """End a place; returns when that is stored."""
    place = now.state.places.end(find(now, who, place_id), written)
    for seconds in _until_stored(now):
        time.sleep(seconds)
    return place


def find(now: Runtime, who: Principal, place_id: str) -> Placement:
    """Return a place that is the caller's business."""
    place = now.placements.placement(place_id)
    if place.held is None:
        raise NotFoundProblem(f"{place_id} is a file, and no place.")
    if who.role is Role.NODE:
        who.must_speak_for(place.subject.node or "")
    else:
        must_act_for(who, place.subject.user)
    return place


def shown(now: Runtime, place: Placement) -> Place:
    """Return a place in the shape of the contract."""
    held = place.held or Held()
    is_open, followed = place.state is PlacementState.OPEN, math.isinf(place.lease_until)
    by_node = followed or now.state.places.node_reports(place.subject.node)
    return Place.like(
        place,
        place_id=place.placement_id,
        subject=render.subject(place.subject),
        element=place.element.id,
        storage_system=place.element.storage_system,
        directory=place.path or "",
        own_directory=has_own_directory(place),
        streams=len(place.elements),
        claimed_bytes=held.claimed,
        written_bytes=held.written if place.bytes_written is None else place.bytes_written,
        made_at=place.placed_at,
        until=held.until,
        followed=is_open and followed,
        renewed_by=None if not is_open or held.until is not None else "node" if by_node else "caller",
        renew_within_seconds=RENEW_WITHIN,
    )


def explained(now: Runtime, place: Placement, notes: Sequence[str] = ()) -> PlaceGiven:
    """Return a place with the reasons for it; ``notes`` are added to its own."""
    return PlaceGiven(
        **shown(now, place),
        requirements=render.resolved(place.requirements),
        predicted=render.predictions(place.predicted),
        candidates=render.candidates(place.candidates, {place.element.storage_system: OF_DIRECTORIES}),
        refused=render.refusals(place.refused),
        notes=[*notes, *place.notes],
    )


def _of_a_peer(now: Runtime, who: Principal, place_id: str) -> Placement | None:
    """Return what another service gave for the same request before, taken over."""
    if not now.state.places.is_of_peers(place_id):
        return None
    return now.state.places.renew(find(now, who, place_id), None)


def _must_have_directories(now: Runtime, name: str) -> None:
    systems = now.state.environment.systems
    system = systems.get(name)
    if system is not None and system.backend == OF_DIRECTORIES:
        return
    having = ", ".join(sorted(entry for entry, its in systems.items() if its.backend == OF_DIRECTORIES))
    what = "has no directories to give" if system else "is not described"
    raise invalid(
        "json.storage_system", f"storage system {name!r} {what}; those that have: {having or 'none'}"
    )


def _until_stored(now: Runtime) -> Iterator[float]:
    """Yield seconds to wait until all that changed is stored; a database that is away is not waited for."""
    journal = now.journal
    if journal is None:
        return
    mark = journal.hurry()
    yield from _until(lambda: journal.stored >= mark or not journal.status.ok)


def _until(is_so: Callable[[], bool]) -> Iterator[float]:
    until = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() >= until:
            raise OverloadedProblem
        yield _LOOK_AGAIN
