"""Choosing beside others who choose at the same moment and are heard of a little later.

Services that share their ledgers would all take the same best element until they hear of each other.  Each
therefore looks at a few of the elements that serve the need equally well, in an order of its own, and takes
the least loaded (:func:`ses_service.ranking.spread`).  What it carries itself it knows; what others carried
at their last word counts by the chance that it is still there.

Large batches and files on several elements go round the best elements anyway, and are not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ses_service.columns import Codes, Floats
from ses_service.evaluation import READ_KINDS, WRITE_KINDS, Offers, capability_of
from ses_service.model import Kind
from ses_service.question import Question
from ses_service.ranking import order_of_own, spread

FEWEST_EXPECTED = 0.05
LARGEST_BATCH = 64
_LOOKED_AT, _LOOKED_AT_FOR_OTHERS = 4, 8
_FEWEST_LOOKED_AT, _MOST_LOOKED_AT = 64, 512
_KEPT = 0.5  # streams that a prediction may count where nobody is
_TINY = 1e-9  # what ``C / (C / n)`` may be less than ``n``


@dataclass(frozen=True, slots=True)
class Beside:
    """Other deciders: how many files they place that we do not know yet, and a lot from 0 up to but not 1.

    ``carried`` are the streams they said they have on each row of the table, ``doubted`` the part of these
    that may be gone; ``None``: they said nothing.
    """

    expected: float
    lot: float
    carried: Floats | None = None
    doubted: Floats | None = None

    def rows(self, count: int) -> int:
        """Return among how many of the best rows ``count`` files are drawn; 0: they are not."""
        if self.expected < FEWEST_EXPECTED or count > LARGEST_BATCH:
            return 0
        wanted = _LOOKED_AT * count + int(_LOOKED_AT_FOR_OTHERS * self.expected)
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
    in_line = np.argsort(ranked.rows[places])
    places, share, capability = places[in_line], share[in_line], capability[in_line]
    rows = ranked.rows[places]
    carried = _on(beside.carried, rows)
    own = np.maximum(0.0, ranked.view.counts.open_now[rows] - carried)
    others = others_of(capability / share - 1.0, own, carried, _on(beside.doubted, rows))
    order = order_of_own(capability, beside.lot)
    found = []
    for _ in range(count):
        row = spread(order, own, others, capability, beside.expected)
        own[row] += 1.0
        found.append(int(places[row]))
    return found


def others_of(streams: Floats, own: Floats, carried: Floats, doubted: Floats) -> Floats:
    """Return the streams of everybody else, per row, out of the predicted ones.

    ``own`` are those of the decider, ``carried`` what other deciders said they have there and ``doubted`` the
    part of that which may be gone.  What is neither belongs to strangers, less half a stream, and in whole
    ones: the prediction keeps half of what ended and takes a busy element for more than one stream
    (:func:`ses_service.prediction.active_streams`), and where files come and go that is no stranger
    (simulated, 64 deciders: mean slowdown 1.67 with all of it, 1.61 without that half).
    """
    rest = np.maximum(0.0, streams - own)
    told = np.minimum(rest, carried)
    strangers = np.floor(np.maximum(0.0, rest - told - _KEPT) + _TINY)
    return strangers + np.maximum(0.0, told - doubted)


def _on(column: Floats | None, rows: Codes) -> Floats:
    return np.zeros(len(rows)) if column is None else column[rows]


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
