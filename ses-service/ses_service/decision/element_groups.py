"""Elements by tier, server or pool: how many there are and what they offer now.  Pure.

A few passes over columns, so that a page about 10,000 elements costs no more than one about ten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ses_service.decision.space_outlook import full_in
from ses_service.model.columns import STATES, Bools, Codes, ElementTable, Floats, ObservationTable
from ses_service.model.entities import ElementState

FIFTHS = 5
_ACTIVE = STATES.index(ElementState.ACTIVE)


class By(StrEnum):
    """What groups have in common."""

    TIER = "tier"
    SERVER = "server"
    POOL = "pool"


class Measure(StrEnum):
    """What is summed up."""

    WRITE = "write"
    READ = "read"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which elements are asked for.  ``None`` leaves out none; an empty text wants those without one."""

    system: str | None = None
    tier: str | None = None
    server: str | None = None
    pool: str | None = None

    def rows(self, table: ElementTable) -> Codes:
        """Return the rows of those elements, in the order of the site."""
        kept = np.ones(len(table), dtype=np.bool_)
        columns = (
            (self.system, table.system, table.system_names),
            *((getattr(self, by), *column_of(table, by)) for by in By),
        )
        for name, codes, names in columns:
            if name is not None:
                kept &= codes == (names.index(name) if name in names else -1)
        return np.flatnonzero(kept)


@dataclass(frozen=True, slots=True)
class Moment:
    """The site at one time: what a stream would get of each element, and which are seen now.

    ``seen`` are those with a sample that is not too old; of some of them only the free space is known.
    """

    at: float
    table: ElementTable
    observations: ObservationTable
    read: Floats
    write: Floats
    seen: Bools


@dataclass(frozen=True, slots=True)
class Group:
    """Elements of a storage system that have ``value`` in common, empty where they lack it.

    ``now`` is the sum of those that are usable: active, with a known ``now`` and ``whole``; ``whole`` that of
    all, idle or empty.  ``fifths`` counts those that are not usable, then by the fifth of the whole left.
    """

    system: str
    value: str
    elements: int
    now: float | None
    whole: float | None
    fifths: tuple[int, ...]


def column_of(table: ElementTable, by: str) -> tuple[Codes, tuple[str, ...]]:
    """Return which tier, server or pool each element has, and their names; an empty one stands for none."""
    codes, names = {
        By.TIER: (table.tier, table.tier_names),
        By.SERVER: (table.server, table.server_names),
        By.POOL: (table.pool, table.pool_names),
    }[By(by)]
    return codes, tuple(name or "" for name in names)


def choices(table: ElementTable, rows: Codes) -> dict[By, int]:
    """Return how many groups some elements make by each of what at least one of them has."""
    counts = {}
    for by in By:
        codes, names = column_of(table, by)
        keys = np.unique(table.system[rows] * max(1, len(names)) + codes[rows])
        if any(names[key % len(names)] for key in keys.tolist()):
            counts[by] = len(keys)
    return counts


def coarse(counts: Mapping[By, int], limit: int) -> By | None:
    """Return by what there are the most groups that ``limit`` allows, else the fewest there can be."""
    fitting = [by for by, count in counts.items() if 1 < count <= limit]
    if fitting:
        return max(fitting, key=lambda by: counts[by])
    return min(counts, key=lambda by: counts[by], default=None)


def groups(moment: Moment, rows: Codes, by: By, measure: Measure) -> list[Group]:
    """Return some elements in groups, by storage system and value; rates are in bytes per second."""
    if not len(rows):
        return []
    table = moment.table
    codes, names = column_of(table, by)
    keys, group = np.unique(table.system[rows] * len(names) + codes[rows], return_inverse=True)
    now, whole = (column[rows] for column in _measured(moment, measure))
    known = ~np.isnan(now) & (np.nan_to_num(whole) > 0)
    usable = known & active(moment)[rows] & moment.seen[rows]
    if measure is not Measure.FREE:
        usable &= moment.observations.rated[rows]
    share = np.clip(np.divide(now, whole, out=np.zeros(len(rows)), where=usable), 0.0, 1.0)
    fifth = np.where(usable, 1 + np.minimum(FIFTHS - 1, (share * FIFTHS).astype(np.int64)), 0)
    count = len(keys)
    counted = np.bincount(group * (FIFTHS + 1) + fifth, minlength=count * (FIFTHS + 1)).reshape(count, -1)
    # Elements on one file system have one room, on one device one load; one that is usable stands for them.
    together = (table.room if measure is Measure.FREE else table.device)[rows]
    first = np.lexsort((~usable, together, group))
    device = group[first] * len(table) + together[first]
    once = np.zeros(len(rows), dtype=np.bool_)
    once[first[np.unique(device, return_index=True)[1]]] = True
    sums = np.bincount(group, np.where(usable & once, now, 0.0), count)
    wholes = np.bincount(group, np.where(once, np.nan_to_num(whole), 0.0), count)
    summed = [
        Group(
            table.system_names[key // len(names)],
            names[key % len(names)],
            sum(fifths),
            total if any(fifths[1:]) else None,
            of or None,
            tuple(fifths),
        )
        for key, fifths, total, of in zip(
            keys.tolist(), counted.tolist(), sums.tolist(), wholes.tolist(), strict=True
        )
    ]
    return sorted(summed, key=lambda group: (group.system, group.value))


def active(moment: Moment) -> Bools:
    """Return which elements take files, as the site describes them."""
    table = moment.table
    usable: Bools = (table.state == _ACTIVE) | (table.state_until <= moment.at)
    return usable


def full_soon(
    moment: Moment, rows: Codes, changes: Mapping[str, float], within_days: float
) -> list[tuple[str, float]]:
    """Return the elements that are full ``within_days``, with the days until then, the soonest first."""
    wanted = {moment.table.elements[row].id: row for row in rows.tolist()} if changes else {}
    filling = []
    for name, change in changes.items():
        row = wanted.get(name)
        days = None if row is None else full_in(change, float(moment.observations.free[row]))
        if days is not None and days <= within_days:
            filling.append((name, days))
    return sorted(filling, key=lambda forecast: (forecast[1], forecast[0]))


def _measured(moment: Moment, measure: Measure) -> tuple[Floats, Floats]:
    table = moment.table
    if measure is Measure.READ:
        return moment.read, table.read_capability
    if measure is Measure.WRITE:
        return moment.write, table.write_capability
    return moment.observations.free, _sizes(table, moment.observations)


def _sizes(table: ElementTable, observations: ObservationTable) -> Floats:
    """Return how large elements are: as seen, else as described."""
    seen: Iterable[float | None] = (
        observation.size_bytes if observation else None for observation in observations.by_row
    )
    sizes = np.array([np.nan if size is None else size for size in seen], dtype=np.float64)
    return np.where(np.isnan(sizes), table.capacity, sizes)
