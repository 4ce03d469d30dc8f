"""Many places in one go: who is next, when each of a batch knows those before it.

Nothing is asked of the ledger in between.  A booking changes the counts of its own element only, in
a way known beforehand, so how each of the best elements stands after 0, 1, 2, ... further bookings
(its steps) is worked out for all of them in a few passes over columns.  Dealing then takes the best
step, again and again, and brings the next step of that element into the comparison.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from ses_service.evaluation import Offers
from ses_service.explain import Sheet
from ses_service.filters import ACCEPTED, refusals
from ses_service.order import order_keys
from ses_service.placement import Candidate
from ses_service.question import Question

Key: TypeAlias = tuple[Any, ...]


def dealt(question: Question, ranked: Offers, count: int) -> Iterator[Candidate]:
    """Yield up to ``count`` candidates, best first, each as it stands after those before it.

    ``ranked`` holds rows in their order and ``count`` of them at least, if there are so many.  The
    rank of a candidate is the one it has there.  Ends early when every element is full.
    """
    size = min(count, len(ranked.rows))
    if not size:
        return
    steps = _Steps(question, ranked, size, depth=1 if count == 1 else -(-2 * count // size))
    waiting: list[tuple[Key, int, int]] = []
    for place in range(size):
        steps.push(waiting, place, 0)
    for left in range(count, 0, -1):
        if not waiting:
            return
        _, place, step = heapq.heappop(waiting)
        yield steps.candidate(place, step)
        if left > 1:
            steps.push(waiting, place, step + 1)


class _Steps:
    """How the first rows of a ranking stand after each number of further bookings.

    All rows begin with ``depth`` steps; a row that needs more gets as many again.
    """

    def __init__(self, question: Question, ranked: Offers, size: int, depth: int) -> None:
        self._question = question
        self._ranked = ranked
        places = np.arange(size)
        block = _Block(question, ranked, np.repeat(places, depth), np.tile(np.arange(float(depth)), size))
        self._blocks: list[list[tuple[_Block, int]]] = [
            [(block, place * depth + step) for step in range(depth)] for place in range(size)
        ]

    def push(self, waiting: list[tuple[Key, int, int]], place: int, step: int) -> None:
        """Let a step take part in the comparison, unless the element is full by then."""
        block, at = self._find(place, step)
        if block.accepted[at]:
            heapq.heappush(waiting, (block.keys[at], place, step))

    def candidate(self, place: int, step: int) -> Candidate:
        """Return the element as it stands at a step."""
        block, at = self._find(place, step)
        return block.sheet.candidate(at, place + 1)

    def _find(self, place: int, step: int) -> tuple[_Block, int]:
        known = self._blocks[place]
        if step >= len(known):
            more = len(known)
            block = _Block(
                self._question, self._ranked, np.full(more, place), np.arange(float(more), float(2 * more))
            )
            known.extend((block, at) for at in range(more))
        return known[step]


class _Block:
    """Some steps of some rows: whether the element may be chosen, its key, and its numbers."""

    def __init__(self, question: Question, ranked: Offers, places: Any, bookings: Any) -> None:
        offers = ranked.after(places, bookings, question.expected_bytes)
        self.accepted: list[bool] = (refusals(question, offers) == ACCEPTED).tolist()
        self.keys: list[Key] = list(
            zip(*(column.tolist() for column in order_keys(question, offers)), strict=True)
        )
        self.sheet = Sheet(question, offers)
