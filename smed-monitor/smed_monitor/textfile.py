"""Metrics for node_exporter's textfile directory, so that an OSS needs no exporter of Lustre of its own.

Written whole and renamed into place, as node_exporter asks for; the file says when it was written,
because node_exporter repeats it for ever.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from smed_monitor.collectors.base import Collector
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import UnreachableError
from smed_monitor.core.model import Reading, now
from smed_monitor.core.quotas import Quota
from smed_monitor.quotas import lustre
from smed_monitor.quotas.page import page as quota_page
from smed_monitor.quotas.watch import PERIOD_SECONDS
from smed_monitor.state.replacing import replacing

SERIES = {
    "smed_ost_read_bytes_total": "Bytes read.",
    "smed_ost_written_bytes_total": "Bytes written.",
    "smed_ost_operations_total": "Reads and writes finished.",
    "smed_ost_busy_microseconds_total": "Time they took together.",
    "smed_ost_available_kibibytes": "Space users can still write.",
    "smed_ost_size_kibibytes": "Size.",
    "smed_ost_degraded": "1 when degraded.",
    "smed_ost_read_only": "1 when read-only.",
    "smed_ost_no_create": "1 when it takes no files.",
    "smed_ost_counters_started_seconds": "When the counters were zero, epoch.",
    "smed_ost_written_timestamp_seconds": "When this was written, epoch.",
}


def page(readings: Mapping[str, Reading], at: float) -> bytes:
    """OST -> reading as Prometheus text, written at ``at`` (epoch seconds)."""
    registry = CollectorRegistry(auto_describe=False)
    gauges = {
        name: Gauge(name, about, ["component", "target"], registry=registry) for name, about in SERIES.items()
    }
    for ost, reading in sorted(readings.items()):
        values = (
            reading.read_bytes,
            reading.written_bytes,
            reading.operations,
            _scaled(reading.busy_seconds, 1e6),
            _scaled(reading.free_bytes, 1 / 1024),
            _scaled(reading.size_bytes, 1 / 1024),
            float(reading.degraded),
            float(reading.read_only),
            float(reading.no_create),
            reading.started,
            at,
        )
        for gauge, value in zip(gauges.values(), values, strict=True):
            if value is not None:
                gauge.labels("ost", ost).set(value)
    return generate_latest(registry)


class Server:
    """One server of a Lustre: its OSTs, and the quotas if it has the first MDT."""

    def __init__(self, target: Target, collector: Collector[Any], names: lustre.Names) -> None:
        self._root = Path(target.root)
        self._collector = collector
        self._source = collector.open(target)
        self._names = names
        self._quotas: list[Quota] = []
        self._looked_at = -math.inf

    def page(self) -> bytes:
        """Return what is to be written now; quotas are looked at once a minute.  Raises MonitorError."""
        at = now()
        if at.monotonic - self._looked_at >= PERIOD_SECONDS:
            self._quotas = lustre.read(self._root, self._names, at.wall)
            self._looked_at = at.monotonic
        quotas = quota_page(self._quotas) if self._quotas else b""
        try:
            reply = self._source.read()
        except UnreachableError:
            if quotas:
                return quotas
            raise
        collector, sample = self._collector, self._collector.parse(reply.body)
        elements = [
            ElementSettings(id="local/ost", target="local", ost=ost) for ost in collector.names(sample)
        ]
        readings = {str(each.ost): collector.reading(sample, each) for each in elements}
        return page(readings, reply.at.wall) + quotas


def write(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` in one step, readable by everyone.  Raises OSError."""
    with replacing(path) as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o644)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
