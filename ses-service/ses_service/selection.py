"""The decision: filter with a reason each, then rank by distance from the need.

``decide()`` is pure: the same question, view, time and policies give the same answer.  The filter
stands in :mod:`ses_service.filters`, the order in :mod:`ses_service.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ses_service.beside import Beside, drawn
from ses_service.dealing import dealt
from ses_service.evaluation import Offers
from ses_service.explain import candidates, choice, refusal
from ses_service.layout import may_stripe, stripes_for
from ses_service.placement import Candidate, Choice, Refusal
from ses_service.policies import Policies
from ses_service.question import Decision, Question, View
from ses_service.standing import Kept, Standing
from ses_service.striping import ONE_STRIPE, Stripes


def decide(
    question: Question, view: View, now: float, policies: Policies, *, kept: Kept | None = None
) -> Decision:
    """Rank every element of the view for the question; book nothing.

    ``kept`` makes it faster, by what earlier decisions worked out, and changes nothing else.
    """
    standing = _standing(question, view, now, policies, kept)
    if not may_stripe(question, view):
        return _decision(question, standing, standing.candidates(question), ONE_STRIPE)
    ranked = standing.ranked(question, 0)
    stripes = stripes_for(question, ranked, 1)
    listed = ranked.narrowed(np.arange(len(ranked.rows))[: question.limit or None])
    return _decision(question, standing, candidates(question, listed), stripes)


@dataclass(frozen=True, slots=True)
class Deck:
    """Places to be dealt for the files of a question, one after the other, each knowing those before it.

    ``decision`` is what was decided before the first, ``shown`` its first ranks.  A choice says what its
    elements offer at its turn, and its rank before the first.  There are fewer than were asked for when the
    elements fill up.
    """

    decision: Decision
    shown: tuple[Candidate, ...]
    choices: Iterator[Choice]


def deck(
    question: Question,
    view: View,
    now: float,
    policies: Policies,
    count: int,
    *,
    kept: Kept | None = None,
    beside: Beside | None = None,
    stripes: Stripes | None = None,
    files: int | None = None,
) -> Deck:
    """Rank all rows once, and choose ``count`` places by and by.

    Who takes a choice should add it to the ledger whose counts ``view`` holds before anything else is; those
    of one deck are told apart here, so that it does not matter whether the ledger counts them at once.  Once
    something else was booked or seen, the rest of the deck is out of date.

    ``beside``: others choose at the same moment, so that the first row is not the best choice
    (:mod:`ses_service.beside`).  ``files``: how many there are of which these are some; ``stripes``: what
    the ones before have each.

    A booking makes no element better and only its own worse, so that the first ``count`` rows hold the first
    one after every booking.
    """
    standing = _standing(question, view, now, policies, kept)
    striped = may_stripe(question, view)
    drawn_from = 0 if beside is None or striped else beside.rows(count)
    needed = max(question.limit, count, policies.explained_candidates, drawn_from)
    if (striped and stripes != ONE_STRIPE) or not question.limit:
        needed = 0
    ranked = standing.ranked(question, needed)
    if stripes is None:
        stripes = stripes_for(question, ranked, files or count) if striped else ONE_STRIPE
    listed = max(question.limit or len(ranked.rows), policies.explained_candidates)
    first = candidates(question, ranked.narrowed(np.arange(min(listed, len(ranked.rows)))))
    decision = _decision(question, standing, first[: question.limit or None], stripes)
    order = [] if beside is None or striped else drawn(question, ranked, count, beside)
    if order or count * stripes.count > 1:
        choices = dealt(question, ranked, count, stripes, order)
    else:
        notes = tuple(filter(None, [stripes.sentence(policies)]))
        choices = (choice(one, (), (), notes) for one in first[:1])
    return Deck(decision, first[: policies.explained_candidates], choices)


def deal(
    question: Question,
    view: View,
    now: float,
    policies: Policies,
    count: int,
    book: Callable[[Choice, tuple[Candidate, ...], tuple[Refusal, ...]], None],
    *,
    kept: Kept | None = None,
    beside: Beside | None = None,
) -> Decision:
    """Deal a whole deck; ``book`` receives each choice, the first ranks and the refused elements.

    Returns the decision before the first booking.
    """
    whole = deck(question, view, now, policies, count, kept=kept, beside=beside)
    for chosen in whole.choices:
        book(chosen, whole.shown, whole.decision.refused)
    return whole.decision


def _standing(question: Question, view: View, now: float, policies: Policies, kept: Kept | None) -> Standing:
    if kept is not None:
        return kept.standing(question, view, now, policies)
    return Standing(question, Offers.of_all(view, now, policies))


def _decision(
    question: Question, standing: Standing, ranked: tuple[Candidate, ...], stripes: Stripes
) -> Decision:
    offers, codes = standing.offers, standing.codes
    refused_rows = standing.refused_rows
    total = len(refused_rows)
    if question.limit:
        refused_rows = refused_rows[: offers.policies.listed_refusals]
    listed = tuple(refusal(question, offers, int(row), int(codes[row])) for row in refused_rows)
    return Decision(
        decided_at=offers.now,
        requirements=question.requirements,
        candidates=ranked,
        refused=listed,
        refused_total=total,
        notes=tuple(_notes(question, standing, len(listed), total, ranked, stripes)),
        stripes=stripes,
    )


def _notes(
    question: Question,
    standing: Standing,
    listed: int,
    total: int,
    ranked: tuple[Candidate, ...],
    stripes: Stripes,
) -> Iterator[str]:
    offers = standing.offers
    about_stripes = stripes.sentence(offers.policies)
    if about_stripes:
        yield about_stripes
    if standing.unseen:
        yield (
            f"{standing.unseen} of {len(standing.codes) - total} candidates have no rates of the last "
            f"{offers.policies.max_data_age:g} s: judged by static facts and the ledger."
        )
    if ranked and _is_degraded(ranked[0], offers.view):
        yield "Only degraded elements are left."
    unknown = sorted(name for name in question.exclude if name not in offers.view.table.index)
    if unknown:
        yield f"Excluded but not described by the site: {', '.join(unknown[:5])}."
    if total > listed:
        yield f"{total - listed} more elements were refused; ask with limit 0 to list them all."


def _is_degraded(one: Candidate, view: View) -> bool:
    """Whether the site or the monitor says so."""
    return one.element.state == "degraded" or bool(
        view.observations.degraded[view.table.index[one.element.id]]
    )
