"""One target, scraped again and again: bytes to sample to records, with what must be remembered between.

Used by one thread at a time.  Failures come back as an outcome; nothing is raised.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import structlog

from smed_monitor.collectors.base import Collector
from smed_monitor.errors import CollectorError, ElementMissingError
from smed_monitor.model import Moment, Outcome, RatePair, Reading, Record
from smed_monitor.rates import Rate, Windows, observe, restarted
from smed_monitor.settings import ElementSettings, Settings, Target

log = structlog.get_logger(__name__)


class Loads(NamedTuple):
    """The counters of one element, folded, and the device they belong to."""

    device: str = ""
    read: Rate = Rate()
    write: Rate = Rate()
    queue: Rate = Rate()

    def after(self, reading: Reading, at: float, windows: Windows) -> Loads:
        """These loads once ``reading`` was taken at ``at`` (monotonic seconds)."""
        before = self if reading.device == self.device else self.restarted()
        return Loads(
            device=reading.device,
            read=observe(before.read, reading.read_bytes, at, windows),
            write=observe(before.write, reading.written_bytes, at, windows),
            queue=observe(before.queue, reading.request_seconds, at, windows),
        )

    def restarted(self) -> Loads:
        """Only the averages: the next counters cannot be compared with the last."""
        return Loads("", restarted(self.read), restarted(self.write), restarted(self.queue))


class Scraper:
    """Scrapes one target for its elements."""

    def __init__(
        self,
        target: Target,
        elements: Sequence[ElementSettings],
        collector: Collector[Any],
        windows: Windows,
    ) -> None:
        self.target = target
        self._elements = tuple(elements)
        self._collector = collector
        self._windows = windows
        self._source = collector.open(target)
        self._loads = {element.id: Loads() for element in elements}
        self._records = {
            element.id: Record(element=element.id, source=target.collector, target=target.url)
            for element in elements
        }

    def records(self) -> tuple[Record, ...]:
        """What is known now, in the order of the settings."""
        return tuple(self._records.values())

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
            sample = self._collector.parse(reply.body)
            for element in self._elements:
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

    def _record(self, sample: object, element: ElementSettings, at: Moment) -> Record:
        last = self._records[element.id]
        try:
            reading = self._collector.reading(sample, element)
        except ElementMissingError as absence:
            self._loads[element.id] = self._loads[element.id].restarted()
            unseen = Record(element=last.element, source=last.source, target=last.target)
            return replace(unseen, at=last.at, detail=str(absence))
        loads = self._loads[element.id].after(reading, at.monotonic, self._windows)
        self._loads[element.id] = loads
        return Record(
            element=last.element,
            source=last.source,
            target=last.target,
            at=at,
            device=reading.device,
            read=_pair(loads.read),
            write=_pair(loads.write),
            queue_depth=loads.queue.current.value,
            free_bytes=reading.free_bytes,
            size_bytes=reading.size_bytes,
            read_only=reading.read_only,
            missing=False,
            detail=reading.note,
        )


def _pair(rate: Rate) -> RatePair:
    known = rate.last is not None
    return RatePair(
        current=rate.current.value if known else None,
        average=rate.average.value if known else None,
    )


def scrapers(settings: Settings, collectors: Mapping[str, Collector[Any]]) -> tuple[Scraper, ...]:
    """One scraper per target of ``settings``, in their order."""
    windows = Windows(
        current=settings.current_window_seconds,
        average=settings.average_window_seconds,
        longest_gap=settings.stale_after_seconds,
    )
    return tuple(
        Scraper(
            target,
            [element for element in settings.elements if element.target == target.name],
            collectors[target.collector],
            windows,
        )
        for target in settings.targets
    )
