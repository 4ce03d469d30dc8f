"""What an element did: from Prometheus where one knows it, else from the ring in memory.

Prometheus is asked for at most the points of one answer, on a connection of its own, within the time-out
of the settings; whatever goes wrong there, the ring answers and says why.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from smed_monitor.collectors.http import HttpSource
from smed_monitor.collectors.prometheus_api import matrix, range_address
from smed_monitor.config.settings import HistorySettings, Target
from smed_monitor.core.errors import CollectorError, ContentError
from smed_monitor.core.model import Record
from smed_monitor.state.history import Point, Ring

REPLY_BYTES = 4 * 1024 * 1024
OWN = {
    "read": 'avg_over_time(smed_element_read_bytes_per_second{{window="current",element="{name}"}}[{step}])',
    "write": "avg_over_time(smed_element_write_bytes_per_second"
    '{{window="current",element="{name}"}}[{step}])',
    "queue_depth": 'avg_over_time(smed_element_queue_depth{{element="{name}"}}[{step}])',
}
"""PromQL for what a Prometheus server has from this monitor's /metrics; ``name`` is the element's."""
LUSTRE = {
    "read": 'sum(rate(lustre_read_bytes_total{{component="ost",target="{name}"}}[{step}]))',
    "write": 'sum(rate(lustre_write_bytes_total{{component="ost",target="{name}"}}[{step}]))',
}
"""PromQL for what a Prometheus server has from the exporters of Lustre; ``name`` is the OST's."""


@dataclass(frozen=True, slots=True)
class ElementHistory:
    """``source`` is ``prometheus`` or ``memory``; ``detail`` says why it is not the better one."""

    source: str
    detail: str
    points: list[Point]


def element_history(
    record: Record, ring: Ring, settings: HistorySettings, since: float, until: float, step: float
) -> ElementHistory:
    """The means of ``record``'s element over each step in (since, until] (epoch seconds)."""
    base, queries, name = _server_for(record, settings)
    detail = ""
    if base is not None:
        try:
            points = _asked(base, queries, name, settings.timeout_seconds, since, until, step)
        except CollectorError as error:
            detail = f"from memory, because Prometheus at {base} {error}"
        else:
            if points:
                return ElementHistory("prometheus", "", points)
            detail = f"from memory, because Prometheus at {base} has nothing about {name}"
    return ElementHistory("memory", detail, ring.points(record.element, since, until, step))


def _server_for(record: Record, settings: HistorySettings) -> tuple[str | None, Mapping[str, str], str]:
    """The server that knows the element's past, what to ask it and by which name."""
    if settings.prometheus is not None:
        return settings.prometheus, OWN, record.element
    if record.source == "prometheus" and record.device:
        return record.target, LUSTRE, record.device
    return None, {}, ""


def _asked(
    base: str,
    queries: Mapping[str, str],
    name: str,
    seconds: float,
    since: float,
    until: float,
    step: float,
) -> list[Point]:
    """What the server says; asked at the ends of the steps, so that it means what the ring means."""
    deadline = time.monotonic() + seconds
    first = (since // step + 1) * step
    values: dict[float, dict[str, float]] = {}
    for what, query in queries.items():
        text = query.format(name=name, step=f"{round(step * 1000)}ms")
        target = Target.model_construct(
            name="history",
            collector="prometheus",
            url=range_address(base, text, first, until, step),
            timeout_seconds=seconds,
            max_reply_bytes=REPLY_BYTES,
        )
        source = HttpSource(target)
        try:
            series = matrix(source.read(deadline).body)
        finally:
            source.close()
        if len(series) > 1:
            raise ContentError(f"has several series of {name}: do two monitors watch it?")
        for at, value in (point for each in series for point in each):
            if isfinite(value):
                values.setdefault(at, {})[what] = value
    return [
        Point(at, known.get("read"), known.get("write"), known.get("queue_depth"))
        for at, known in sorted(values.items())
    ]
