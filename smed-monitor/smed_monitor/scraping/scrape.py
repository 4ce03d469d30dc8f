"""One target, scraped again and again: bytes to sample to records, with what must be remembered between.

Used by one thread at a time.  Failures come back as an outcome; nothing is raised.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import structlog

from smed_monitor.collectors.base import Arrival, Collector
from smed_monitor.config.settings import ElementSettings, Rule, Settings, Target
from smed_monitor.core.capability import Best
from smed_monitor.core.errors import CollectorError, ElementMissingError
from smed_monitor.core.loads import unknown
from smed_monitor.core.model import Moment, Outcome, RatePair, Reading, Record
from smed_monitor.core.rates import Table, Windows
from smed_monitor.core.readings import FREE, SIZE, Readings, stacked
from smed_monitor.core.stillness import NO_RATES

log = structlog.get_logger(__name__)
MEGA = 1e6


MAX_ELEMENTS = 100_000  # that rules make of what one target shows


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
    ) -> None:
        self.target = target
        self._elements = {element.id: element for element in elements}
        self._rules = tuple(rules)
        self._learn = learn
        self._seen: set[str] = {getattr(e, collector.finds_by) or "" for e in elements}
        self._collector = collector
        self._windows = windows
        self._source = collector.open(target)
        self._asked: float | None = None
        self._parse = collector.parser()
        self._taught = taught
        self._loads = unknown(tuple(self._known_best(element) for element in self._elements))
        self._records = {element.id: self._first_record(element.id) for element in elements}

    def records(self) -> tuple[Record, ...]:
        """What is known now, in the order of the settings."""
        return tuple(self._records.values())

    def learned(self) -> dict[str, Best]:
        """The best rates seen, now or before a restart, of the elements that have any."""
        names = list(self._elements)
        return {name: best for name, best in zip(names, self._loads.best, strict=False) if best != Best()}

    def _known_best(self, element: str) -> Best:
        return self._taught.get(element, Best())

    def close(self) -> None:
        """Give up the connection."""
        self._source.close()

    def ask(self) -> int | None:
        """Ask the target without waiting; see ``Source.ask``.  ``scrape`` then takes the answer."""
        started = time.monotonic()
        descriptor = self._source.ask()
        self._asked = None if descriptor is None else started
        return descriptor

    def arrived(self) -> Arrival:
        """Take in what has come of the answer."""
        return self._source.arrived()

    def scrape(self) -> Outcome:
        """The answer to ``ask``, or else ask the target once."""
        started, self._asked = self._asked or time.monotonic(), None
        error = reason = way = ""
        records: tuple[Record, ...] = ()
        try:
            reply = self._source.read()
            records = self._seen_at(reply.at, stacked(self._read(self._parse(reply.body))))
            way = reply.way
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
            way=way,
        )

    def _read(self, sample: object) -> list[Reading | ElementMissingError]:
        """One reading per element, those the rules find in ``sample`` included."""
        if self._rules:
            self._discover(sample)
        readings: list[Reading | ElementMissingError] = []
        for element in self._elements.values():
            try:
                readings.append(self._collector.reading(sample, element))
            except ElementMissingError as absence:
                readings.append(absence)
        return readings

    def _discover(self, sample: object) -> None:
        """Make elements of what the rules match and no element is yet."""
        kind = self._collector.finds_by
        for name in self._collector.names(sample):
            if name in self._seen or len(self._seen) >= MAX_ELEMENTS:
                continue
            self._seen.add(name)
            for rule in self._rules:
                element = rule.settings_for(self.target.name, name, kind)
                if element is not None and element.id not in self._elements:
                    self._elements[element.id] = element
                    self._loads = self._loads.grown((self._known_best(element.id),))
                    self._records[element.id] = self._first_record(element.id)
                    break

    def _first_record(self, element: str) -> Record:
        return Record(element=element, source=self.target.collector, target=self.target.address)

    def _seen_at(self, at: Moment, readings: Readings) -> tuple[Record, ...]:
        """The records once ``readings`` were taken."""
        before = self._loads
        self._loads = loads = before.after(readings, at.monotonic, self._windows, learn=self._learn)
        numbers = readings.numbers
        figures = known(np.column_stack((*loads.figures(), numbers[:, FREE], numbers[:, SIZE])))
        unmoved = before.unmoved(readings).tolist()
        for row, (element, last) in enumerate(self._records.items()):
            if unmoved[row] and not last.missing:
                continue
            if readings.absent[row]:
                gone = replace(
                    self._first_record(element),
                    at=last.at,
                    detail=readings.absent[row],
                    gap=last.gap,
                    interval=last.interval,
                )
                self._records[element] = gone
                continue
            read_now, read, write_now, write, queue_depth, service_seconds, free, size = figures[row]
            read_only, degraded, no_create = readings.flags[row]
            most_read, most_write, taught_by = self._capabilities(self._elements[element], loads.best[row])
            gap = None if last.at is None else at.monotonic - last.at.monotonic
            self._records[element] = Record(
                element=element,
                source=last.source,
                target=last.target,
                at=at,
                device=readings.devices[row],
                read=RatePair(read_now, read),
                write=RatePair(write_now, write),
                queue_depth=queue_depth,
                service_seconds=service_seconds,
                free_bytes=free,
                size_bytes=size,
                read_only=read_only,
                degraded=degraded,
                no_create=no_create,
                read_capability=most_read,
                write_capability=most_write,
                capability_source=taught_by,
                missing=False,
                detail=NO_RATES.format(readings.devices[row]) if loads.blind[row] else readings.notes[row],
                gap=gap,
                interval=gap if gap is None or last.gap is None else min(gap, last.gap),
            )
        return self.records()

    def _capabilities(
        self, element: ElementSettings, learned: Best
    ) -> tuple[float | None, float | None, str]:
        """Read, write (bytes per second), and where they come from."""
        read, write = element.read_capability_mb_s, element.write_capability_mb_s
        if not self._learn and read is write is None:
            return None, None, ""
        best = learned if self._learn else Best()
        source = "given" if read or write else "learned" if best != Best() else ""
        return (read * MEGA if read else best.read), (write * MEGA if write else best.write), source


def known(table: Table) -> list[list[float | None]]:
    """The rows of ``table``, ``None`` for NaN."""
    boxed = table.astype(object)
    boxed[np.isnan(table)] = None
    rows: list[list[float | None]] = boxed.tolist()
    return rows


def windows_of(settings: Settings) -> Windows:
    """The windows of ``settings``."""
    return Windows(
        current=settings.current_window_seconds,
        average=settings.average_window_seconds,
        max_gap=settings.stale_after_seconds,
    )


def scrapers(
    settings: Settings, collectors: Mapping[str, Collector[Any]], taught: Mapping[str, Best]
) -> tuple[Scraper, ...]:
    """One scraper per target of ``settings``, in their order; ``taught`` is what was learned before."""
    windows = windows_of(settings)
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
        )
        for target in settings.targets
    )
