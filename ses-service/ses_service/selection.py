"""The decision: filter with a reason each, then rank by distance from the need.

``decide()`` is pure: the same question, view, time and policies give the same answer.

Order (section 4 of this project's design):

1. distance D (:mod:`ses_service.evaluation`) in steps of ``Policies.distance_step``;
2. where rates are asked for and met: elements outside ``Policies.scarce_tiers`` first;
3. the larger predicted share;
4. fewer bytes placed so far, in proportion to capability;
5. a hash of subject, seed and element.

The share that orders is

* the one direction asked for, when only reading or only writing is; of its current and its average
  share the smaller, when both are asked for;
* when both directions are asked for, the smallest ratio of share to minimum: one file needs both,
  and the direction that is shorter in proportion is the one that will be felt;
* the current write share when no rate is asked for: a file that is being created is written first.

An element whose share is unknown comes after all of its step whose share is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ses_service.columns import Bools, Codes, Floats, stable_hash
from ses_service.evaluation import READ_KINDS, WRITE_KINDS, Offers, capability_of
from ses_service.explain import candidates, refusal
from ses_service.filters import ACCEPTED, REASONS, refusals
from ses_service.model import Kind
from ses_service.placement import Candidate, Reason, Refusal
from ses_service.policies import Policies
from ses_service.question import Decision, Question, View
from ses_service.ranking import Key, first_rows, mixed


def decide(question: Question, view: View, now: float, policies: Policies) -> Decision:
    """Rank every element of the view for the question; book nothing."""
    offers = Offers.of_all(view, now, policies)
    codes = refusals(question, offers)
    ranked = _ranked(question, _part(offers, codes == ACCEPTED), question.limit)
    return _decision(question, offers, codes, candidates(question, ranked))


def deal(
    question: Question,
    view: View,
    now: float,
    policies: Policies,
    count: int,
    book: Callable[[Candidate, tuple[Candidate, ...], tuple[Refusal, ...]], None],
) -> Decision:
    """Choose ``count`` places one after the other, each knowing those before it.

    ``book`` receives the chosen candidate, the first ranks and the refused elements, and must add
    the placement to the ledger whose counts ``view`` holds.  Fewer are dealt when the elements
    fill up.  Returns the decision as it was before the first booking.

    All rows are ranked once.  A booking makes no element better and only its own worse, so the
    first ``count + k`` rows contain the first ``k`` after every booking.
    """
    shown = policies.explained_candidates
    offers = Offers.of_all(view, now, policies)
    codes = refusals(question, offers)
    needed = max(question.limit, count + shown) if question.limit else 0
    ranked = _ranked(question, _part(offers, codes == ACCEPTED), needed)
    listed = ranked.narrowed(np.arange(len(ranked.rows))[: question.limit or None])
    decision = _decision(question, offers, codes, candidates(question, listed))
    for first in _each(question, ranked, count, shown):
        book(first[0], first, decision.refused)
    return decision


def _each(question: Question, shortlist: Offers, count: int, shown: int) -> Iterator[tuple[Candidate, ...]]:
    """Yield the first ranks of the shortlist ``count`` times, seeing the ledger as it then is."""
    for _ in range(count):
        offers = shortlist.again()
        accepted = _part(offers, refusals(question, offers) == ACCEPTED)
        if not len(accepted.rows):
            return
        ranked = _ranked(question, accepted, shown)
        yield candidates(question, ranked)


def _part(offers: Offers, which: Bools) -> Offers:
    return offers if which.all() else offers.narrowed(which)


def _ranked(question: Question, offers: Offers, count: int) -> Offers:
    """Return the offers of the first ``count`` rows, in order (0: of all)."""
    return offers.narrowed(first_rows(_keys(question, offers), count)) if len(offers.rows) else offers


def _keys(question: Question, offers: Offers) -> list[Key]:
    view, rows, policies = offers.view, offers.rows, offers.policies
    steps = np.rint(offers.distance(question.wanted) / policies.distance_step)
    keys: list[Key] = [steps]
    asked = [one for one in question.wanted if one.kind is not Kind.FREE_CAPACITY]
    if asked and policies.scarce_tiers:
        scarce = np.array([view.table.tiers[row] in policies.scarce_tiers for row in rows.tolist()])
        keys.append(scarce & (steps == 0))
    share, capability = _ordering_share(question, offers)
    keys.append(np.where(np.isnan(share), np.inf, -share))
    keys.append(offers.take(view.counts.placed) / np.where(np.isnan(capability), 1.0, capability))
    keys.append(mixed(offers.take(view.table.hashes), _salt(question)))
    return keys


def _ordering_share(question: Question, offers: Offers) -> tuple[Floats, Floats]:
    """Return the share that orders (see the head of this file) and the capability behind it."""
    reading = [one for one in question.wanted if one.kind in READ_KINDS]
    writing = [one for one in question.wanted if one.kind in WRITE_KINDS]
    asked = reading + writing
    kind = (writing or reading)[0].kind if asked else Kind.CURRENT_WRITE_RATE
    capability = offers.take(capability_of(offers.view, kind))
    if not asked:
        return offers.value(kind), capability
    scales = [one.minimum if reading and writing and one.minimum > 0 else 1.0 for one in asked]
    shares = [offers.value(one.kind) / scale for one, scale in zip(asked, scales, strict=True)]
    return np.minimum.reduce(shares), capability


def _salt(question: Question) -> int:
    who = question.subject
    parts = (who.user, who.application, who.vo, who.node, who.job, question.seed)
    return stable_hash("\x00".join("" if part is None else str(part) for part in parts))


def _decision(question: Question, offers: Offers, codes: Codes, ranked: tuple[Candidate, ...]) -> Decision:
    refused_rows = np.flatnonzero(codes != ACCEPTED)
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
        notes=tuple(_notes(question, offers, codes, listed, total, ranked)),
    )


def _notes(
    question: Question,
    offers: Offers,
    codes: Codes,
    listed: tuple[Refusal, ...],
    total: int,
    ranked: tuple[Candidate, ...],
) -> Iterator[str]:
    accepted = codes == ACCEPTED
    unseen = int(np.count_nonzero(accepted & ~offers.fresh))
    if unseen:
        limit = offers.policies.max_data_age
        yield (
            f"{unseen} of {int(np.count_nonzero(accepted))} candidates have no rates of the last "
            f"{limit:g} s: judged by static facts and the ledger."
        )
    if ranked and REASONS.index(Reason.DEGRADED) not in codes and ranked[0].element.state == "degraded":
        yield "Only degraded elements are left."
    unknown = sorted(name for name in question.exclude if name not in offers.view.table.index)
    if unknown:
        yield f"Excluded but not described by the site: {', '.join(unknown[:5])}."
    if total > len(listed):
        yield f"{total - len(listed)} more elements were refused; ask with limit 0 to list them all."
