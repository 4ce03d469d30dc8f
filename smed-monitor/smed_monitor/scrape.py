"""One target, scraped again and again: bytes to sample to records, with what must be remembered between.

Used by one thread at a time.  Failures come back as an outcome; nothing is raised.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import structlog

from smed_monitor.capability import Best
from smed_monitor.collectors.base import Collector
from smed_monitor.errors import CollectorError, ElementMissingError
from smed_monitor.loads import Loads
from smed_monitor.model import Moment, Outcome, Record
from smed_monitor.rates import Windows
from smed_monitor.settings import ElementSettings, Rule, Settings, Target

log = structlog.get_logger(__name__)
MEGA = 1e6


class Scraper:
    """Scrapes one target for its elements: those of the settings, and those its rules find."""

    def __init__(
        self,
        target: Target,
        elements: Sequence[ElementSettings],
        collector: Collector[Any],
        windows: Windows,
        *,
        rules: Sequence[Rule] = (),
        learn: bool = False,
        taught: Mapping[str, Best] = MappingProxyType({}),
        most_elements: int = 100_000,
    ) -> None:
        self.target = target
        self._elements = {element.id: element for element in elements}
        self._rules = tuple(rules)
        self._learn = learn
        self._most_elements = most_elements
        self._seen: set[str] = {getattr(e, collector.finds_by) or "" for e in elements}
        self._collector = collector
        self._windows = windows
        self._source = collector.open(target)
        self._parse = collector.parser()
        self._taught = taught
        self._loads = {element.id: self._unseen(element.id) for element in elements}
        self._records = {
            element.id: Record(element=element.id, source=target.collector, target=target.address)
            for element in elements
        }

    def records(self) -> tuple[Record, ...]:
        """What is known now, in the order of the settings."""
        return tuple(self._records.values())

    def learned(self) -> dict[str, Best]:
        """The best rates seen, now or before a restart, of the elements that have any."""
        loads = dict(self._loads)
        return {name: each.best for name, each in loads.items() if each.best != Best()}

    def _unseen(self, element: str) -> Loads:
        return Loads(best=self._taught.get(element, Best()))

    def close(self) -> None:
        """Give up the connection."""
        self._source.close()

    def scrape(self) -> Outcome:
        """Ask the target once."""
        started = time.monotonic()
        error = reason = ""
        records: tuple[Record, ...] = ()
        try:
            reply = self._source.read()
            sample = self._parse(reply.body)
            if self._rules:
                self._discover(sample)
            for element in self._elements.values():
                self._records[element.id] = self._record(sample, element, reply.at)
            records = self.records()
        except CollectorError as failure:
            error, reason = str(failure), failure.reason
        except Exception as failure:  # a fault of one collector must not stop the others
            log.exception("collector-fault", target=self.target.name, collector=self.target.collector)
            error, reason = f"the collector itself failed: {failure!r}", "internal"
        return Outcome(
            target=self.target.name,
            duration_seconds=time.monotonic() - started,
            records=records,
            error=error,
            reason=reason,
        )

    def _discover(self, sample: object) -> None:
        """Make elements of what the rules match and no element is yet."""
        kind = self._collector.finds_by
        for name in self._collector.found(sample):
            if name in self._seen or len(self._seen) >= self._most_elements:
                continue
            self._seen.add(name)
            for rule in self._rules:
                element = rule.settings_for(self.target.name, name, kind)
                if element is not None and element.id not in self._elements:
                    self._elements[element.id] = element
                    self._loads[element.id] = self._unseen(element.id)
                    self._records[element.id] = Record(
                        element=element.id, source=self.target.collector, target=self.target.address
                    )
                    break

    def _record(self, sample: object, element: ElementSettings, at: Moment) -> Record:
        last = self._records[element.id]
        before = self._loads[element.id]
        try:
            reading = self._collector.reading(sample, element)
        except ElementMissingError as absence:
            self._loads[element.id] = before.restarted()
            unseen = Record(element=last.element, source=last.source, target=last.target)
            return replace(unseen, at=last.at, detail=str(absence))
        if reading.stamp is not None and reading.stamp == before.stamp and not last.missing:
            return last
        loads = before.after(reading, at.monotonic, self._windows, learn=self._learn)
        self._loads[element.id] = loads
        best = loads.best if self._learn else Best()
        given = element.read_capability_mb_s or element.write_capability_mb_s
        return Record(
            element=last.element,
            source=last.source,
            target=last.target,
            at=at,
            device=reading.device,
            read=loads.read,
            write=loads.write,
            queue_depth=loads.queue_depth,
            service_seconds=loads.service_seconds,
            free_bytes=reading.free_bytes,
            size_bytes=reading.size_bytes,
            read_only=reading.read_only,
            degraded=reading.degraded,
            no_create=reading.no_create,
            read_capability=element.read_capability_mb_s * MEGA
            if element.read_capability_mb_s
            else best.read,
            write_capability=(
                element.write_capability_mb_s * MEGA if element.write_capability_mb_s else best.write
            ),
            capability_source="given" if given else "learned" if best != Best() else "",
            missing=False,
            detail=reading.note,
        )


def scrapers(
    settings: Settings, collectors: Mapping[str, Collector[Any]], taught: Mapping[str, Best]
) -> tuple[Scraper, ...]:
    """One scraper per target of ``settings``, in their order; ``taught`` is what was learned before."""
    windows = Windows(
        current=settings.current_window_seconds,
        average=settings.average_window_seconds,
        longest_gap=settings.stale_after_seconds,
    )
    seen_at: dict[str, list[ElementSettings]] = {target.name: [] for target in settings.targets}
    for element in settings.elements:
        for name in dict.fromkeys(element.targets):
            seen_at[name].append(element)
    return tuple(
        Scraper(
            target,
            seen_at[target.name],
            collectors[target.collector],
            windows,
            rules=[rule for rule in settings.rules if rule.covers(target.name)],
            learn=settings.learn_capability,
            taught=taught,
            most_elements=settings.most_elements,
        )
        for target in settings.targets
    )
