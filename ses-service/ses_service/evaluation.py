"""What each element would offer, and how far that falls short.

Predicted values per kind of requirement:

* current rates: the load model of :mod:`ses_service.prediction` with the current observed rates, of
  what the element is seen to be able to do (:mod:`ses_service.health`);
* average rates: the same model with the monitor's long-window averages in place of the current rates
  and without queue depth, which is a thing of the moment;
* free capacity: what the monitor last saw, however old, or else the element's whole capacity, less
  what the ledger reserved;
* kinds that are not predicted: what the site states of each element.

An observation older than ``Policies.max_data_age``, or without any rate, counts as absent: static
facts and ledger decide.

The distance is this project's own (the QStorMan paper names the idea, section 4.1, but publishes no
formula).  With ``p`` the predicted and ``r`` the required value and ``w`` the weight::

    s = max(0, 1 - p / r)            shortfall of one kind; 1 when p is unknown
      = max(0, 1 - r / p)            where r is the most that is allowed, such as a latency
    D = sqrt(sum(w s^2) / sum(w))    over the kinds asked for; 0 when none is
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ses_service.columns import STATES, Bools, Codes, Floats, ObservationTable
from ses_service.ledger import LedgerCounts
from ses_service.model import ElementState, Kind, Requirement
from ses_service.policies import Policies
from ses_service.prediction import in_doubt, predicted_share, unseen_share, with_doubt
from ses_service.question import View

Scalar = TypeVar("Scalar", bound=np.generic)

READ_KINDS = frozenset({Kind.CURRENT_READ_RATE, Kind.AVERAGE_READ_RATE})
WRITE_KINDS = frozenset({Kind.CURRENT_WRITE_RATE, Kind.AVERAGE_WRITE_RATE})
RATE_KINDS = READ_KINDS | WRITE_KINDS
_COUNTS = tuple(one.name for one in fields(LedgerCounts))
_ACTIVE = STATES.index(ElementState.ACTIVE)
CURRENT_KINDS = frozenset({Kind.CURRENT_READ_RATE, Kind.CURRENT_WRITE_RATE})


@dataclass(eq=False, slots=True)
class Offers:
    """What the elements of some rows of a view offer at ``now``.

    Columns are as long as ``rows`` and computed when first asked for; they stay as they were when
    the ledger changes afterwards.  ``whole`` says that ``rows`` are all rows in their order.
    ``fresh`` tells which elements have an observation that counts; ``others_unseen`` is how many
    streams of others an element without one is taken to carry.
    """

    view: View
    rows: Codes
    now: float
    policies: Policies
    fresh: Bools
    others_unseen: float
    whole: bool = False
    _counts: LedgerCounts | None = None
    _root: Offers | None = None
    _fair: dict[Kind, Floats] = field(init=False, default_factory=dict)
    _sure: dict[Kind, float] = field(init=False, default_factory=dict)
    _values: dict[Kind, Floats] = field(init=False, default_factory=dict)
    _shortfalls: dict[Requirement, Floats] = field(init=False, default_factory=dict)

    @classmethod
    def of_all(cls, view: View, now: float, policies: Policies) -> Offers:
        """Return the offers of every element."""
        seen = view.observations
        fresh = (now - seen.sampled_at <= policies.max_data_age) & seen.rated
        unseen = policies.unseen_streams if fresh.any() else 0.0
        return cls(view, np.arange(len(view.table)), now, policies, fresh, unseen, whole=True)

    def narrowed(self, places: Codes | Bools) -> Offers:
        """Return the offers at some places of these rows, with the values that are computed already."""
        part = self._at(places, None if self._counts is None else _taken(self._counts, places))
        part._values.update((kind, column[places]) for kind, column in self._values.items())
        return part

    def after(self, places: Codes, bookings: Floats, size: float | None, parts: int = 1) -> Offers:
        """Return the offers at some places, each after so many more bookings.

        ``size`` is that of a file in bytes, of which an element holds one of so many ``parts``.  A
        booking made now does to the columns what :class:`ses_service.ledger.Ledger` does when it books:
        the rates of an element that was sampled later than now have seen it already.
        """
        counts = _taken(self.counts, places)
        unseen = self.now > reference_times(self.view.observations, self.policies)[self.rows[places]]
        more = replace(
            counts,
            open_now=counts.open_now + bookings,
            since=counts.since + bookings * unseen,
            reserved=counts.reserved + bookings * ((size or 0.0) / parts),
            booked_last=np.where(bookings > 0, self.now, counts.booked_last),
        )
        return self._at(places, more)

    def update(self, rows: Codes) -> Codes:
        """Work out again, from the ledger as it is now, the values of some of all rows.

        Returns the rows that may have other values now: those, and all in doubt if the best sure share is
        another.
        """
        part = self._at(rows, None)
        rates = [kind for kind in self._values if kind in RATE_KINDS]
        for kind, fair in zip(rates, part._shares(rates), strict=True):
            self._fair[kind][rows] = fair
        before, self._sure = self._sure, {}
        if any(self._surely(kind) != sure for kind, sure in before.items()):
            rows = np.union1d(rows, np.flatnonzero(self.counts.read_doubt))
            part = self._at(rows, None)
        for kind, column in self._values.items():
            if kind in self._fair:
                part._fair[kind] = self._fair[kind][rows]
            column[rows] = part.value(kind)
        self.forget_shortfalls()
        return rows

    def forget_shortfalls(self) -> None:
        """Keep the values only: there are few kinds of them, but shortfalls for every requirement."""
        self._shortfalls.clear()

    @property
    def counts(self) -> LedgerCounts:
        """The ledger's counts of these rows."""
        if self._counts is None:
            self._counts = self.view.counts if self.whole else _taken(self.view.counts, self.rows)
        return self._counts

    def take(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Return the part of a column of the view that belongs to these rows."""
        return column if self.whole else column[self.rows]

    def value(self, kind: Kind) -> Floats:
        """Return the predicted or stated value of a kind, in its base unit; ``nan`` is unknown."""
        found = self._values.get(kind)
        if found is None:
            if kind in RATE_KINDS:
                found = self._rate(kind)
            else:
                found = self._free() if kind == Kind.FREE_CAPACITY else self._stated(kind)
            self._values[kind] = found
        return found

    def shortfall(self, requirement: Requirement) -> Floats:
        """Return ``s`` of one requirement, 0 to 1."""
        found = self._shortfalls.get(requirement)
        if found is None:
            value = self.value(requirement.kind)
            found = _missing(value, requirement.bound, at_most=requirement.kind.at_most)
            self._shortfalls[requirement] = found
        return found

    def distance(self, wanted: tuple[Requirement, ...]) -> Floats:
        """Return ``D`` over the requirements, 0 to 1."""
        squares, weights = np.zeros(len(self.rows)), 0.0
        for requirement in wanted:
            shortfall = self.shortfall(requirement)
            squares += requirement.weight * shortfall * shortfall
            weights += requirement.weight
        return np.sqrt(squares / weights) if weights > 0 else squares

    def ages(self, places: Codes | None = None) -> Floats:
        """Return the age of each observation, or of some, in seconds; ``nan`` where there is none."""
        rows = self.rows if places is None else self.rows[places]
        return np.maximum(0.0, self.now - self.view.observations.sampled_at[rows])

    def _free(self) -> Floats:
        observed = self.take(self.view.observations.free)
        known = np.where(np.isnan(observed), self.take(self.view.table.capacity), observed)
        return np.maximum(0.0, known - self.counts.reserved)

    def _rate(self, kind: Kind) -> Floats:
        """Return the share of a kind, with the doubts settled."""
        if kind not in self._fair:
            self._fair[kind] = self._shares([kind])[0]
        fair, doubt = self._fair[kind], self.counts.read_doubt * self.fresh
        if not doubt.any():
            return fair.copy()
        whole = self if self._root is None else self._root
        return in_doubt(fair, self._capability(kind), doubt, whole._surely(kind))

    def _surely(self, kind: Kind) -> float:
        """Return the best share, of all elements that take files, with all streams that may be there."""
        if kind not in self._sure:
            if kind not in self._fair:
                self._fair[kind] = self._shares([kind])[0]
            doubt, seen = self.counts.read_doubt * self.fresh, self.view.observations
            least = with_doubt(self._fair[kind], self._capability(kind), doubt)
            takes = (self.view.table.state == _ACTIVE) & ~seen.closed & ~seen.degraded
            self._sure[kind] = float(np.fmax.reduce(least[takes], initial=0.0))
        return self._sure[kind]

    def _capability(self, kind: Kind) -> Floats:
        return self.take(capability_of(self.view, kind)) * self.take(self.view.observations.health)

    def _shares(self, kinds: Sequence[Kind]) -> Floats:
        """Return the shares of some kinds, a row of the result for each.

        They are worked out as if there were as many more elements: for a few rows a pass over columns
        costs the same however long these are.
        """
        take, counts, seen, size = self.take, self.counts, self.view.observations, len(self.rows)

        def alike(column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
            return column if len(kinds) == 1 else np.concatenate([column] * len(kinds))

        def each(of_kind: Callable[[Kind], Floats]) -> Floats:
            return of_kind(kinds[0]) if len(kinds) == 1 else np.concatenate([of_kind(one) for one in kinds])

        def used(kind: Kind) -> Floats:
            return take(seen.utilisation if kind in CURRENT_KINDS else seen.average_utilisation)

        def depth(kind: Kind) -> Floats:
            return take(seen.queue_depth) if kind in CURRENT_KINDS else np.full(size, np.nan)

        if not kinds:
            return np.zeros((0, size))
        health = alike(take(seen.health))
        capability = each(self._capability)
        rates = _observed_rates(self.view)
        usable = alike(self.fresh) & ~np.isnan(each(lambda kind: take(rates[kind])))
        share = unseen_share(capability, alike(counts.open_now), self.others_unseen)
        if usable.any():
            seen_share = predicted_share(
                capability,
                np.minimum(1.0, each(used) / health),
                each(depth),
                alike(counts.open_at_sample),
                alike(counts.since + counts.read_since),
                alike(counts.ended),
                alike(counts.read_ended),
                alike(counts.read_back),
                self.policies,
            )
            share = np.where(usable, seen_share, share)
        return share.reshape(len(kinds), size)

    def _stated(self, kind: Kind) -> Floats:
        column = self.view.table.stated.get(kind)
        return np.full(len(self.rows), np.nan) if column is None else self.take(column).copy()

    def _at(self, places: Codes | Bools, counts: LedgerCounts | None) -> Offers:
        return Offers(
            self.view,
            self.rows[places],
            self.now,
            self.policies,
            self.fresh[places],
            self.others_unseen,
            _counts=counts,
            _root=self if self._root is None else self._root,
        )


def _missing(value: Floats, bound: float, *, at_most: bool) -> Floats:
    """Return how much of a bound is missed, 0 to 1; a minimum of 0 is met by everything, even unknown."""
    if bound <= 0 and not at_most:
        return np.zeros(len(value))
    if at_most:
        ratio = np.divide(bound, value, out=np.full(len(value), np.inf), where=value != 0)
    else:
        ratio = value / bound
    found: Floats = np.maximum(0.0, 1.0 - ratio)
    found[np.isnan(found)] = 1.0
    return found


def reference_times(observations: ObservationTable, policies: Policies) -> Floats:
    """Return the moments the rates describe: the middle of their window; ``nan`` where there are none."""
    return observations.sampled_at - policies.rate_window / 2


def _taken(counts: LedgerCounts, rows: Codes | Bools) -> LedgerCounts:
    return LedgerCounts(*[getattr(counts, name)[rows] for name in _COUNTS])


def capability_of(view: View, kind: Kind) -> Floats:
    """Return the nominal rates of the direction a rate kind is about."""
    seen = view.observations
    return seen.read_capability if kind in READ_KINDS else seen.write_capability


def _observed_rates(view: View) -> Mapping[Kind, Floats]:
    seen = view.observations
    return {
        Kind.CURRENT_READ_RATE: seen.current_read,
        Kind.AVERAGE_READ_RATE: seen.average_read,
        Kind.CURRENT_WRITE_RATE: seen.current_write,
        Kind.AVERAGE_WRITE_RATE: seen.average_write,
    }
