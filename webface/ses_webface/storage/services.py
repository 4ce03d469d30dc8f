"""Turns elements into tiles of a map: a number, a colour step, a state in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from ses_client.answers.elements import Element, Inventory

from ses_webface.quantities import show_bytes, show_number

MAX_TILES = 400
STEPS = 5


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
class Group:
    """The tiles of one storage system."""

    name: str
    backend: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """All tiles that are shown, out of ``total``."""

    groups: tuple[Group, ...]
    systems: tuple[str, ...]
    shown: int
    total: int


def build_map(storage: Inventory, show: str, system: str) -> Map:
    """Return the map of ``storage`` for one measure (write, read, free), at most MAX_TILES tiles."""
    systems = tuple(sorted({element.storage_system for element in storage.elements}))
    wanted = sorted(
        (element for element in storage.elements if system in ("", element.storage_system)),
        key=lambda element: (element.storage_system, element.id),
    )
    shown = wanted[:MAX_TILES]
    groups = tuple(
        Group(name, members[0].backend, tuple(tile(element, show) for element in members))
        for name, members in _by_system(shown)
    )
    return Map(groups, systems, len(shown), len(wanted))


def tile(element: Element, show: str) -> Tile:
    """Return one element's tile."""
    if show == "free":
        now, whole = element.free_bytes, element.capacity_bytes
        number, of = show_bytes(now), show_bytes(whole)
    else:
        reading = show == "read"
        now = element.read if reading else element.write
        whole = element.nominal_read if reading else element.nominal_write
        number = "–" if now is None else f"{show_number(now)}\u00a0MB/s"
        of = "–" if whole is None else f"{show_number(whole)}\u00a0MB/s"
    share = None if now is None or not whole else min(1.0, max(0.0, now / whole))
    usable = element.state == "active" and element.observed == "ok" and share is not None
    step = 1 + min(STEPS - 1, int((share or 0.0) * STEPS)) if usable else 0
    return Tile(element, number, of, share, step, state_words(element))


def state_words(element: Element) -> str:
    """Return the state as people say it; an element that is fine says so."""
    if element.state != "active":
        return element.state.replace("-", " ")
    if element.observed == "stale":
        return "old data"
    if element.observed == "missing":
        return "not monitored"
    return "active"


def _by_system(elements: Iterable[Element]) -> list[tuple[str, list[Element]]]:
    return [(name, list(members)) for name, members in groupby(elements, key=lambda one: one.storage_system)]
