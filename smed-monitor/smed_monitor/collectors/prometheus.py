"""A Prometheus server instead of the exporters themselves, where those cannot be reached.

Asks one instant query for each metric (several in one query cost ten times as much there) and one for
the times of the samples: Prometheus repeats a value for minutes after its exporter died, so a value
counts as new only when its time moved.
"""

import time
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from smed_monitor.collectors.base import Collector, Reply, Source
from smed_monitor.collectors.http import HttpSource
from smed_monitor.collectors.prometheus_api import vector
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ElementMissingError
from smed_monitor.core.model import Reading

QUERIES: Mapping[str, str] = {
    "stamp": 'max by (target) (timestamp({__name__=~"lustre_capacity_ki(lo|bi)bytes",component="ost"}))',
    "read_bytes": 'sum by (target) (lustre_read_bytes_total{component="ost"})',
    "written_bytes": 'sum by (target) (lustre_write_bytes_total{component="ost"})',
    "free": 'max by (target) ({__name__=~"lustre_available_ki(lo|bi)bytes",component="ost"})',
    "size": 'max by (target) ({__name__=~"lustre_capacity_ki(lo|bi)bytes",component="ost"})',
    "degraded": 'max by (target) (lustre_degraded{component="ost"})',
}
"""The time comes first: an OST that has one has everything else in the answers after it."""
Vectors = Mapping[str, Mapping[str, float]]
"""OST -> what it is (a key of QUERIES) -> value."""


class Prometheus(Collector[Vectors]):
    """OSTs as any of the Lustre exporters gave them to Prometheus."""

    finds_by = "ost"

    def open(self, target: Target) -> Source:
        """One question with several queries."""
        return QuerySource(target)

    def parse(self, body: bytes) -> Vectors:
        """The vectors, by OST.  Raises ContentError for anything but good answers."""
        osts: dict[str, dict[str, float]] = {}
        for field, line in zip(QUERIES, body.split(b"\n"), strict=False):
            for labels, value in vector(line):
                if "target" in labels:
                    osts.setdefault(labels["target"], {})[field] = value
        return osts

    def names(self, sample: Vectors) -> Iterable[str]:
        """The OSTs Prometheus has a size of."""
        return [ost for ost, values in sample.items() if "stamp" in values]

    def reading(self, sample: Vectors, element: ElementSettings) -> Reading:
        """The counters and space of the element's OST."""
        values = sample.get(element.ost or "", {})
        if "stamp" not in values:
            raise ElementMissingError(f"Prometheus has no OST {element.ost}: is its exporter scraped?")
        return Reading(
            device=element.ost or "",
            read_bytes=values.get("read_bytes", 0.0),
            written_bytes=values.get("written_bytes", 0.0),
            free_bytes=values["free"] * 1024 if "free" in values else None,
            size_bytes=values["size"] * 1024 if "size" in values else None,
            degraded=bool(values.get("degraded")),
            stamp=values["stamp"],
        )


class QuerySource(Source):
    """Asks every query in turn, each on a connection of its own that is kept, all within one time-out."""

    def __init__(self, target: Target) -> None:
        base = (target.url or "").rstrip("/")
        self._seconds = target.timeout_seconds
        self._sources = [
            HttpSource(target.model_copy(update={"url": f"{base}/api/v1/query?query={quote(query)}"}))
            for query in QUERIES.values()
        ]

    def read(self) -> Reply:
        """One line of JSON for each query."""
        deadline = time.monotonic() + self._seconds
        replies = [source.read(deadline) for source in self._sources]
        return Reply(b"\n".join(reply.body.replace(b"\n", b" ") for reply in replies), replies[0].at)

    def close(self) -> None:
        """Close the connections."""
        for source in self._sources:
            source.close()
