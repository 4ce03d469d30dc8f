"""What Prometheus may know: requests, decisions, elements, the ledger, ages of the sources.

One registry per application, read in one process.  No label holds a user, a path or a token.
"""

import collections
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ses_service.process.readiness import Readiness, ready
from ses_service.state.state import NoEnvironmentError
from ses_service.state.verdicts import ERROR_BOUNDS

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True, slots=True)
class _State(Collector):
    """State read when it is asked for."""

    parts: Readiness

    def collect(self) -> Iterator[Metric]:
        """Yield the state of the service, of ledger, sources and elements."""
        checks = self.parts.checks()
        yield GaugeMetricFamily("ses_ready", "Whether decisions can be made.", value=float(ready(checks)))
        well = GaugeMetricFamily("ses_check_ok", "1 when a check of /readyz is ok.", labels=["check"])
        for check in checks:
            well.add_metric([check.name], float(check.ok))
        yield well
        yield GaugeMetricFamily(
            "ses_ledger_open_placements", "Placements not ended.", value=self.parts.state.open_placements
        )
        ended = CounterMetricFamily("ses_placements_ended", "Placements ended, by reason.", labels=["reason"])
        for reason, count in sorted(self.parts.state.ended_total().items()):
            ended.add_metric([reason.value], count)
        yield ended
        yield from self._ledger()
        yield from self._database()
        yield from self._judged()
        up = GaugeMetricFamily("ses_source_up", "Whether a source answered last time.", labels=["source"])
        age = GaugeMetricFamily(
            "ses_source_age_seconds", "Seconds since a source's last good answer.", labels=["source"]
        )
        now = self.parts.state.now()
        sources = {"monitor": self.parts.observer.status, "knowledge-base": self.parts.site_manager.status}
        if self.parts.members is not None and self.parts.members.directory is not None:
            sources["directory"] = self.parts.members.directory
        if self.parts.members is not None and self.parts.members.keys is not None:
            sources["issuer"] = self.parts.members.keys.status
        for name, status in sources.items():
            up.add_metric([name], float(status.reachable))
            seconds = status.age(now)
            if seconds is not None:
                age.add_metric([name], seconds)
        yield up
        yield age
        elements = GaugeMetricFamily(
            "ses_elements", "Elements by state and by how they are seen.", labels=["state", "seen"]
        )
        try:
            table, now, rows = self.parts.state.elements()
        except NoEnvironmentError:
            pass
        else:
            numbers = collections.Counter(
                (table.elements[element.row].state_at(now).value, element.fresh) for element in rows
            )
            for (state, fresh), count in sorted(numbers.items()):
                elements.add_metric([state, "fresh" if fresh else "unseen"], count)
        yield elements

    def _ledger(self) -> Iterator[Metric]:
        totals = self.parts.state.ledger.totals()
        states = GaugeMetricFamily(
            "ses_ledger_placements",
            "Placements not ended, by whose they are; others: of other services.",
            labels=["state"],
        )
        states.add_metric(["open"], totals.open)
        states.add_metric(["others"], totals.of_peers)
        yield states
        yield GaugeMetricFamily("ses_nodes", "Nodes that report or are waited for.", value=totals.nodes)
        yield CounterMetricFamily("ses_nodes_silenced", "Nodes that fell silent.", value=totals.silenced)
        stalled = GaugeMetricFamily(
            "ses_node_thread_stalled_seconds",
            "For how long a thread of a node's agent has not gone on; none for those that go on.",
            labels=["node", "thread"],
        )
        for node, thread, seconds in self.parts.state.ledger.stalled():
            stalled.add_metric([node, thread], seconds)
        yield stalled
        refused = CounterMetricFamily(
            "ses_files_refused",
            "Files that were not taken: their node has too many open or began too many, or they are invalid.",
            labels=["reason"],
        )
        refused.add_metric(["too-many-open"], totals.refusals.too_many_open)
        refused.add_metric(["too-fast"], totals.refusals.too_fast)
        refused.add_metric(["invalid"], totals.refusals.invalid)
        yield refused
        yield GaugeMetricFamily(
            "ses_size_patterns",
            "Entries of the history of sizes.",
            value=self.parts.state.ledger.count_sizes(),
        )
        if self.parts.others is not None:
            yield GaugeMetricFamily(
                "ses_services_heard",
                "Other services that run on the database.",
                value=self.parts.others.running,
            )

    def _judged(self) -> Iterator[Metric]:
        totals = self.parts.state.verdicts.totals()
        files = CounterMetricFamily(
            "ses_files_judged",
            "Files with requirements that ended, by VO and verdict.",
            labels=["vo", "verdict"],
        )
        for (vo, verdict), count in sorted(totals.of_vos.items()):
            files.add_metric([vo, verdict.value], count)
        yield files
        elements = CounterMetricFamily(
            "ses_element_files_judged",
            "Files with requirements that ended, by element and verdict.",
            labels=["element", "verdict"],
        )
        for (element, verdict), count in sorted(totals.of_elements.items()):
            elements.add_metric([element, verdict.value], count)
        yield elements
        errors = HistogramMetricFamily(
            "ses_prediction_ratio",
            "Achieved over predicted rates of files whose program did not wait, by element.",
            labels=["element"],
        )
        bounds = [*map(str, ERROR_BOUNDS), "+Inf"]
        for element, counts in sorted(totals.errors.items()):
            summed = itertools.accumulate(counts)
            errors.add_metric([element], list(zip(bounds, summed, strict=True)), totals.error_sums[element])
        yield errors

    def _database(self) -> Iterator[Metric]:
        if self.parts.journal is None:
            return
        status = self.parts.journal.status
        yield GaugeMetricFamily("ses_database_up", "Whether the ledger is stored.", value=float(status.ok))
        yield GaugeMetricFamily(
            "ses_database_waiting_records", "Records that are not stored yet.", value=status.waiting
        )
        yield GaugeMetricFamily(
            "ses_database_lag_seconds",
            "How long the oldest record that is not stored yet has waited.",
            value=status.lag,
        )
        yield GaugeMetricFamily(
            "ses_damaged_ledgers",
            "Damaged ledgers that were set aside and not repaired.",
            value=len(self.parts.journal.damaged_files),
        )
        yield CounterMetricFamily("ses_database_failures", "Transactions that failed.", value=status.failures)


class Metrics:
    """The application's registry and what is counted per request."""

    def __init__(self, parts: Readiness) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "ses_requests_total", "Requests.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "ses_request_seconds",
            "Time to answer.",
            ["method", "route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._registry.register(_State(parts))

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self._registry)

    def count(self, method: str, route: str, status: int, began: float) -> None:
        """Count a request answered now; ``began`` is the time of ``time.perf_counter`` it came at."""
        known = (method, route, status)
        children = self._children.get(known)
        if children is None:
            children = self._children[known] = (
                self._requests.labels(method, route, status),
                self._seconds.labels(method, route),
            )
        children[0].inc()
        children[1].observe(time.perf_counter() - began)

    def install(self, app: Flask) -> None:
        """Count every request of the application."""

        @app.before_request
        def begin() -> None:
            g.began = time.perf_counter()

        @app.after_request
        def count(response: Response) -> Response:
            route = request.url_rule.rule if request.url_rule else "unknown"
            method = request.method if request.url_rule else "other"
            self.count(method, route, response.status_code, g.began)
            return response
