"""The monitor's own /metrics, in the Prometheus format, made from the table when asked.

Figures of an element that is not ``ok`` are left out, so that Prometheus ends their series instead
of drawing a frozen line; age and state are always there.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from smed_monitor.core.model import ONE_SIDED, Observation, State
from smed_monitor.state.table import Table, TargetHealth


class TableCollector(Collector):
    """Feeds prometheus_client from a table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def collect(self) -> Iterable[Metric]:
        """All families, from one snapshot."""
        snapshot = self._table.snapshot()
        yield from _element_families(snapshot.observations)
        yield from _target_families(self._table.health())
        yield GaugeMetricFamily(
            "smed_sequence", "Outcomes of scrapes since the monitor started.", value=snapshot.sequence
        )


def exposition(table: Table) -> bytes:
    """The page."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(TableCollector(table))
    return generate_latest(registry)


def _element_families(observations: Iterable[Observation]) -> Iterator[Metric]:
    rate = ["element", "window"]
    read = GaugeMetricFamily("smed_element_read_bytes_per_second", "Rate of reads.", labels=rate)
    write = GaugeMetricFamily("smed_element_write_bytes_per_second", "Rate of writes.", labels=rate)
    queue = GaugeMetricFamily("smed_element_queue_depth", "Mean requests in flight.", labels=["element"])
    service = GaugeMetricFamily(
        "smed_element_service_seconds", "Mean time of one operation.", labels=["element"]
    )
    degraded = GaugeMetricFamily("smed_element_degraded", "1 when it says it is slow.", labels=["element"])
    no_create = GaugeMetricFamily("smed_element_no_create", "1 when it takes no files.", labels=["element"])
    capability = GaugeMetricFamily(
        "smed_element_capability_bytes_per_second",
        "What it can give at best.",
        labels=["element", "direction", "source"],
    )
    free = GaugeMetricFamily("smed_element_free_bytes", "Space users can still write.", labels=["element"])
    size = GaugeMetricFamily("smed_element_size_bytes", "Size of the file system.", labels=["element"])
    read_only = GaugeMetricFamily("smed_element_read_only", "1 when mounted read-only.", labels=["element"])
    age = GaugeMetricFamily("smed_element_age_seconds", "Time since the last sample.", labels=["element"])
    state = GaugeMetricFamily("smed_element_state", "1 for the state it is in.", labels=["element", "state"])
    for observation in observations:
        record = observation.record
        name = record.element
        for each in State:
            state.add_metric([name, each.value], float(each is observation.state))
        if observation.age_seconds is not None:
            age.add_metric([name], observation.age_seconds)
        if observation.state is not State.OK:
            continue
        read_only.add_metric([name], float(record.read_only))
        degraded.add_metric([name], float(record.degraded))
        no_create.add_metric([name], float(record.no_create))
        for family, labels, value in (
            (read, [name, "current"], record.read.current),
            (read, [name, "average"], record.read.average),
            (write, [name, "current"], record.write.current),
            (write, [name, "average"], record.write.average),
            (queue, [name], record.queue_depth),
            (service, [name], record.service_seconds),
            (capability, [name, "read", record.capability_source], record.read_capability),
            (capability, [name, "write", record.capability_source], record.write_capability),
            (free, [name], record.free_bytes),
            (size, [name], record.size_bytes),
        ):
            if value is not None:
                family.add_metric(labels, value)
    yield from (read, write, queue, service, capability)
    yield from (free, size, read_only, degraded, no_create, age, state)


def _target_families(targets: Iterable[TargetHealth]) -> Iterator[Metric]:
    seconds = SummaryMetricFamily("smed_scrape_duration_seconds", "Time of scrapes.", labels=["target"])
    last = GaugeMetricFamily(
        "smed_scrape_last_duration_seconds", "Time of the last scrape.", labels=["target"]
    )
    one_sided = GaugeMetricFamily(
        "smed_target_one_sided",
        "1 when smed-mirror reads it from memory of its node, 0 when it asks over TCP.",
        labels=["target"],
    )
    up = GaugeMetricFamily("smed_target_up", "1 when the last scrape was good.", labels=["target"])
    failures = CounterMetricFamily(
        "smed_scrape_failures", "Scrapes that failed, by reason.", labels=["target", "reason"]
    )
    skipped = CounterMetricFamily(
        "smed_scrape_skipped", "Scrapes left out because the last one was not over.", labels=["target"]
    )
    for target in targets:
        seconds.add_metric([target.name], count_value=target.scrapes, sum_value=target.seconds)
        up.add_metric([target.name], float(bool(target.scrapes) and not target.error))
        skipped.add_metric([target.name], target.skipped)
        if target.way:
            one_sided.add_metric([target.name], float(target.way == ONE_SIDED))
        if target.last_seconds is not None:
            last.add_metric([target.name], target.last_seconds)
        for reason, count in sorted(target.failures.items()):
            failures.add_metric([target.name, reason], count)
    yield from (seconds, last, up, one_sided, failures, skipped)
