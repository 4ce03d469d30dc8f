"""The service's interface, as its contract ``ses-service/openapi.yaml`` says.

Every call ends within a time and raises errors of :mod:`ses_client.errors`.  Caches nothing, and knows
nothing of how things are shown.  Thread-safe.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from ses_client.address import ServiceAddress
from ses_client.connection import Connection, Observer
from ses_client.errors import UsageError
from ses_client.messages.access import MadeToken, PersonalTokens
from ses_client.messages.element_groups import Chosen, ElementGroups, Exporters
from ses_client.messages.elements import History, Inventory, Readiness, StorageSystem, StorageSystems
from ses_client.messages.files import FilePage, Received, Report
from ses_client.messages.knowledge import ChangeMade, ChangePage, ChangeStates, KnowledgePage
from ses_client.messages.message import JSON
from ses_client.messages.nodes import HeardNodes, NodeCalibration, NodeClasses, NodeSelection
from ses_client.messages.places import Place, PlaceGiven, PlaceList
from ses_client.messages.quotas import QuotaPage
from ses_client.messages.requirements import (
    Effective,
    Requirement,
    RequirementSet,
    RequirementSets,
    Subject,
    Suggestion,
)
from ses_client.messages.runs import NearRun, NearRuns, RunCounts, RunTaken
from ses_client.messages.selections import Placement, PlacementList, PlacementRecord, Selection
from ses_client.messages.vocabulary import Expansion, Vocabulary

T = TypeVar("T")


class ServiceClient:
    """The service at an address, asked for the owner of the token, or for a person (:meth:`acting`).

    ``long_seconds`` bound what changes the knowledge base: checking a site of 10,000 elements takes minutes
    on a busy machine.  ``shows_address`` and ``observe`` are those of :class:`Connection`.  Raises
    NotAllowedError where the token would travel in clear text.
    """

    def __init__(
        self,
        address: ServiceAddress,
        timeout_seconds: float = 10.0,
        *,
        long_seconds: float = 600.0,
        shows_address: bool = True,
        observe: Observer | None = None,
    ) -> None:
        self._connection = Connection(
            address, timeout_seconds=timeout_seconds, shows_address=shows_address, observe=observe
        )
        self._long = long_seconds
        self._acting: dict[str, str] = {}

    def open_session(self) -> None:
        """See :meth:`Connection.open_session`."""
        self._connection.open_session()

    def introduce(self, token: str) -> None:
        """Show a signed token of a person: the service learns by it of which VO they are.

        Raises NotAllowedError for one it does not believe.
        """
        shown = {"Authorization": f"Bearer {token}"}
        self._connection.ask("GET", "/v1/vocabulary", _nothing, headers=shown, authorised=False)

    def acting(self, person: str) -> ServiceClient:
        """Return the same service, asked on behalf of a person."""
        acting = copy.copy(self)
        acting._acting = {"X-Acting-User": person}
        return acting

    @property
    def address(self) -> ServiceAddress:
        """Where the service is."""
        return self._connection.address

    def check(self) -> None:
        """Return when the service answers."""
        self._ask("GET", "/healthz", _nothing, authorised=False)

    def readiness(self) -> Readiness:
        """Return whether the service says it is ready, and its own checks."""
        return self._ask("GET", "/readyz", Readiness.of, accept=(200, 503), authorised=False)

    def elements(
        self, chosen: Chosen | None = None, *, offset: int | None = None, limit: int | None = None
    ) -> Inventory:
        """Return elements with what a stream that starts now would get from each; without ``chosen`` all."""
        fields = {**(chosen or Chosen()).fields(), "offset": offset, "limit": limit}
        return self._ask("GET", "/v1/elements", Inventory.of, fields=fields)

    def element_groups(
        self, chosen: Chosen, *, by: str | None, measure: str, offset: int = 0, limit: int = 400
    ) -> ElementGroups:
        """Return elements in groups; ``by`` None: by what makes the most groups that ``limit`` allows."""
        fields = {**chosen.fields(), "by": by, "measure": measure, "offset": offset, "limit": limit}
        return self._ask("GET", "/v1/element-groups", ElementGroups.of, fields=fields)

    def exporters(self, limit: int = 200) -> Exporters:
        """Return where the figures of the elements come from."""
        return self._ask("GET", "/v1/exporters", Exporters.of, fields={"limit": limit})

    def quotas(self, **wanted: str | float | None) -> QuotaPage:
        """Return quotas and when they are used up; ``wanted`` are parameters of ``GET /v1/quotas``."""
        return self._ask("GET", "/v1/quotas", QuotaPage.of, fields=wanted)

    def element(self, element: str) -> Inventory:
        """Return the same of one element; raises NotFoundError where there is none of this name."""
        return self._ask("GET", _element_path(element), Inventory.of)

    def element_history(self, element: str, seconds: int, points: int) -> History:
        """Return how an element was read and written over the last ``seconds``, in about ``points`` steps."""
        fields = {"seconds": seconds, "points": points}
        return self._ask("GET", f"{_element_path(element)}/history", History.of, fields=fields)

    def drain(self, element: str, how: JSON) -> JSON:
        """Let an element take no further files, or say what that would change."""
        return self._change("POST", f"{_element_path(element)}/drain", how)

    def undrain(self, element: str, how: JSON) -> JSON:
        """Let a drained element take files again, or say what that would change."""
        return self._change("POST", f"{_element_path(element)}/undrain", how)

    def add_element(self, facts: JSON) -> JSON:
        """Add an element to a storage system, or say what that would change."""
        return self._change("POST", "/v1/elements", facts)

    def set_element(self, element: str, facts: JSON) -> JSON:
        """Change what is stated of an element, or say what that would change."""
        return self._change("PATCH", _element_path(element), facts)

    def remove_element(self, element: str, how: JSON) -> JSON:
        """Remove an element from the site, or say what that would change."""
        return self._change("POST", f"{_element_path(element)}/remove", how)

    def storage_systems(self) -> Sequence[StorageSystem]:
        """Return the mounted storage systems the site describes."""
        return self._ask("GET", "/v1/storage-systems", StorageSystems.of).storage_systems

    def select(
        self, subject: Subject, requirements: Iterable[Requirement] = (), *, limit: int = 10, **more: Any
    ) -> Selection:
        """Return the ranking for a subject with these requirements of its own; reserves nothing.

        ``limit`` 0 ranks every element; ``more`` are further members of the contract's SelectionRequest.
        """
        return self._ask(
            "POST", "/v1/selections", Selection.of, body=_question(subject, requirements, limit=limit, **more)
        )

    def select_nodes(
        self, subject: Subject, requirements: Iterable[Requirement] = (), **more: Any
    ) -> NodeSelection:
        """Return the nodes for a task, ranked; reserves nothing.

        ``more`` are further members of the contract's NodeSelectionRequest.
        """
        body = _question(subject, requirements, **more)
        return self._ask("POST", "/v1/nodes/selections", NodeSelection.of, body=body)

    def nodes(self) -> HeardNodes:
        """Return the nodes whose agents report, and those that fell silent."""
        return self._ask("GET", "/v1/nodes", HeardNodes.of)

    def node_classes(self) -> NodeClasses:
        """Return the classes of nodes, with how many of their agents report."""
        return self._ask("GET", "/v1/node-classes", NodeClasses.of)

    def node_calibration(self, node: str) -> NodeCalibration:
        """Return what a node was measured to give; raises NotFoundError where it was not calibrated."""
        return self._ask("GET", f"/v1/nodes/{_segment(node)}/calibration", NodeCalibration.of)

    def placements(self, **wanted: str | int | None) -> Sequence[Placement]:
        """Return placement records, newest first, without candidates and refusals."""
        return self._ask("GET", "/v1/placements", PlacementList.of, fields=wanted).placements

    def placement(self, placement_id: str) -> PlacementRecord:
        """Return one placement record with its explanation."""
        return self._ask("GET", f"/v1/placements/{_segment(placement_id)}", PlacementRecord.of)

    def give_place(self, request: JSON) -> PlaceGiven:
        """Return a directory with a claim; ``request`` is the contract's PlaceRequest.

        Raises RefusedError (``nothing-fits``) where none can be given.
        """
        return self._ask("POST", "/v1/places", PlaceGiven.of, body=request)

    def places(self, **wanted: str | int | None) -> Sequence[Place]:
        """Return places, the latest first; ``wanted`` are parameters of ``GET /v1/places``."""
        return self._ask("GET", "/v1/places", PlaceList.of, fields=wanted).places

    def place(self, place_id: str) -> PlaceGiven:
        """Return one place with the reasons for it."""
        return self._ask("GET", f"/v1/places/{_segment(place_id)}", PlaceGiven.of)

    def renew_place(self, place_id: str, written: int | None = None) -> Place:
        """Let a place count for some time more; ``written`` bytes lie there, if that is known."""
        path = f"/v1/places/{_segment(place_id)}/renewals"
        return self._ask("POST", path, Place.of, body={"written_bytes": written})

    def release_place(self, place_id: str, written: int | None = None) -> Place:
        """End a place."""
        path = f"/v1/places/{_segment(place_id)}"
        return self._ask("DELETE", path, Place.of, fields={"written_bytes": written})

    def files(self, wanted: Mapping[str, object], *, after: str | None = None, limit: int = 50) -> FilePage:
        """Return some files, at most 1000; ``after`` is ``next`` of the page before."""
        return self._ask("GET", "/v1/files", FilePage.of, fields={**wanted, "after": after, "limit": limit})

    def file(self, placement_id: str) -> Received:
        """Return what one file received, kind by kind and over time."""
        return self._ask("GET", f"/v1/files/{_segment(placement_id)}", Received.of)

    def report(self, wanted: Mapping[str, object]) -> Report:
        """Return how often what was required was met, in sums of files that ended."""
        return self._ask("GET", "/v1/report", Report.of, fields=wanted)

    def requirement_sets(self, user: str | None = None) -> RequirementSets:
        """Return the requirement sets that can apply to a user, or all of them."""
        return self._ask("GET", "/v1/requirements", RequirementSets.of, fields={"user": user})

    def effective(self, subject: Subject) -> Effective:
        """Return what applies to a subject, where each came from, and what is passed over."""
        return self._ask("GET", "/v1/requirements/effective", Effective.of, fields=subject.as_json())

    def requirement_set(self, level: str, name: str) -> RequirementSet:
        """Return one requirement set; one that was never set is empty with revision 0."""
        return self._ask("GET", _set_path(level, name), RequirementSet.of)

    def suggested_for_vo(self, vo: str) -> Suggestion:
        """Return what a VO could require, by what its members state and get; changes nothing."""
        return self._ask("GET", f"{_set_path('vo', vo)}/suggestion", Suggestion.of)

    def replace_requirements(
        self,
        level: str,
        name: str,
        requirements: Iterable[Requirement],
        *,
        revision: int,
        profile: str | None = None,
        about: JSON | None = None,
    ) -> RequirementSet:
        """Replace one requirement set, its profile included.

        ``about``: of a set at profile level, its definition and what was measured.  Raises ConflictError,
        with nothing written, when the set has another revision by now.
        """
        stated: JSON = {
            "requirements": [requirement.as_json() for requirement in requirements],
            **(about or {}),
        }
        return self._ask(
            "PUT",
            _set_path(level, name),
            RequirementSet.of,
            body={**stated, **({"profile": profile} if profile else {})},
            headers={"If-Match": f'"{revision}"'},
            writes=True,
        )

    def vocabulary(self) -> Vocabulary:
        """Return the kinds of requirement and the profiles the service knows."""
        return self._ask("GET", "/v1/vocabulary", Vocabulary.of)

    def expand(self, sentence: str, values: Mapping[str, str]) -> Expansion:
        """Return what a sentence about a program requires; ``values`` go before those it names.

        Stores nothing.  Raises RefusedError, which says what would fit, for what does not.
        """
        body = {"sentence": sentence, "values": dict(values)}
        return self._ask("POST", "/v1/workloads/expansions", Expansion.of, body=body)

    def knowledge(self, part: str, after: str) -> KnowledgePage:
        """Return a page of the knowledge base: of the site or of the requirements, after a subject."""
        path = f"/v1/knowledge/{_segment(part)}"
        return self._ask("GET", path, KnowledgePage.of, fields={"after": after}, timeout_seconds=self._long)

    def import_knowledge(self, what: JSON) -> JSON:
        """Change the knowledge base by a text, or say what would be changed."""
        return self._change("POST", "/v1/knowledge/imports", what)

    def changes(self, *, before: int | None = None, subject: str | None = None) -> ChangePage:
        """Return changes below a number, the latest first; ``subject`` is an IRI or LEVEL/NAME of a set."""
        return self._ask("GET", "/v1/changes", ChangePage.of, fields={"before": before, "subject": subject})

    def change(self, number: int, *, after: str = "") -> ChangeStates:
        """Return what one change did, from the subject after ``after`` on."""
        return self._ask("GET", f"/v1/changes/{number}", ChangeStates.of, fields={"after": after or None})

    def undo(self, number: int, *, force: bool = False, dry_run: bool = False) -> ChangeMade:
        """Undo a change, or say what that would change.

        Raises ConflictError, with nothing written, when what it left was changed again (not with ``force``).
        """
        how = {"force": force, "dry_run": dry_run}
        path = f"/v1/changes/{number}/undo"
        return self._ask("POST", path, ChangeMade.of, body=how, timeout_seconds=self._long, writes=True)

    def tokens(self) -> PersonalTokens:
        """Return the caller's personal tokens."""
        return self._ask("GET", "/v1/tokens", PersonalTokens.of)

    def make_token(self, name: str, scope: str, days: int) -> MadeToken:
        """Make a personal token; raises ConflictError where there is one of that name, or too many."""
        wanted = {"name": name, "scope": scope, "days": days}
        return self._ask("POST", "/v1/tokens", MadeToken.of, body=wanted, writes=True)

    def revoke_token(self, name: str) -> PersonalTokens:
        """Revoke a personal token; raises NotFoundError where there is none of that name."""
        path = f"/v1/tokens/{_segment(name)}/revoke"
        return self._ask("POST", path, PersonalTokens.of, body={}, writes=True)

    def revoke_tokens(self) -> PersonalTokens:
        """Revoke all personal tokens of the caller."""
        return self._ask("POST", "/v1/tokens/revoke", PersonalTokens.of, body={}, writes=True)

    def runs(self) -> NearRuns:
        """Return the caller's runs, and who serves them."""
        return self._ask("GET", "/v1/runs", NearRuns.of)

    def run_counts(self) -> RunCounts:
        """Return how many runs everybody has."""
        return self._ask("GET", "/v1/runs/counts", RunCounts.of)

    def start_run(self, run: JSON) -> NearRun:
        """Start a run of the caller's; the same one again changes nothing."""
        return self._ask("POST", "/v1/runs", NearRun.of, body=run, writes=True)

    def take_run(self, node: str, directory: str) -> NearRun | None:
        """Take a run of the caller's, to run it in a directory of a node; ``None``: none waits."""
        where = {"node": node, "directory": directory}
        return self._ask("POST", "/v1/runs/take", RunTaken.of, body=where, writes=True).run

    def report_run(self, run_id: str, known: JSON) -> NearRun:
        """Report on a run that was taken; raises NotFoundError for one that is forgotten."""
        return self._ask("POST", f"/v1/runs/{_segment(run_id)}/report", NearRun.of, body=known, writes=True)

    def stop_run(self, run_id: str) -> NearRun:
        """Stop a run of the caller's; raises NotFoundError where there is none."""
        return self._ask("POST", f"/v1/runs/{_segment(run_id)}/stop", NearRun.of, body={}, writes=True)

    def send_accounts(self, homes: Mapping[str, str]) -> None:
        """Send the VO of each account that has one, by user; this replaces what was sent before."""
        accounts = [{"user": user, "vo": vo} for user, vo in sorted(homes.items())]
        self._ask("PUT", "/v1/members/accounts", _nothing, body={"accounts": accounts})

    def _change(self, method: str, path: str, body: JSON) -> JSON:
        return self._ask(method, path, _as_it_is, body=body, timeout_seconds=self._long, writes=True)

    def _ask(self, method: str, path: str, reader: Callable[[Any], T], **more: Any) -> T:
        sent = {**self._acting, **more.pop("headers", {})}
        return self._connection.ask(method, path, reader, headers=sent, **more)


def _question(subject: Subject, requirements: Iterable[Requirement], **more: Any) -> JSON:
    return {
        "subject": subject.as_json(),
        "requirements": [requirement.as_json() for requirement in requirements],
        **more,
    }


def _segment(name: str) -> str:
    """Return a name as a part of a path; raises UsageError for one that no path can have as a part."""
    if name in ("", ".", "..") or "/" in name:
        raise UsageError(f"{name!r} cannot be a name here: it is empty, dots only, or has a '/'.")
    return quote(name, safe="", errors="surrogateescape")


def _set_path(level: str, name: str) -> str:
    return f"/v1/requirements/{_segment(level)}/{_segment(name)}"


def _element_path(element: str) -> str:
    system, _, name = element.partition("/")
    return f"/v1/elements/{_segment(system)}/{_segment(name)}"


def _as_it_is(data: JSON) -> JSON:
    return data


def _nothing(_data: JSON) -> None:
    return None
