"""Turns elements into a map: tiles of single elements, or of groups of them where there are too many."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ses_client.messages.element_groups import Chosen, ElementGroup, ElementGroups
from ses_client.messages.elements import Element

from ses_webface.quantities import show_bytes, show_number

MAX_TILES = 400
STEPS = 5
NONE = "-"
"""Stands for elements without a tier, server or pool."""
BY: Mapping[str, Callable[[Element], str]] = {
    "tier": lambda element: element.tier or NONE,
    "server": lambda element: element.server or NONE,
    "pool": lambda element: element.pool or NONE,
}
_GB = 1e9


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

    def chosen(self) -> Chosen:
        """Return which elements that are, as the service is asked."""
        only = {name: "" if value == NONE else value for name, value in (self.only or {}).items() if value}
        return Chosen(self.system or None, **only)


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
class Bundle:
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
    """The tiles of one storage system, or of one tier, server or pool of it; or bundles instead of tiles."""

    name: str
    value: str
    backend: str
    tiles: tuple[Tile, ...] = ()
    bundles: tuple[Bundle, ...] = ()


@dataclass(frozen=True, slots=True)
class Map:
    """What is shown, out of ``total`` elements; ``by`` is how they are grouped in fact.

    ``choices`` are how they can be grouped: what at least one element has.
    """

    groups: tuple[Group, ...]
    choices: tuple[str, ...]
    by: str
    shown: int
    total: int
    page: int
    pages: int

    @property
    def in_bundles(self) -> bool:
        """Whether there are too many for a tile each."""
        return any(group.bundles for group in self.groups)


def wants_bundles(element_groups: ElementGroups) -> bool:
    """Return whether there are too many elements for a tile each, and more than one group of them."""
    return element_groups.elements > MAX_TILES and element_groups.groups_total > 1


def page_of(element_groups: ElementGroups, asked: Question) -> tuple[int, int]:
    """Return which page is shown, and how many there are."""
    tiles = element_groups.groups_total if wants_bundles(element_groups) else element_groups.elements
    pages = max(1, -(-tiles // MAX_TILES))
    return min(asked.page, pages), pages


def map_of_groups(element_groups: ElementGroups, asked: Question) -> Map:
    """Return the map with a tile for each group."""
    page, pages = page_of(element_groups, asked)
    bundles = [_bundle(group, element_groups.by or "", asked.show) for group in element_groups.groups]
    backends = {group.storage_system: group.backend for group in element_groups.groups}
    groups = tuple(
        Group(system, "", backends[system], bundles=tuple(members))
        for system, members in groupby(bundles, key=lambda bundle: bundle.system)
    )
    shown = sum(bundle.total for bundle in bundles)
    return Map(
        groups,
        tuple(element_groups.choices),
        element_groups.by or "",
        shown,
        element_groups.elements,
        page,
        pages,
    )


def map_of_elements(element_groups: ElementGroups, shown: Sequence[Element], asked: Question) -> Map:
    """Return the map with a tile for each element."""
    page, pages = page_of(element_groups, asked)
    by = asked.by if asked.by in element_groups.choices and pages == 1 else ""
    groups = tuple(
        Group(system, value, members[0].backend, tuple(tile(element, asked.show) for element in members))
        for (system, value), members in _grouped(shown, by)
    )
    return Map(groups, tuple(element_groups.choices), by, len(shown), element_groups.elements, page, pages)


def full_in_words(days: float | None) -> str:
    """Return in how many days something is full, in words; a dash where that is not foreseen."""
    if days is None:
        return "–"
    return "in less than a day" if days < 1 else f"in {days:.0f} {'day' if round(days) == 1 else 'days'}"


def tile(element: Element, show: str) -> Tile:
    """Return one element's tile."""
    now, whole = _measure(element, show)
    share = _share(now, whole)
    usable = is_usable(element, show) and share is not None
    return Tile(
        element, _words(now, show), _words(whole, show), share, _step(share) if usable else 0,
        state_words(element),
    )  # fmt: skip


def is_usable(element: Element, show: str) -> bool:
    """Return whether files may go to an element of which the monitor knows what is shown."""
    return element.state == "active" and element.observed == "ok" and (show == "free" or has_load(element))


def has_load(element: Element) -> bool:
    """Return whether the monitor sees how an element is read or written."""
    seen = element.observation
    return seen is not None and (
        seen.read_bytes_per_second.current is not None or seen.write_bytes_per_second.current is not None
    )


def state_words(element: Element) -> str:
    """Return the state as people say it; an element that is fine says so."""
    if element.state != "active":
        return element.state.replace("-", " ")
    if element.observed == "stale":
        return "old data"
    if element.observed == "missing":
        return "not monitored"
    return "active" if has_load(element) else "load not seen"


def group_words(by: str, value: str) -> str:
    """Return what elements of a group have in common, in words."""
    return f"no {by}" if value == NONE else f"{by} {value}"


def _bundle(group: ElementGroup, by: str, show: str) -> Bundle:
    share = _share(group.now, group.whole) if group.usable else None
    size = _GB if show == "free" else 1.0
    now, whole = (None if value is None else value * size for value in (group.now, group.whole))
    return Bundle(
        group.storage_system, by, group.value or NONE, group.elements, group.usable, _words(now, show),
        _words(whole, show), share, 0 if share is None else _step(share), tuple(group.fifths),
    )  # fmt: skip


def _measure(element: Element, show: str) -> tuple[float | None, float | None]:
    if show == "free":
        return element.free_bytes, element.size_bytes
    if show == "read":
        return element.available.read_mb_s, element.nominal.read_mb_s
    return element.available.write_mb_s, element.nominal.write_mb_s


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
