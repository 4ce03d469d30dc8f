"""Prometheus metrics of one portal (one process, many threads: plain counters suffice)."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


class Metrics:
    """The counters of one application object; names no person, address or file."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "ses_webface_requests",
            "Pages and forms answered.",
            ["endpoint", "status"],
            registry=self._registry,
        )
        self.sign_ins = Counter(
            "ses_webface_sign_ins", "Attempts to sign in.", ["result"], registry=self._registry
        )
        self._calls = Histogram(
            "ses_webface_service_call_seconds",
            "Calls to the selection service, by method and outcome (an HTTP status, or a word).",
            ["method", "outcome"],
            registry=self._registry,
        )

    def service_call(self, method: str, outcome: str, seconds: float) -> None:
        """Count one call to the selection service."""
        self._calls.labels(method, outcome).observe(seconds)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
