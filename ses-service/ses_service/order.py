"""The order of the elements that were not refused (section 4 of this project's design):

1. distance D (:mod:`ses_service.evaluation`) in steps of ``Policies.distance_step``;
2. where rates are asked for and met: elements outside ``Policies.scarce_tiers`` first;
3. the larger predicted share;
4. the last placement longest ago;
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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ses_service.columns import Codes, Floats, stable_hash
from ses_service.evaluation import READ_KINDS, WRITE_KINDS, Offers
from ses_service.model import Kind
from ses_service.question import Question
from ses_service.ranking import Key, first_rows, mixed


def order_keys(question: Question, offers: Offers) -> list[Key]:
    """Return the columns by which rows are ordered, the most important first, without ``nan``."""
    return [*order_columns(question, offers), mixed(offers.take(offers.view.table.hashes), salt_of(question))]


def order_columns(question: Question, offers: Offers) -> list[Key]:
    """Return the same without the hash: what is alike for all subjects with the same requirements."""
    table, policies = offers.view.table, offers.policies
    steps = np.rint(offers.distance(question.wanted) / policies.distance_step)
    keys: list[Key] = [steps]
    asked = [one for one in question.wanted if one.kind != Kind.FREE_CAPACITY]
    if asked and policies.scarce_tiers:
        scarce = np.array([name in policies.scarce_tiers for name in table.tier_names], dtype=np.bool_)
        keys.append(scarce[offers.take(table.tier)] & (steps == 0))
    share = _ordering_share(question, offers)
    keys.append(np.where(np.isnan(share), np.inf, -share))
    keys.append(offers.counts.booked_last)
    return keys


@dataclass(frozen=True, eq=False, slots=True)
class Contenders:
    """The rows that can be among the first few, whoever asks.

    ``certain`` are; the rest of the places goes to some of ``tied``, which are alike in every column.
    """

    certain: Codes
    tied: Codes


def contenders(columns: Sequence[Key], rows: Codes, count: int) -> Contenders:
    """Return which of ``rows`` can be among the first ``count`` (0: all of them).

    ``columns`` are those of :func:`order_columns`, over all rows; ``rows`` ascend.
    """
    if not 0 < count < len(rows):
        return Contenders(rows, rows[:0])
    certain: list[Codes] = [rows[:0]]
    for column in columns:
        values = column if len(rows) == len(column) else column[rows]
        limit = values.min()
        tied = values == limit
        if np.count_nonzero(tied) < count:
            limit = np.partition(values, count - 1)[count - 1]
            tied = values == limit
            certain.append(rows[values < limit])
            count -= len(certain[-1])
        rows = rows[tied]
    return Contenders(np.concatenate(certain), rows)


def first_in_order(
    question: Question, offers: Offers, columns: Sequence[Key], found: Contenders, count: int
) -> Codes:
    """Return the first ``count`` of the contenders, in order (0: all of them).

    ``offers`` are of all rows.  Hashes are mixed only of rows that may need them.
    """
    hashes, salt = offers.view.table.hashes, salt_of(question)
    rows, missing = found.tied, count - len(found.certain)
    if len(rows) > missing > 0:
        rows = rows[first_rows([mixed(hashes[rows], salt)], missing)]
    rows = np.sort(np.concatenate([found.certain, rows]))
    keys = [*(column[rows] for column in columns), mixed(hashes[rows], salt)]
    return rows[first_rows(keys, 0)] if len(rows) else rows


def _ordering_share(question: Question, offers: Offers) -> Floats:
    """Return the share that orders (see the head of this file)."""
    reading = [one for one in question.wanted if one.kind in READ_KINDS]
    writing = [one for one in question.wanted if one.kind in WRITE_KINDS]
    asked = reading + writing
    if not asked:
        return offers.value(Kind.CURRENT_WRITE_RATE)
    scales = [one.bound if reading and writing and one.bound > 0 else 1.0 for one in asked]
    shares = [offers.value(one.kind) / scale for one, scale in zip(asked, scales, strict=True)]
    smallest: Floats = np.minimum.reduce(shares)
    return smallest


def salt_of(question: Question) -> int:
    """Return what the hashes of elements are mixed with: the order of equals differs by subject and seed."""
    who = question.subject
    parts = (who.user, who.application, who.vo, who.node, who.job, question.seed)
    return stable_hash("\x00".join("" if part is None else str(part) for part in parts))
