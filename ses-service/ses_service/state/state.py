"""The service's state behind one lock: the site, the requirements, the observations, the ledger.

Everything that decides goes through here, from any thread.  Knows no HTTP and makes no network
call: the site manager and the observer of the monitor hand in what they have read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from ses_state import _state

from ses_service.decision.element_groups import Moment
from ses_service.decision.explain import predicted_now
from ses_service.decision.health import learned
from ses_service.decision.needs import Needs
from ses_service.decision.node_groups import NodeGroups
from ses_service.decision.node_selection import rank_nodes
from ses_service.decision.node_tables import NodeTables, TableAsked
from ses_service.decision.nodes import NodeDecision
from ses_service.decision.question import HISTORY, REQUEST, Decision, Question, View
from ses_service.decision.resolve import SetIndex, index_sets, resolve
from ses_service.decision.rows import Rows, oldest_ages, stated_kinds
from ses_service.decision.selection import decide
from ses_service.decision.without_element import Without, without
from ses_service.ledger.announcement import Announcement, Taken, take
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.nodes import Node
from ses_service.ledger.placement import EndReason, Placement, Prediction
from ses_service.model.columns import (
    Codes,
    ElementTable,
    ObservationTable,
    element_table,
    observation_table,
)
from ses_service.model.entities import (
    Environment,
    Level,
    Observation,
    RequirementSet,
    with_home_vo,
)
from ses_service.model.policies import Policies
from ses_service.state.asked import Asked, sized
from ses_service.state.element_now import ElementColumns, ElementNow, seen
from ses_service.state.ledger_access import LedgerAccess
from ses_service.state.node_access import ClassNow, JobShape, NodeAccess
from ses_service.state.place_access import PlaceAccess, entered
from ses_service.state.required import required_kinds, write_rates
from ses_service.state.verdicts import Verdicts

T = TypeVar("T")

# Placements that end by themselves: how many are dealt with at once, and after how many seconds a decision
# deals with more on its way.  The less often the ledger changes, the less decisions work out again.
_ENDED_AT_ONCE = 16
_ENDED_EVERY = 0.01


class NoEnvironmentError(Exception):
    """The site has not been read yet."""


class ServiceState:
    """Answers questions and keeps the ledger, from any thread; other services know it by its ``name``."""

    def __init__(
        self,
        policies: Policies,
        clock: Callable[[], float],
        homes: Callable[[Environment], Mapping[str, str]] = lambda environment: environment.home_vo,
        name: str = "",
    ) -> None:
        self.policies = policies
        self._clock = clock
        self._homes = homes
        self._lock = threading.Lock()
        self._ended_at = -np.inf
        self._ledger = Ledger(policies)
        self._load_history = _state.LoadHistory()
        self.verdicts = Verdicts(self._lock, self._ledger, self._load_history)
        self.ledger = LedgerAccess(self._lock, self._ledger, clock, self.verdicts)
        self._table: ElementTable | None = None
        self._observed: tuple[Observation, ...] = ()
        self._observations: ObservationTable | None = None
        self._sets: Mapping[tuple[Level, str], RequirementSet] = {}
        self._needs: Needs | None = None
        self._rows = Rows(policies)
        self._tables = NodeTables(self._rows, self._ledger.recent, name, policies.rate_window)
        self._fleet = NodeAccess(self._ledger, self._tables)
        self.places = PlaceAccess(self._lock, self._ledger, clock)

    @property
    def environment(self) -> Environment:
        """The site as last read; raises NoEnvironmentError before that."""
        if self._table is None:
            raise NoEnvironmentError("the site has not been read from the knowledge base yet")
        return self._table.environment

    def elements_of_systems(self) -> dict[str, int]:
        """Return how many elements each storage system has that has any."""
        if self._table is None:
            return {}
        counts = np.bincount(self._table.system, minlength=len(self._table.system_names))
        return dict(zip(self._table.system_names, counts.tolist(), strict=True))

    @property
    def sets(self) -> SetIndex:
        """The requirement sets as last read."""
        return self._sets

    @property
    def open_placements(self) -> int:
        """How many placements have not ended."""
        with self._lock:
            return len(self._ledger)

    def ended_total(self) -> dict[EndReason, int]:
        """Return how many placements ended, by reason."""
        with self._lock:
            return dict(self._ledger.ended_total)

    def take_environment(self, environment: Environment, sets: Iterable[RequirementSet]) -> None:
        """Replace the site and all requirement sets."""
        table = element_table(replace(environment, home_vo=self._homes(environment)))
        with self._lock:
            observations = observation_table(table, self._observed)
            self._table, self._observations = table, observations
            self._sets = index_sets(sets)
            self._needs = None
            now = self._clock()
            self._ledger.bind(table, observations.sampled_at, now)
            self._load_history.bind(dict(table.index))
            self._rows.bind(table, required_kinds(self._sets), observations, self._ledger.counts, now)
            self._keep()

    def take_sets(self, sets: Iterable[RequirementSet]) -> None:
        """Replace all requirement sets; the site stays, with the tables made of it."""
        with self._lock:
            self._sets = index_sets(sets)
            self._bind_needs()

    def take_set(self, changed: RequirementSet) -> None:
        """Replace one requirement set."""
        with self._lock:
            self._sets = {**self._sets, (changed.level, changed.name): changed}
            self._bind_needs()

    def take_observations(
        self,
        observed: Iterable[Observation],
        between: Callable[[], None] = lambda: None,
        window: float | None = None,
        average_window: float | None = None,
    ) -> None:
        """Replace the observations of all elements.  ``between`` is called whenever others may go first.

        ``window`` is that of their rates in seconds, ``average_window`` of the average ones, where the
        monitor says so.
        """
        kept = tuple(observed)
        with self._lock:
            table = self._table
        observations = None if table is None else observation_table(table, kept, between)
        between()
        with self._lock:
            self._observed = kept
            if self._table is None:
                return
            if observations is None or self._table is not table:
                observations = observation_table(self._table, kept)
            observations = learned(observations, self._observations, self.policies)
            self._observations = observations
            window = window if window and window > 0 else self.policies.rate_window
            self._tables.window = window
            now, lasting = self._clock(), float(oldest_ages(observations, self.policies).max(initial=0.0))
            self._ledger.observe(observations.sampled_at, now, lasting, window)
            if average_window and average_window > 0:
                self._rows.average_window = average_window
            self._rows.observe(observations, self._ledger.counts, now)
            self._load_history.record(
                now, self._rows.elements["busy"], observations.health, self._ledger.counts.open_now
            )

    def question(self, asked: Asked) -> Question:
        """Resolve whose files they are and what applies.  Raises NoEnvironmentError."""
        subject = with_home_vo(asked.subject, self.environment.home_vo)
        sets, draft = self._sets, asked.draft
        if draft is not None:
            sets = {**sets, (draft.level, draft.name): draft}
        return Question(
            subject=subject,
            requirements=resolve(subject, asked.explicit, sets, self._clock(), asked.profile),
            storage_system=asked.storage_system,
            exclude=asked.exclude,
            expected_bytes=asked.expected_bytes,
            limit=asked.limit,
            stripe_count=asked.stripe_count,
            is_place=asked.place is not None,
        )

    def select(self, asked: Asked) -> Decision:
        """Decide, and change nothing.  Raises NoEnvironmentError."""
        return self._choose(asked, lambda _question, decision: decision)

    def give(self, asked: Asked) -> Placement:
        """Decide, and enter the best element as a place before anybody else decides.

        Raises NoEnvironmentError, and what ``place_access.entered`` raises.
        """
        place, most = asked.place, self.policies.places_of_user
        assert place is not None
        return self._choose(asked, lambda *chosen: entered(place, most, self._ledger, *chosen))

    def _choose(self, asked: Asked, take: Callable[[Question, Decision], T]) -> T:
        question, source = self._with_size(self.question(asked), asked)
        with self._lock:
            now = self._now()
            decision = decide(question, self._view(question.subject.user), now, self.policies)
            return take(question, sized(decision, question, source))

    def select_nodes(self, asked: Asked, job: JobShape) -> NodeDecision:
        """Rank nodes for a task, and change nothing.  Raises NoEnvironmentError."""
        question, source = self._with_size(self.question(asked), asked)
        with self._lock:
            now, view = self._now(), self._view(question.subject.user)
            fleet, streams = self._fleet.now(view.table.environment), self._fleet.streams()
            groups = NodeGroups(job.asked(question), view, fleet, streams, self.policies)
        return sized(rank_nodes(groups, now), question, source)

    def node_classes(self) -> list[ClassNow]:
        """Return the classes of nodes as they are now.  Raises NoEnvironmentError."""
        with self._lock:
            self._now()
            return self._fleet.classes(self.environment)

    def take_announcement(self, announcement: Announcement) -> Taken:
        """Bring the ledger to what a node reports."""
        with self._lock:
            now = self._now()
            if announcement.excluded:
                self._fleet.excluding.add(announcement.node)
            return take(announcement, self._ledger, self._table, now)

    def nodes(self) -> list[tuple[Node, int]]:
        """Return the nodes that announce their files, by name, and how many are open on each."""
        with self._lock:
            self._now()
            listed = [(replace(node), self._ledger.count_open_on(node.name)) for node in self._ledger.nodes]
        return sorted(listed, key=lambda node_and_count: node_and_count[0].name)

    def silent_nodes(self) -> list[Node]:
        """Return the nodes that reported since the start and are silent now, by name."""
        with self._lock:
            self._now()
            silent = [replace(node) for node in self._ledger.nodes.silent.values()]
        return sorted(silent, key=lambda node: node.name)

    def updates_for(
        self, node: str, users: Mapping[str, str], asked: Iterable[TableAsked]
    ) -> tuple[list[bytes], list[bytes]]:
        """Return what changed for a node, as JSON: the needs of users, and the tables it asks for.

        ``users`` are those on the node with the generation of their needs that it has.  There is nothing
        before the site is read.
        """
        with self._lock:
            if self._table is None:
                return [], []
            now = self._now()
            self._follow()
            needs = self._needs_now()
            needed = {user: needs.of(user, now) for user in users}
            of_site = needs.of_site(now)
            in_use = {need.tobytes(): need for of_user in needed.values() for need in of_user.needs}
            in_use.setdefault(of_site.tobytes(), of_site)
            texts = [self._tables.update_for(node, table, list(in_use.values()), now) for table in asked]
        changed = [of_user.body for user, of_user in needed.items() if of_user.generation != users[user]]
        return changed, [text for text in texts if text is not None]

    def placement(self, placement_id: str) -> Placement:
        """Return a placement.  Raises UnknownPlacementError."""
        with self._lock:
            self._now()
            return self._ledger.get(placement_id)

    def predicted_now(self, placement: Placement) -> tuple[Prediction, ...]:
        """Return what an open file would get from now on, by kind.  Raises NoEnvironmentError."""
        with self._lock:
            self._now()
            return predicted_now(self._view(), placement)

    def placements(
        self, accept: Callable[[Placement], bool], limit: int, user: str | None = None
    ) -> list[Placement]:
        """Return the placements that ``accept`` accepts, of a user where one is named, the latest first."""
        with self._lock:
            self._now()
            kept = self._ledger.records(user)
        latest = sorted(
            filter(accept, kept),
            key=lambda placement: (placement.placed_at, placement.placement_id),
            reverse=True,
        )
        return latest[:limit]

    def expire(self) -> bool:
        """End some placements whose lease ran out or whose node is silent; return whether more wait.

        The caller waits a moment before the next call, so that a decision never waits for many.
        """
        with self._lock:
            return self._ledger.expire(self._clock(), _ENDED_AT_ONCE) >= _ENDED_AT_ONCE

    def grow_old(self) -> None:
        """Note what became old by now; about once a second."""
        with self._lock:
            now = self._clock()
            self._rows.grow_old(now)
            self._tables.forget(now)
            self._ledger.recent.forget(now)

    def elements(
        self, wanted: Callable[[ElementTable], Codes] | None = None
    ) -> tuple[ElementTable, float, list[ElementNow]]:
        """Return the elements, the time, and what each offers now.  Raises NoEnvironmentError.

        ``wanted`` gives the rows of those that are wanted; without it all are.
        """
        with self._lock:
            now = self._now()
            view, excluded = self._view(), self._fleet.exclusions()
            rows = np.arange(len(view.table)) if wanted is None else wanted(view.table)
            columns = ElementColumns.of(view, self._ledger.counts, rows, now)
        return view.table, now, columns.elements(view, excluded)

    def moment(self) -> Moment:
        """Return all elements as columns that no longer change.  Raises NoEnvironmentError."""
        with self._lock:
            now, view = self._now(), self._view()
            offered = view.rows.query.predict()
            fresh = seen(view, now)
        return Moment(now, view.table, view.observations, offered["read"], offered["write"], fresh)

    def without(self, element: str) -> Without:
        """Return what depends on an element. Raises NoEnvironmentError, and KeyError for one there is not."""
        with self._lock:
            now, view = self._now(), self._view()
            own = view.rows.elements["own"].astype(np.float64)
        return without(element, view.table, own, self._sets, now, self._decide)

    def now(self) -> float:
        """Return the time, seconds since the epoch."""
        return self._clock()

    def _now(self) -> float:
        now = self._clock()
        if not self._ended_at <= now < self._ended_at + _ENDED_EVERY:
            self._ended_at = now
            self._ledger.expire(now, _ENDED_AT_ONCE)
        return now

    def _with_size(self, question: Question, asked: Asked) -> tuple[Question, str | None]:
        """Return the question with a size to expect, and where that is from."""
        if question.expected_bytes is not None:
            return question, REQUEST
        who = question.subject
        room = self.ledger.room(who.user, who.application, asked.path, is_place=question.is_place)
        if room is None:
            return question, None
        return replace(question, room=room), HISTORY

    def _decide(self, question: Question) -> Decision:
        with self._lock:
            now = self._now()
            return decide(question, self._view(question.subject.user), now, self.policies)

    def _view(self, user: str | None = None) -> View:
        if self._table is None or self._observations is None:
            raise NoEnvironmentError("the site has not been read from the knowledge base yet")
        self._follow()
        return View(self._table, self._observations, self._rows, self._fleet.excluded(self._table, user))

    def _follow(self) -> None:
        self._rows.follow(self._ledger.counts, self._ledger.counter.take_changed())

    def _keep(self) -> None:
        """Keep elements for the rates of writing that are required now or later."""
        self._rows.require(write_rates(self._sets, self._clock()))

    def _bind_needs(self) -> None:
        """Note that requirements changed; rows have room for the kinds that are required only."""
        self._needs = None
        if self._table is None or self._observations is None:
            return
        wanted = required_kinds(self._sets)
        if self._rows.stated != stated_kinds(self._table, wanted):
            self._rows.bind(self._table, wanted, self._observations, self._ledger.counts, self._clock())
        self._keep()

    def _needs_now(self) -> Needs:
        if self._needs is None:
            self._needs = Needs(self._sets, self.environment.home_vo, self._rows.stated, self.ledger.rooms)
        return self._needs
