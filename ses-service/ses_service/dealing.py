"""Many places in one go: who is next, when each of a batch knows those before it.

Nothing is asked of the ledger in between.  A booking changes the counts of its own element only, in
a way known beforehand, so how each of the best elements stands after 0, 1, 2, ... further bookings
(its steps) is worked out for all of them in a few passes over columns.  Dealing then takes the best
step, again and again, and brings the next step of that element into the comparison.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ses_service.columns import Codes, Floats
from ses_service.evaluation import Offers
from ses_service.explain import Sheet, choice
from ses_service.filters import ACCEPTED, refusals
from ses_service.layout import enough, stripable
from ses_service.order import order_keys
from ses_service.placement import Choice
from ses_service.question import Question
from ses_service.striping import Stripes

Key: TypeAlias = tuple[Any, ...]
Waiting: TypeAlias = tuple[Key, int, int]


def dealt(
    question: Question, ranked: Offers, count: int, stripes: Stripes, order: Sequence[int] = ()
) -> Iterator[Choice]:
    """Yield up to ``count`` choices, best first, each as it stands after those before it.

    ``ranked`` holds rows in their order: ``count`` of them at least, if there are so many, and all of
    them where a file has several stripes.  The rank of a choice is the one its element has there.
    Ends early when every element is full.  ``order``: the places to take, as long as they are not full,
    instead of the best ones; only where a file has one stripe.
    """
    places = np.array(sorted(set(order))) if order else enough(ranked, count, stripes)
    if not len(places):
        return
    bookings = count * stripes.count
    depth = 1 if count == 1 else -(-2 * bookings // len(places))
    steps = _Steps(question, ranked, places, depth, stripes.count)
    notes = tuple(filter(None, [stripes.sentence(ranked.policies)]))
    waiting: list[Waiting] = []
    for place in places.tolist():
        steps.push(waiting, place, 0)
    for left in range(count, 0, -1):
        if not waiting:
            return
        taken = [_taken(waiting, order[count - left]) if order else heapq.heappop(waiting)]
        if stripes.count > 1 and stripable(ranked, taken[0][1]):
            taken += _others(waiting, ranked, taken[0][1], stripes.count - 1)
        yield steps.choice([(place, step) for _, place, step in taken], notes)
        if left > 1:
            for _, place, step in taken:
                steps.push(waiting, place, step + 1)


def _taken(waiting: list[Waiting], place: int) -> Waiting:
    wanted = next((one for one in waiting if one[1] == place), waiting[0])
    if wanted is waiting[0]:
        return heapq.heappop(waiting)
    waiting.remove(wanted)
    heapq.heapify(waiting)
    return wanted


def _others(waiting: list[Waiting], ranked: Offers, first: int, count: int) -> list[Waiting]:
    """Take up to ``count`` more of the first one's system, each server once while there are others."""
    table, rows = ranked.view.table, ranked.rows
    system, used = table.system[rows[first]], {table.server[rows[first]]}
    taken: list[Waiting] = []
    aside: list[Waiting] = []
    while waiting and len(taken) < count:
        one = heapq.heappop(waiting)
        row = rows[one[1]]
        if table.system[row] == system and table.server[row] not in used and stripable(ranked, one[1]):
            used.add(table.server[row])
            taken.append(one)
        else:
            aside.append(one)
    again = [one for one in aside if table.system[rows[one[1]]] == system and stripable(ranked, one[1])]
    more = again[: count - len(taken)]
    for one in aside:
        if one not in more:
            heapq.heappush(waiting, one)
    return taken + more


class _Steps:
    """How the rows at some places of a ranking stand after each number of further bookings.

    All rows begin with ``depth`` steps; a row that needs more gets as many again.
    """

    def __init__(self, question: Question, ranked: Offers, places: Codes, depth: int, parts: int) -> None:
        self._question = question
        self._ranked = ranked
        self._parts = parts
        bookings = np.tile(np.arange(float(depth)), len(places))
        block = _Block(question, ranked, np.repeat(places, depth), bookings, parts)
        self._blocks: dict[int, list[tuple[_Block, int]]] = {
            place: [(block, number * depth + step) for step in range(depth)]
            for number, place in enumerate(places.tolist())
        }

    def push(self, waiting: list[Waiting], place: int, step: int) -> None:
        """Let a step take part in the comparison, unless the element is full by then."""
        block, at = self._find(place, step)
        if block.accepted[at]:
            heapq.heappush(waiting, (block.keys[at], place, step))

    def choice(self, taken: list[tuple[int, int]], notes: tuple[str, ...]) -> Choice:
        """Return the choice of these elements, the first one first, each as it stands at its step."""
        if len(taken) == 1:
            block, at = self._find(*taken[0])
            return block.sheet.choice(at, taken[0][0] + 1, notes)
        found = [(block.sheet, at) for block, at in (self._find(*one) for one in taken)]
        sheet, at = found[0]
        return choice(sheet.candidate(at, taken[0][0] + 1), self._question.wanted, found, notes)

    def _find(self, place: int, step: int) -> tuple[_Block, int]:
        known = self._blocks[place]
        if step >= len(known):
            more = len(known)
            bookings = np.arange(float(more), float(2 * more))
            block = _Block(self._question, self._ranked, np.full(more, place), bookings, self._parts)
            known.extend((block, at) for at in range(more))
        return known[step]


class _Block:
    """Some steps of some rows: whether the element may be chosen, its key, and its numbers."""

    def __init__(
        self, question: Question, ranked: Offers, places: Codes, bookings: Floats, parts: int
    ) -> None:
        offers = ranked.after(places, bookings, question.expected_bytes, parts)
        self.accepted: list[bool] = (refusals(question, offers) == ACCEPTED).tolist()
        self.keys: list[Key] = list(
            zip(*(column.tolist() for column in order_keys(question, offers)), strict=True)
        )
        self.sheet = Sheet(question, offers)
