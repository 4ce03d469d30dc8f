"""The decision as the service makes it: the core's, over the rows of the whole site, in words.

``decide()`` is pure: the same question, view and time give the same answer, and changes nothing.  What is
predicted, filtered and compared, and how, stands in ``ses/core.h``.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from ses_core import Cause, Query, Records, State

from ses_service.decision.explain import candidates, limited_by_servers, refusals
from ses_service.decision.needs import need_of
from ses_service.decision.question import Decision, Question, Stripes, View
from ses_service.model.columns import Bools, Codes
from ses_service.model.policies import Policies
from ses_service.model.server_links import link_notes

_NONE: Codes = np.zeros(0, dtype=np.int64)
_MAX_NOTED = 3  # elements that some nodes exclude
_DEGRADED = int(State.DEGRADED)
_STRIPING = frozenset({"lustre"})  # storage systems whose elements can be named one by one
_CAUSES = {
    Cause.RATE: "the smallest number whose shares add up to the rate asked for",
    Cause.HINT: "the program asks for it",
    Cause.SIZE: "a stripe is to hold {size:g} MiB at least",
    Cause.IDLE: "half of the idle elements are left to other files",
    Cause.SITE: "the site allows no more",
    Cause.ELEMENTS: "there are no more elements",
}


def decide(question: Question, view: View, now: float, policies: Policies) -> Decision:
    """Judge every element of the view for the question."""
    rows = view.rows
    need = need_of(
        question.wanted,
        rows.stated,
        size=question.expected_bytes,
        room=question.room,
        stripes=question.stripe_count,
    )
    left_out = _left_out(question, view)
    query = rows.query
    query.ask(need, words(left_out))
    accepted = query.judge()
    ranking = query.rank_by(question.limit or None)
    order = ranking[0].astype(np.int64)
    refused, unseen = _NONE, rows.unseen
    if accepted < len(rows.elements):
        refused = np.flatnonzero(query.verdicts["refusal"])
        unseen = unseen[query.verdicts["refusal"][unseen] == 0]
    if question.is_place:
        code = view.table.system_names.index(question.storage_system)
        refused = refused[view.table.system[refused] == code]
    listed = refused if not question.limit else refused[: policies.listed_refusals]
    ranked = candidates(question, view, query.verdicts, order, ranking[1:], now)
    left = refusals(question, view, query.verdicts, listed, policies)
    stripes = _stripes(query, need, left_out, order, view) if len(order) else Stripes()
    return Decision(
        decided_at=now,
        requirements=question.requirements,
        candidates=ranked,
        refused=left,
        refused_total=len(refused),
        notes=tuple(_notes(question, view, order, len(listed), len(refused), unseen, stripes, now)),
        stripes=stripes,
    )


def _left_out(question: Question, view: View) -> Bools | None:
    """Return which elements are none of the question's, ``None`` where all are."""
    table = view.table
    systems = [
        question.is_about(name, table) and (mounted is None or name in mounted)
        for mounted in (table.environment.node_access.get(question.subject.node or ""),)
        for name in table.system_names
    ]
    here = [name for name, exclusion in view.excluded.items() if exclusion.holds_for(question.subject.node)]
    if all(systems) and not question.exclude and not here:
        return None
    left_out: Bools = ~np.array(systems, dtype=np.bool_)[table.system]
    left_out[[table.index[name] for name in (*question.exclude, *here) if name in table.index]] = True
    return left_out


def words(left_out: Bools | None) -> npt.NDArray[np.uint64] | None:
    """Return a bit for each row, in words of 64, as the core takes rows that are left out."""
    if left_out is None:
        return None
    words = np.zeros((len(left_out) + 63) // 64, dtype=np.uint64)
    packed = np.packbits(left_out, bitorder="little")
    words.view(np.uint8)[: len(packed)] = packed
    return words


def _stripes(query: Query, need: Records, left_out: Bools | None, order: Codes, view: View) -> Stripes:
    """Return over how many elements a file on the first is spread: elements of its system, by number.

    The verdicts of the query may be others afterwards.
    """
    table = view.table
    code = table.system[order[0]]
    system = table.environment.systems.get(table.system_names[code])
    if system is None or system.backend not in _STRIPING:
        return Stripes()
    others = (table.system != code) | ~table.numbered
    if others[order[0]]:
        return Stripes()
    if others.any():
        query.ask(need, words(others if left_out is None else others | left_out))
        query.judge()
    spread, cause = query.stripe()
    if cause not in _CAUSES:
        return Stripes()
    over = "one element" if len(spread) == 1 else f"{len(spread)} elements"
    why = _CAUSES[cause].format(size=float(view.rows.policy["stripe_bytes"][0]) / 2**20)
    return Stripes(max(1, len(spread)), f"A file is spread over {over}: {why}.")


def _notes(
    question: Question,
    view: View,
    order: Codes,
    listed: int,
    total: int,
    unseen: Codes,
    stripes: Stripes,
    now: float,
) -> Iterator[str]:
    if stripes.sentence:
        yield stripes.sentence
    yield from link_notes(limited_by_servers(view, order))
    if len(unseen):
        judged = f"of {len(view.table) - total} candidates have {{}}: judged by static facts and the ledger."
        young = unseen[view.rows.ages(now, unseen) <= view.rows.oldest[unseen]].tolist()
        if len(young) < len(unseen):
            yield f"{len(unseen) - len(young)} {judged.format('no sample that is young enough')}"
        if young:
            seen = ((view.table.elements[row].id, view.observations.by_row[row]) for row in young)
            why = next(
                (
                    f" ({name}: {observation.detail})"
                    for name, observation in seen
                    if observation and observation.detail
                ),
                "",
            )
            yield f"{len(young)} {judged.format('a sample with neither a rate nor a queue' + why)}"
    if len(order) and int(view.rows.elements["state"][order[0]]) & _DEGRADED:
        yield "Only degraded elements are left."
    if question.subject.node is None:
        excluded = sorted(name for name, exclusion in view.excluded.items() if not exclusion.everywhere)
        yield from (f"{name} is {view.excluded[name].sentence()}." for name in excluded[:_MAX_NOTED])
    unknown = sorted(name for name in question.exclude if name not in view.table.index)
    if unknown:
        yield f"Excluded but not described by the site: {', '.join(unknown[:5])}."
    if total > listed:
        yield f"{total - listed} more elements were refused; ask with limit 0 to list them all."
