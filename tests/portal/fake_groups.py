"""The part of the selection service inside the process that sums elements up: one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from ses_client.answers.element_groups import Chosen, ElementGroup, ElementGroups, Exporter, Exporters
from ses_client.answers.elements import Element, Inventory, Source
from ses_client.answers.quotas import Quota, QuotaPage

BY: dict[str, Callable[[Element], str]] = {
    "tier": lambda one: one.tier, "server": lambda one: one.server, "pool": lambda one: one.pool,
}  # fmt: skip
SOURCES = (Source("monitor", True, 0.4), Source("knowledge base", True, 2.0))
MEASURES: dict[str, Callable[[Element], tuple[float | None, float | None]]] = {
    "write": lambda one: (one.write, one.nominal_write),
    "read": lambda one: (one.read, one.nominal_read),
    "free": lambda one: (_gb(one.free_bytes), _gb(one.capacity_bytes)),
}


class GroupsInMemory:
    """Knows the elements ``places`` and ``quota_list``; ``exporters_more`` are exporters it does not list."""

    places: list[Element]
    _clock: Callable[[], float]
    exporters_more = 0
    quota_list: tuple[Quota, ...] = ()
    quota_troubles: tuple[tuple[str, str], ...] = ()

    def _called(self) -> None:
        raise NotImplementedError

    def elements(
        self, chosen: Chosen | None = None, *, offset: int | None = None, limit: int | None = None
    ) -> Inventory:
        """See ServiceClient."""
        self._called()
        first = offset or 0
        found = self._chosen(chosen or Chosen())[first : None if limit is None else first + limit]
        return Inventory(tuple(found), *SOURCES, self._clock())

    def element_groups(
        self, chosen: Chosen, *, by: str | None, measure: str, offset: int = 0, limit: int = 400
    ) -> ElementGroups:
        """See ServiceClient."""
        self._called()
        found = self._chosen(chosen)
        choices = {
            name: len({(one.storage_system, value(one)) for one in found})
            for name, value in BY.items()
            if any(map(value, found))
        }
        if by not in choices:
            fitting = {name: count for name, count in choices.items() if 1 < count <= limit}
            least = min(choices, key=choices.__getitem__, default="")
            by = max(fitting, key=fitting.__getitem__, default=least)
        groups = _groups(found, by, measure) if by else []
        soon = sorted(
            (one.full_in_days, one.id) for one in found if one.full_in_days and one.full_in_days <= 30
        )
        return ElementGroups(
            tuple(sorted({one.storage_system for one in self.places})), len(found), choices, by,
            tuple(groups[offset : offset + limit]), len(groups), tuple((id_, days) for days, id_ in soon),
            len(soon), *SOURCES, self._clock(),
        )  # fmt: skip

    def exporters(self, limit: int = 200) -> Exporters:
        """See ServiceClient."""
        self._called()
        by: dict[str, list[Element]] = {}
        for one in self.places:
            by.setdefault(one.observation.exporter if one.observation else "", []).append(one)
        found = [_exporter(name, members) for name, members in sorted(by.items())]
        return Exporters(tuple(found[:limit]), len(found) + self.exporters_more, *SOURCES)

    def quotas(self, **wanted: Any) -> QuotaPage:
        """See ServiceClient; knows no groups of a VO."""
        self._called()
        within = wanted.get("full_within_days")
        found = [
            one
            for one in self.quota_list
            if wanted.get("user") in (None, one.name)
            and wanted.get("system") in (None, one.system)
            and (within is None or (one.full_in_days is not None and one.full_in_days <= within))
        ]
        first = wanted.get("offset", 0)
        systems = tuple(sorted({one.system for one in self.quota_list}))
        page = tuple(found[first : first + wanted.get("limit", 50)])
        return QuotaPage(page, len(found), systems, self.quota_troubles, "")

    def _chosen(self, chosen: Chosen) -> list[Element]:
        wanted = {name: value for name, value in chosen.fields().items() if value is not None}
        system = wanted.pop("system", None)
        found = [
            one
            for one in self.places
            if system in (None, one.storage_system)
            and all(BY[name](one) == value for name, value in wanted.items())
        ]
        return sorted(found, key=lambda one: (one.storage_system, one.id))


def _gb(value: float | None) -> float | None:
    return None if value is None else value / 1e9


def _groups(elements: Iterable[Element], by: str, measure: str) -> list[ElementGroup]:
    def key(one: Element) -> tuple[str, str]:
        return one.storage_system, BY[by](one)

    listed = groupby(sorted(elements, key=key), key=key)
    return [_group(system, value, list(members), measure) for (system, value), members in listed]


def _group(system: str, value: str, members: list[Element], measure: str) -> ElementGroup:
    fifths, total, whole = [0] * 6, 0.0, 0.0
    for one in members:
        now, of = MEASURES[measure](one)
        whole += of or 0.0
        if one.state != "active" or one.observed != "ok" or now is None or not of:
            fifths[0] += 1
            continue
        fifths[1 + min(4, int(now / of * 5))] += 1
        total += now
    usable = sum(fifths[1:])
    return ElementGroup(
        system, members[0].backend, value, len(members), usable, total if usable else None, whole or None,
        tuple(fifths),
    )  # fmt: skip


def _exporter(name: str, members: list[Element]) -> Exporter:
    states = [one.observed for one in members]
    ages = [one.age_seconds for one in members if one.age_seconds is not None]
    counts = (states.count(state) for state in ("ok", "stale", "missing"))
    return Exporter(name, *counts, max(ages, default=None), "")
