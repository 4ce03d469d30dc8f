"""Turns elements into a map: tiles of single elements, or of groups of them where there are too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ses_client.answers.elements import Element, Inventory

from ses_webface.quantities import show_bytes, show_number

MAX_TILES = 400
SOON_DAYS = 30.0
STEPS = 5
NONE = "-"
"""Stands for elements without a tier, server or pool."""
BY: Mapping[str, Callable[[Element], str]] = {
    "tier": lambda element: element.tier or NONE,
    "server": lambda element: element.server or NONE,
    "pool": lambda element: element.pool or NONE,
}


@dataclass(frozen=True, slots=True)
class Question:
    """What of the site is shown: a measure (write, read, free), in groups by tier, server, pool or nothing.

    ``system`` and ``only`` (by tier, server or pool) leave out the other elements; an empty one none.
    ``page`` counts from 1.
    """

    show: str = "write"
    by: str = ""
    system: str = ""
    only: Mapping[str, str] | None = None
    page: int = 1

    def wants(self, element: Element) -> bool:
        """Tell whether an element is to be shown."""
        if self.system not in ("", element.storage_system):
            return False
        return all(value in ("", BY[name](element)) for name, value in (self.only or {}).items())


@dataclass(frozen=True, slots=True)
class Tile:
    """One element on the map.

    ``number`` is what a file would get now and ``of`` what there is when idle or empty, both with
    unit; ``share`` is their ratio, None when either is not known; ``step`` is 1 (little) to
    STEPS (nearly all), 0 when the colour would say nothing.
    """

    element: Element
    number: str
    of: str
    share: float | None
    step: int
    words: str


@dataclass(frozen=True, slots=True)
class Heap:
    """Many elements as one tile: sums over those that can be used, and how many have each colour.

    ``system``, ``by`` and ``value`` say which they are; ``counts`` begins with those without a colour.
    """

    system: str
    by: str
    value: str
    total: int
    usable: int
    number: str
    of: str
    share: float | None
    step: int
    counts: tuple[int, ...]

    @property
    def title(self) -> str:
        """What they have in common, in words."""
        return group_words(self.by, self.value)


@dataclass(frozen=True, slots=True)
class Group:
    """The tiles of one storage system, or of one tier, server or pool of it; or heaps instead of tiles."""

    name: str
    value: str
    backend: str
    tiles: tuple[Tile, ...] = ()
    heaps: tuple[Heap, ...] = ()


@dataclass(frozen=True, slots=True)
class Map:
    """What is shown, out of ``total`` elements; ``by`` is how they are grouped in fact.

    ``choices`` are how they can be grouped: what at least one element has.  ``soon`` are those that are full
    within SOON_DAYS, the first one first.
    """

    groups: tuple[Group, ...]
    systems: tuple[str, ...]
    choices: tuple[str, ...]
    by: str
    shown: int
    total: int
    pages: int
    soon: tuple[Element, ...] = ()

    @property
    def in_heaps(self) -> bool:
        """Whether there are too many for a tile each."""
        return any(group.heaps for group in self.groups)


def build_map(storage: Inventory, asked: Question) -> Map:
    """Return the map of ``storage``: at most MAX_TILES tiles."""
    shown = _map(storage, asked)
    soon = [one for one in storage.elements if asked.wants(one) and (one.full_in_days or 1e9) <= SOON_DAYS]
    return replace(shown, soon=tuple(sorted(soon, key=lambda one: (one.full_in_days or 0.0, one.id))))


def _map(storage: Inventory, asked: Question) -> Map:
    systems = tuple(sorted({element.storage_system for element in storage.elements}))
    wanted = sorted(
        (element for element in storage.elements if asked.wants(element)),
        key=lambda element: (element.storage_system, element.id),
    )
    choices = tuple(by for by, key in BY.items() if any(key(element) != NONE for element in wanted))
    by = asked.by if asked.by in choices else ""
    if len(wanted) > MAX_TILES:
        by = by or _coarse(wanted, choices)
        heaps = _heaps(wanted, by, asked.show) if by else []
        if len(heaps) > 1:
            return _of_heaps(heaps, wanted, asked.page, systems, choices, by)
        by = ""
    pages = max(1, -(-len(wanted) // MAX_TILES))
    first = (min(asked.page, pages) - 1) * MAX_TILES
    shown = wanted[first : first + MAX_TILES]
    groups = tuple(
        Group(system, value, members[0].backend, tuple(tile(element, asked.show) for element in members))
        for (system, value), members in _grouped(shown, by)
    )
    return Map(groups, systems, choices, by, len(shown), len(wanted), pages)


def full_in_words(element: Element) -> str:
    """Return in how many days an element is full, in words; a dash where that is not foreseen."""
    days = element.full_in_days
    if days is None:
        return "–"
    return "in less than a day" if days < 1 else f"in {days:.0f} {'day' if round(days) == 1 else 'days'}"


def tile(element: Element, show: str) -> Tile:
    """Return one element's tile."""
    now, whole = _measure(element, show)
    share = _share(now, whole)
    usable = is_usable(element) and share is not None
    return Tile(
        element, _words(now, show), _words(whole, show), share, _step(share) if usable else 0,
        state_words(element),
    )  # fmt: skip


def is_usable(element: Element) -> bool:
    """Tell whether files may go to an element of which the monitor knows the load."""
    return element.state == "active" and element.observed == "ok"


def state_words(element: Element) -> str:
    """Return the state as people say it; an element that is fine says so."""
    if element.state != "active":
        return element.state.replace("-", " ")
    if element.observed == "stale":
        return "old data"
    if element.observed == "missing":
        return "not monitored"
    return "active"


def group_words(by: str, value: str) -> str:
    """Return what elements of a group have in common, in words."""
    return f"no {by}" if value == NONE else f"{by} {value}"


def _of_heaps(
    heaps: list[Heap],
    wanted: Sequence[Element],
    page: int,
    systems: tuple[str, ...],
    choices: tuple[str, ...],
    by: str,
) -> Map:
    pages = -(-len(heaps) // MAX_TILES)
    first = (min(page, pages) - 1) * MAX_TILES
    shown = heaps[first : first + MAX_TILES]
    backends = {element.storage_system: element.backend for element in wanted}
    groups = tuple(
        Group(system, "", backends[system], heaps=tuple(members))
        for system, members in groupby(shown, key=lambda heap: heap.system)
    )
    return Map(groups, systems, choices, by, sum(heap.total for heap in shown), len(wanted), pages)


def _coarse(wanted: Sequence[Element], choices: tuple[str, ...]) -> str:
    """Return how to group so that the most tiles that fit are shown, else the fewest there can be."""
    counts = {by: len({(one.storage_system, BY[by](one)) for one in wanted}) for by in choices}
    fitting = [by for by, count in counts.items() if 1 < count <= MAX_TILES]
    if fitting:
        return max(fitting, key=lambda by: counts[by])
    return min(counts, key=lambda by: counts[by], default="")


def _heaps(wanted: Iterable[Element], by: str, show: str) -> list[Heap]:
    return [_heap(system, by, value, members, show) for (system, value), members in _grouped(wanted, by)]


def _heap(system: str, by: str, value: str, members: Sequence[Element], show: str) -> Heap:
    counts = [0] * (STEPS + 1)
    now = whole = 0.0
    usable = 0
    for element in members:
        one, of = _measure(element, show)
        share = _share(one, of)
        whole += of or 0.0
        if not is_usable(element) or share is None:
            counts[0] += 1
            continue
        usable += 1
        now += one or 0.0
        counts[_step(share)] += 1
    share = _share(now, whole) if usable else None
    number = _words(now if usable else None, show)
    return Heap(
        system, by, value, len(members), usable, number, _words(whole or None, show), share,
        0 if share is None else _step(share), tuple(counts),
    )  # fmt: skip


def _measure(element: Element, show: str) -> tuple[float | None, float | None]:
    if show == "free":
        return element.free_bytes, element.capacity_bytes
    if show == "read":
        return element.read, element.nominal_read
    return element.write, element.nominal_write


def _words(value: float | None, show: str) -> str:
    if show == "free":
        return show_bytes(value)
    return "–" if value is None else f"{show_number(value)}\u00a0MB/s"


def _share(now: float | None, whole: float | None) -> float | None:
    return None if now is None or not whole else min(1.0, max(0.0, now / whole))


def _step(share: float | None) -> int:
    return 1 + min(STEPS - 1, int((share or 0.0) * STEPS))


def _grouped(elements: Iterable[Element], by: str) -> list[tuple[tuple[str, str], list[Element]]]:
    def key(element: Element) -> tuple[str, str]:
        return element.storage_system, BY[by](element) if by else ""

    return [(name, list(members)) for name, members in groupby(sorted(elements, key=key), key=key)]
