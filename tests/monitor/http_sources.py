"""What the monitor asks by HTTP."""

from smed_monitor.collectors.http import HttpSource
from smed_monitor.config.settings import Target


def http_source(url: str, timeout_seconds: float = 10, max_reply_bytes: int = 2**20) -> HttpSource:
    """A source of a node_exporter, that has no connection yet."""
    limits = {"timeout_seconds": timeout_seconds, "max_reply_bytes": max_reply_bytes}
    return HttpSource(Target(name="n1", collector="node_exporter", url=url, **limits))
