"""How all elements stand for one kind of question, and that knowledge kept from decision to decision.

Between two decisions little changes: a few placements are booked or end, and once a second there is
a new sample.  :class:`Kept` therefore keeps the columns of the last decisions and works out again only
the rows whose ledger counts changed.  Which these are the ledger tells; where nobody does, columns are
compared with what was seen.  What it gives is exactly what a fresh look gives.

Not safe for use from several threads; its owner holds a lock.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import fields, replace

import numpy as np

from ses_service.columns import Bools, Codes
from ses_service.evaluation import Offers
from ses_service.explain import aged, candidates
from ses_service.filters import ACCEPTED, REASONS, bytes_needed, earlier_reasons, with_degraded_refused
from ses_service.ledger import LedgerCounts
from ses_service.model import Kind
from ses_service.order import Contenders, contenders, first_in_order, order_columns, salt_of
from ses_service.placement import Candidate, Reason
from ses_service.policies import Policies
from ses_service.question import Question, View

_HARD = REASONS.index(Reason.HARD_REQUIREMENT)
_COUNTS = tuple(one.name for one in fields(LedgerCounts))
_ALWAYS_TOLD = (Kind.CURRENT_READ_RATE, Kind.CURRENT_WRITE_RATE, Kind.FREE_CAPACITY)
_SHAPES = 32
_COUNTS_KEPT = 4
_ORDERS_KEPT = 64
_LONGEST_LISTED = 32
_CHANGES = 32
_NO_ROWS: Codes = np.zeros(0, dtype=np.int64)
_MANY = 8  # when more than one row of so many changed, all are worked out again


class Standing:
    """All elements, judged for one question: who is refused and why, and what the order goes by."""

    def __init__(self, question: Question, offers: Offers) -> None:
        self.offers = offers
        self._reasons = earlier_reasons(question, offers)
        self._columns = order_columns(question, offers)
        self._room: float | None = None
        self._contenders: dict[int, Contenders] = {}
        self._orders: dict[tuple[int, int], Codes] = {}
        self._listed: dict[tuple[int, int], tuple[Candidate, ...]] = {}
        self._finish()

    def ranked(self, question: Question, count: int) -> Offers:
        """Return the offers of the first ``count`` rows that are not refused, in order (0: of all)."""
        return self.offers.narrowed(self._order((count, salt_of(question)), question))

    def candidates(self, question: Question) -> tuple[Candidate, ...]:
        """Return the ranks that the question asks for.  Nothing of them but their ages grows old."""
        key = question.limit, salt_of(question)
        order = self._order(key, question)
        found = self._listed.get(key)
        if found is not None:
            return aged(found, self.offers.ages(order))
        found = candidates(question, self.offers.narrowed(order))
        if len(found) <= _LONGEST_LISTED:
            self._listed[key] = found
        return found

    def update(self, question: Question, rows: Codes) -> None:
        """Judge some rows again; their offers are up to date."""
        part = self.offers.narrowed(rows)
        reasons = earlier_reasons(question, part)
        for column, changed in zip(self._columns, order_columns(question, part), strict=True):
            column[rows] = changed
        self._room = None
        self._contenders.clear()
        self._forget_orders()
        if (self._reasons[rows] != reasons).any():
            self._reasons[rows] = reasons
            self._finish()

    @property
    def room(self) -> float:
        """How many bytes a file may need without more elements being refused than are."""
        if self._room is None:
            concerned = (self._reasons == ACCEPTED) | (self._reasons == _HARD)
            free = self.offers.value(Kind.FREE_CAPACITY)[concerned]
            self._room = float(np.fmin.reduce(free, initial=np.inf))
        return self._room

    def _order(self, key: tuple[int, int], question: Question) -> Codes:
        """Return the first rows in order; ``key`` is how many and the salt of the question."""
        order = self._orders.get(key)
        if order is None:
            if len(self._orders) >= _ORDERS_KEPT:
                self._forget_orders()
            found = self._contenders_of(key[0])
            order = first_in_order(question, self.offers, self._columns, found, key[0])
            self._orders[key] = order
        return order

    def _forget_orders(self) -> None:
        self._orders.clear()
        self._listed.clear()

    def _contenders_of(self, count: int) -> Contenders:
        found = self._contenders.get(count)
        if found is None:
            if len(self._contenders) >= _COUNTS_KEPT:
                self._contenders.clear()
            found = self._contenders[count] = contenders(self._columns, self._accepted_rows, count)
        return found

    def _finish(self) -> None:
        self.codes = with_degraded_refused(self._reasons, self.offers)
        self.accepted: Bools = self.codes == ACCEPTED
        self._accepted_rows = np.flatnonzero(self.accepted)
        self.refused_rows: Codes = np.flatnonzero(~self.accepted)
        self.unseen = int(np.count_nonzero(self.accepted & ~self.offers.fresh))


class Kept:
    """Standings of the last kinds of question, brought up to date when asked for."""

    def __init__(self) -> None:
        self._offers: Offers | None = None
        self._seen = LedgerCounts.zeros(0)
        self._changes_seen = 0
        self._oldest_fresh = self._newest_stale = np.nan
        self._version = 0
        self._changed: deque[Codes] = deque(maxlen=_CHANGES)
        self._shapes: OrderedDict[Hashable, tuple[int, Standing]] = OrderedDict()

    def standing(self, question: Question, view: View, now: float, policies: Policies) -> Standing:
        """Return how all elements stand now; belongs to the caller until the next call."""
        offers = self._current(view, now, policies)
        if not question.exclude:
            sizeless = question.expected_bytes is None
            shaping = question if sizeless else replace(question, expected_bytes=None)
            standing = self._of_shape(shaping, offers)
            if bytes_needed(question, policies) <= standing.room:
                return standing
        standing = Standing(question, offers)
        offers.forget_shortfalls()
        return standing

    def _of_shape(self, question: Question, offers: Offers) -> Standing:
        node = question.subject.node
        mounted = None if node is None else offers.view.table.environment.node_access.get(node)
        shape = (question.wanted, question.storage_system, mounted)
        version, standing = self._shapes.pop(shape, (0, None))
        missed = self._version - version
        if standing is None or missed > len(self._changed):
            standing = Standing(question, offers)
            offers.forget_shortfalls()
        elif missed:
            changed = self._changed[-1]
            if missed > 1:
                changed = np.unique(np.concatenate(list(self._changed)[-missed:]))
            standing.update(question, changed)
        self._shapes[shape] = (self._version, standing)
        if len(self._shapes) > _SHAPES:
            self._shapes.popitem(last=False)
        return standing

    def _current(self, view: View, now: float, policies: Policies) -> Offers:
        offers = self._offers
        if offers is None or not self._holds(offers, view, now, policies):
            return self._begin(view, now, policies)
        offers.now = now
        changed = self._rows_changed(view)
        if changed is None or len(changed) * _MANY > len(view.table):
            return self._begin(view, now, policies)
        if len(changed):
            self._changed.append(offers.update(changed))
            self._version += 1
        return offers

    def _rows_changed(self, view: View) -> Codes | None:
        """Return the rows whose counts changed since the last time; ``None``: nobody knows."""
        if view.changes is None:
            changed = np.flatnonzero(_differ(self._seen, view.counts))
            for name in _COUNTS if len(changed) else ():
                getattr(self._seen, name)[changed] = getattr(view.counts, name)[changed]
            return changed
        if view.changes.number == self._changes_seen:
            return _NO_ROWS
        found = view.changes.since(self._changes_seen)
        self._changes_seen = view.changes.number
        return found

    def _holds(self, offers: Offers, view: View, now: float, policies: Policies) -> bool:
        """Return whether the same elements are looked at, in the same sample, and none grew stale."""
        return (
            offers.view.table is view.table
            and offers.view.observations is view.observations
            and offers.view.counts is view.counts
            and offers.view.changes is view.changes
            and offers.policies is policies
            and not now - self._oldest_fresh > policies.max_data_age
            and not now - self._newest_stale <= policies.max_data_age
        )

    def _begin(self, view: View, now: float, policies: Policies) -> Offers:
        self._offers = offers = Offers.of_all(view, now, policies)
        for kind in _ALWAYS_TOLD:
            offers.value(kind)
        if view.changes is None:
            self._seen = LedgerCounts(**{name: getattr(view.counts, name).copy() for name in _COUNTS})
        else:
            self._changes_seen = view.changes.number
        sampled, rated = view.observations.sampled_at, view.observations.rated
        stale = sampled[rated & ~offers.fresh]
        self._oldest_fresh = np.min(sampled[offers.fresh], initial=np.inf)
        self._newest_stale = np.max(stale[~np.isnan(stale)], initial=-np.inf)
        self._changed.clear()
        self._shapes.clear()
        return offers


def _differ(one: LedgerCounts, other: LedgerCounts) -> Bools:
    found = np.zeros(len(one.open_now), dtype=np.bool_)
    for name in _COUNTS:
        found |= getattr(one, name) != getattr(other, name)
    return found
