"""The part of the selection service inside the process that sums elements up: one element at a time."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from ses_client.messages.element_groups import (
    Chosen,
    ElementGroup,
    ElementGroups,
    Exporter,
    Exporters,
    FullSoon,
)
from ses_client.messages.elements import Element, Inventory, KnowledgeBaseSource, MonitorSource
from ses_client.messages.quotas import Quota, QuotaPage, QuotaSource

BY: dict[str, Callable[[Element], str]] = {
    "tier": lambda element: element.tier or "",
    "server": lambda element: element.server,
    "pool": lambda element: element.pool or "",
}
SOURCES = {
    "monitor": MonitorSource(reachable=True, age_seconds=0.4),
    "knowledge_base": KnowledgeBaseSource(reachable=True, age_seconds=2.0),
}
MEASURES: dict[str, Callable[[Element], tuple[float | None, float | None]]] = {
    "write": lambda element: (element.available.write_mb_s, element.nominal.write_mb_s),
    "read": lambda element: (element.available.read_mb_s, element.nominal.read_mb_s),
    "free": lambda element: (_gb(element.free_bytes), _gb(element.size_bytes)),
}


class GroupsInMemory:
    """Knows the elements ``places`` and ``quota_list``; ``exporters_more`` are exporters it does not list."""

    places: list[Element]
    _clock: Callable[[], float]
    exporters_more = 0
    quota_list: tuple[Quota, ...] = ()
    quota_troubles: tuple[tuple[str, str], ...] = ()

    def elements(
        self, chosen: Chosen | None = None, *, offset: int | None = None, limit: int | None = None
    ) -> Inventory:
        self._called()
        first = offset or 0
        elements = self._chosen(chosen or Chosen())[first : None if limit is None else first + limit]
        return Inventory(elements=tuple(elements), generated_at=self._clock(), **SOURCES)

    def element_groups(
        self, chosen: Chosen, *, by: str | None, measure: str, offset: int = 0, limit: int = 400
    ) -> ElementGroups:
        self._called()
        elements = self._chosen(chosen)
        choices = {
            name: len({(element.storage_system, value(element)) for element in elements})
            for name, value in BY.items()
            if any(map(value, elements))
        }
        if by not in choices:
            fitting = {name: count for name, count in choices.items() if 1 < count <= limit}
            least = min(choices, key=choices.__getitem__, default="")
            by = max(fitting, key=fitting.__getitem__, default=least)
        groups = _groups(elements, by, measure) if by else []
        soon = sorted(
            (element.full_in_days, element.id)
            for element in elements
            if element.full_in_days and element.full_in_days <= 30
        )
        return ElementGroups(
            systems=tuple(sorted({place.storage_system for place in self.places})),
            elements=len(elements),
            choices=choices,
            by=by,
            groups=tuple(groups[offset : offset + limit]),
            groups_total=len(groups),
            full_soon=[FullSoon(element=id_, full_in_days=days) for days, id_ in soon],
            full_soon_total=len(soon),
            generated_at=self._clock(),
            **SOURCES,
        )

    def exporters(self, limit: int = 200) -> Exporters:
        self._called()
        by: dict[str, list[Element]] = {}
        for place in self.places:
            by.setdefault(place.observation.target if place.observation else "", []).append(place)
        exporters = [_exporter(name, members) for name, members in sorted(by.items())]
        return Exporters(
            exporters=tuple(exporters[:limit]), total=len(exporters) + self.exporters_more, **SOURCES
        )

    def quotas(self, **wanted: Any) -> QuotaPage:
        """It knows no groups of a VO."""
        self._called()
        within = wanted.get("full_within_days")
        rows = [
            quota
            for quota in self.quota_list
            if wanted.get("user") in (None, quota.name)
            and wanted.get("system") in (None, quota.system)
            and (within is None or (quota.full_in_days is not None and quota.full_in_days <= within))
        ]
        first = wanted.get("offset", 0)
        errors = dict(self.quota_troubles)
        names = sorted({quota.system for quota in self.quota_list} | errors.keys())
        sources = [QuotaSource(system=name, error=errors.get(name, "")) for name in names]
        page = tuple(rows[first : first + wanted.get("limit", 50)])
        return QuotaPage(quotas=page, total=len(rows), sources=sources, problem="")

    def _chosen(self, chosen: Chosen) -> list[Element]:
        wanted = {name: value for name, value in chosen.fields().items() if value is not None}
        system = wanted.pop("system", None)
        those = [
            place
            for place in self.places
            if system in (None, place.storage_system)
            and all(BY[name](place) == value for name, value in wanted.items())
        ]
        return sorted(those, key=lambda element: (element.storage_system, element.id))


def _gb(value: float | None) -> float | None:
    return None if value is None else value / 1e9


def _groups(elements: Iterable[Element], by: str, measure: str) -> list[ElementGroup]:
    def key(element: Element) -> tuple[str, str]:
        return element.storage_system, BY[by](element)

    listed = groupby(sorted(elements, key=key), key=key)
    return [_group(system, value, list(members), measure) for (system, value), members in listed]


def _group(system: str, value: str, members: list[Element], measure: str) -> ElementGroup:
    fifths, total, whole = [0] * 6, 0.0, 0.0
    for member in members:
        now, of = MEASURES[measure](member)
        whole += of or 0.0
        if member.state != "active" or member.observed != "ok" or now is None or not of:
            fifths[0] += 1
            continue
        fifths[1 + min(4, int(now / of * 5))] += 1
        total += now
    usable = sum(fifths[1:])
    return ElementGroup(
        storage_system=system,
        backend=members[0].backend,
        value=value,
        elements=len(members),
        usable=usable,
        now=total if usable else None,
        whole=whole or None,
        fifths=tuple(fifths),
    )


def _exporter(name: str, members: list[Element]) -> Exporter:
    states = [member.observed for member in members]
    ages = [member.age_seconds for member in members if member.age_seconds is not None]
    counts = {state: states.count(state) for state in ("ok", "stale", "missing")}
    return Exporter(
        target=name, elements=len(members), **counts, oldest_seconds=max(ages, default=None), details=()
    )
