"""What is asked thousands of times a second, as plain functions: caller and request in, an answer out.

The Flask routes and the quick way past Flask (:mod:`ses_service.http.edge`) both call these, so that they
cannot differ.  Every error leaves as an exception; :mod:`ses_service.api.problems` knows them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import BaseModel
from ses_client.messages.elements import StorageSystem, StorageSystems

from ses_service.api import places, render, render_nodes
from ses_service.api.callers import must_ask_for
from ses_service.api.problems import UnknownNameProblem
from ses_service.api.profiles import find_profile
from ses_service.api.render import Reply
from ses_service.api.schemas.node_selections import NodeSelectionRequest
from ses_service.api.schemas.nodes import AnnouncementIn
from ses_service.api.schemas.places import PlaceRequest, Renewal
from ses_service.api.schemas.requests import DraftIn, Question, SelectionRequest
from ses_service.model.entities import Level, Profile, RequirementSet
from ses_service.process.runtime import Runtime
from ses_service.security.tokens import EVERYONE, PEOPLE, Principal, Role

# Decisions about 10,000 elements take a third of a millisecond each, so that these wait a third of a second:
# a caller that asks for more than can be answered is refused, and a crowd that asks at once is not.
DECISIONS_WAITING = 1000
# Nobody waits for an announcement; an agent that is refused says the same again later.
ANNOUNCEMENTS_WAITING = 256


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: a POST of a JSON body to a path, or a GET, which has no ``model`` of a body.

    ``route`` is the path as Flask writes it; a part such as ``<node>`` is one segment and is passed on to
    ``run``, after runtime, caller and body, if any.  A request is refused when ``waiting`` others wait
    already, and read in a thread instead of the event loop when its body has more than ``max_body`` bytes.
    ``run_in_parts``, where there is one, does the same in steps: it gives the seconds to wait before the
    next, and the answer in the end.  What ``changes`` something is refused to tokens that may only read.
    """

    route: str
    roles: frozenset[Role]
    model: type[BaseModel] | None
    run: Callable[..., Reply]
    waiting: int = DECISIONS_WAITING
    run_in_parts: Callable[..., Iterator[Reply | float]] | None = None
    method: str = "POST"
    max_body: int = 2**20
    changes: bool = False


def select(now: Runtime, who: Principal, body: SelectionRequest) -> Reply:
    """Decide, and change nothing."""
    if body.subject.node is not None:
        who.must_speak_for(body.subject.node)
    must_ask_for(who, body.subject.user, body.subject.vo, now.state.environment.home_vo)
    asked = body.asked(
        _profile(now, body),
        exclude=frozenset(body.exclude),
        limit=body.limit,
        stripe_count=body.stripe_count,
        path=body.path,
        draft=_draft(now, body.draft),
    )
    decision = now.state.select(asked)
    notes = [*now.notes_on(body.subject.vo), *now.notes()]
    return render.reply(render.selection(decision, notes, backends(now)))


def select_nodes(now: Runtime, who: Principal, body: NodeSelectionRequest) -> Reply:
    """Rank nodes for a task, and change nothing.  It is asked once for each job, and goes through Flask."""
    if body.subject.node is not None:
        who.must_speak_for(body.subject.node)
    must_ask_for(who, body.subject.user, body.subject.vo, now.state.environment.home_vo)
    asked = body.asked(_profile(now, body), limit=body.limit)
    decision = now.state.select_nodes(asked, body.shape())
    notes = [*now.notes_on(body.subject.vo), *now.notes()]
    return render.reply(render_nodes.node_selection(decision, notes))


def storage_systems(now: Runtime, _who: Principal) -> Reply:
    """List the storage systems.  Every node asks for it every few seconds."""
    counts = now.state.elements_of_systems()
    listed = [
        StorageSystem(
            name=name,
            backend=system.backend,
            mount_point=system.mount_point,
            elements=counts.get(name, 0),
        )
        for name, system in sorted(now.state.environment.systems.items())
    ]
    return render.reply(StorageSystems(storage_systems=listed))


def announce(now: Runtime, who: Principal, body: AnnouncementIn, node: str) -> Reply:
    """Bring the ledger to what a node reports; answer with what its agent should know."""
    who.must_speak_for(node)
    announcement = body.to_model(node, who.version or "")
    taken = now.state.take_announcement(announcement)
    have = {user: body.generations.get(user, "") for user in body.users}
    needs, tables = now.state.updates_for(node, have, [table.to_model() for table in body.tables])
    answer = {
        "instance": now.instance,
        "stored": now.acknowledged.taken(node, announcement.incarnation, body.number),
        "next_within_seconds": taken.pace,
        "report_within_seconds": taken.report_within,
        "return_within_seconds": taken.return_within,
        "unknown": list(taken.unknown),
        "refused": [
            {"placement_id": placement_id, "detail": detail} for placement_id, detail in taken.refused
        ],
        "refused_items": [
            {"list": refusal.list, "index": refusal.number, "detail": refusal.detail}
            for refusal in body.refused
            if not refusal.placement_id
        ],
        "open": None
        if taken.open is None
        else [render.held(placement, now.state.now()) for placement in taken.open],
        "needs": render.fragments(needs),
        "tables": render.fragments(tables),
    }
    return render.reply(answer)


SELECT = Operation("/v1/selections", EVERYONE, SelectionRequest, select, max_body=2**16)
ANNOUNCE = Operation(
    "/v1/nodes/<node>/announcements",
    frozenset({Role.NODE, Role.ADMIN}),
    AnnouncementIn,
    announce,
    waiting=ANNOUNCEMENTS_WAITING,
)
STORAGE_SYSTEMS = Operation("/v1/storage-systems", EVERYONE, None, storage_systems, method="GET")
PLACE = Operation(
    "/v1/places",
    PEOPLE,
    PlaceRequest,
    places.give,
    run_in_parts=places.give_in_parts,
    max_body=2**16,
    changes=True,
)
RENEW = Operation("/v1/places/<place_id>/renewals", EVERYONE, Renewal, places.renew, changes=True)
OPERATIONS = (SELECT, ANNOUNCE, STORAGE_SYSTEMS, PLACE, RENEW)


def _profile(now: Runtime, body: Question) -> Profile | None:
    """Return the profile a question names.  Raises UnknownNameProblem, also for its storage system."""
    name, systems = body.storage_system, now.state.environment.systems
    if name is not None and name not in systems:
        known = ", ".join(sorted(systems)) or "none"
        message = f"no storage system {name!r} is described; known: {known}"
        raise UnknownNameProblem([{"location": "json.storage_system", "message": message}])
    return find_profile(body.profile, now.state.sets)


def _draft(now: Runtime, draft: DraftIn | None) -> RequirementSet | None:
    if draft is None:
        return None
    stated = tuple(requirement.to_model() for requirement in draft.requirements)
    profile = find_profile(draft.profile, now.state.sets, "json.draft.profile")
    return RequirementSet(Level(draft.level), draft.name, stated, profile=profile)


def backends(now: Runtime) -> dict[str, str]:
    """Return the back end of each storage system."""
    return {name: system.backend for name, system in now.state.environment.systems.items()}
