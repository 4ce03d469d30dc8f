"""The order of the elements that were not refused (section 4 of this project's design):

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

import numpy as np

from ses_service.columns import Floats, stable_hash
from ses_service.evaluation import READ_KINDS, WRITE_KINDS, Offers, capability_of
from ses_service.model import Kind
from ses_service.question import Question
from ses_service.ranking import Key, mixed


def order_keys(question: Question, offers: Offers) -> list[Key]:
    """Return the columns by which rows are ordered, the most important first, without ``nan``."""
    view, rows, policies = offers.view, offers.rows, offers.policies
    steps = np.rint(offers.distance(question.wanted) / policies.distance_step)
    keys: list[Key] = [steps]
    asked = [one for one in question.wanted if one.kind is not Kind.FREE_CAPACITY]
    if asked and policies.scarce_tiers:
        scarce = np.array([view.table.tiers[row] in policies.scarce_tiers for row in rows.tolist()])
        keys.append(scarce & (steps == 0))
    share, capability = _ordering_share(question, offers)
    keys.append(np.where(np.isnan(share), np.inf, -share))
    keys.append(offers.counts.placed / np.where(np.isnan(capability), 1.0, capability))
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
