"""From a ranking to stripes: whether the best place can stripe, and over which elements a file may go.

Only elements of the best one's storage system take part, and only where its back end can put a file on
elements named one by one: Lustre, whose targets are numbers.  The number itself is decided in
:mod:`ses_service.striping`.
"""

from __future__ import annotations

import numpy as np

from ses_service.columns import Codes
from ses_service.evaluation import READ_KINDS, WRITE_KINDS, Offers, capability_of
from ses_service.model import Kind
from ses_service.question import Question, View
from ses_service.striping import IDLE_ABOVE, ONE_STRIPE, Stripes, needed, stripe_count

_STRIPING = frozenset({"lustre"})


def may_stripe(question: Question, view: View) -> bool:
    """Return whether any file of the question could be spread over several elements."""
    systems = view.table.environment.systems
    if not any(system.backend in _STRIPING for system in systems.values()):
        return False
    asked = any(one.kind in READ_KINDS | WRITE_KINDS for one in question.wanted)
    return asked or question.expected_bytes is not None or question.stripe_count is not None


def stripable(offers: Offers, place: int) -> bool:
    """Return whether a file can be spread from the element at a place of the rows."""
    element = offers.view.table.elements[offers.rows[place]]
    system = offers.view.table.environment.systems.get(element.storage_system)
    return system is not None and system.backend in _STRIPING and element.target.isdecimal()


def stripes_for(question: Question, ranked: Offers, files: int) -> Stripes:
    """Return the stripes of each of ``files`` files; ``ranked`` holds every row that may be chosen."""
    if not len(ranked.rows) or not stripable(ranked, 0):
        return ONE_STRIPE
    system = ranked.take(ranked.view.table.system)
    place = np.flatnonzero(system == system[0])
    spread = ranked.narrowed(place[_by_turns(ranked.take(ranked.view.table.server)[place])])
    asked = [one for one in question.wanted if one.kind in READ_KINDS | WRITE_KINDS]
    needs = [needed(np.nan_to_num(spread.value(one.kind)).tolist(), one.bound) for one in asked]
    capability = spread.take(capability_of(spread.view, Kind.CURRENT_WRITE_RATE))
    idle = np.count_nonzero(spread.value(Kind.CURRENT_WRITE_RATE) > capability * IDLE_ABOVE)
    return stripe_count(
        need=max(needs, default=None),
        size=question.expected_bytes,
        idle=int(idle),
        files=files,
        elements=len(spread.rows),
        hint=question.stripe_count,
        policies=ranked.policies,
    )


def enough(ranked: Offers, files: int, stripes: Stripes) -> Codes:
    """Return places of the rows that hold every element ``files`` files can take.

    A file takes one element of each server until it has all of them, so that of each server only so
    many of the first can be needed.
    """
    if stripes.count == 1:
        return np.arange(min(files, len(ranked.rows)))
    servers = ranked.take(ranked.view.table.server)
    system = ranked.take(ranked.view.table.system)
    rounds = -(-stripes.count // len(np.unique(servers[system == system[0]])))
    return np.flatnonzero(_turn(servers) < files * rounds)


def _turn(servers: Codes) -> Codes:
    """Return of each place how many of its server come before it."""
    order = np.argsort(servers, kind="stable")
    grouped = servers[order]
    first = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    turn = np.empty_like(order)
    turn[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    return turn


def _by_turns(servers: Codes) -> Codes:
    """Return the places in the order stripes take them: the best of each server, then the second..."""
    return np.argsort(_turn(servers), kind="stable")
