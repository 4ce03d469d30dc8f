"""Choosing beside others who choose at the same moment and are heard of a little later.

Services that share their ledgers would all take the same best element until they hear of each other.  Each
therefore draws among the elements that serve the need equally well (:func:`ses_service.ranking.spread`), in
proportion to the part of the next files these would get if the others place as many as is to be expected.

Large batches and files on several elements go round the best elements anyway, and are not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ses_service.columns import Codes
from ses_service.evaluation import READ_KINDS, WRITE_KINDS, Offers, capability_of
from ses_service.model import Kind
from ses_service.question import Question
from ses_service.ranking import spread

FEWEST_EXPECTED = 0.1
LARGEST_BATCH = 64
_LOOKED_AT = 4
_FEWEST_LOOKED_AT, _MOST_LOOKED_AT = 32, 512
_APART = 0.5698402910  # lots of one batch lie far apart (R2 sequence, Roberts 2018)


@dataclass(frozen=True, slots=True)
class Beside:
    """Other deciders: how many files they place that we do not know yet, and a lot from 0 up to but not 1.

    ``before`` is how many files of the same batch were drawn already.
    """

    expected: float
    lot: float
    before: int = 0

    def rows(self, count: int) -> int:
        """Return among how many of the best rows ``count`` files are drawn; 0: they are not."""
        if self.expected < FEWEST_EXPECTED or count > LARGEST_BATCH:
            return 0
        wanted = _LOOKED_AT * (count + int(self.expected))
        return min(_MOST_LOOKED_AT, max(_FEWEST_LOOKED_AT, wanted))


def drawn(question: Question, ranked: Offers, count: int, beside: Beside) -> list[int]:
    """Return the places of ``ranked``, rows in their order, for ``count`` files one after the other.

    None when nothing is to be drawn.
    """
    looked_at = beside.rows(count)
    if not looked_at:
        return []
    places = _equally_good(question, ranked.narrowed(np.arange(min(looked_at, len(ranked.rows)))))
    kind = _ordering_kind(question)
    share = ranked.value(kind)[places]
    capability = ranked.take(capability_of(ranked.view, kind))[places]
    told = (share > 0) & (capability > 0)
    places, share, capability = places[told], share[told], capability[told]
    if len(places) < 2:
        return []
    streams, own = np.maximum(0.0, capability / share - 1.0), np.zeros(len(places))
    found = []
    for turn in range(count):
        lot = (beside.lot + (beside.before + turn) * _APART) % 1.0
        row = spread(streams, capability, beside.expected, lot, own)
        own[row] += 1.0
        found.append(int(places[row]))
    return found


def _equally_good(question: Question, best: Offers) -> Codes:
    policies = best.policies
    steps = np.rint(best.distance(question.wanted) / policies.distance_step)
    alike = steps == steps[:1]
    if policies.scarce_tiers:
        tier = best.take(best.view.table.tier)
        alike &= tier == tier[:1]
    return np.flatnonzero(alike)


def _ordering_kind(question: Question) -> Kind:
    asked = [one.kind for one in question.wanted]
    writing = [kind for kind in asked if kind in WRITE_KINDS]
    reading = [kind for kind in asked if kind in READ_KINDS]
    return (writing or reading or [Kind.CURRENT_WRITE_RATE])[0]
