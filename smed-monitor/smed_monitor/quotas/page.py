"""Quotas as Prometheus text: written on a server for node_exporter, read by the monitor from its page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from smed_monitor.collectors.exposition import Reader
from smed_monitor.core.quotas import Kind, Quota

USED, LIMIT, WRITTEN = (
    "smed_quota_used_bytes",
    "smed_quota_limit_bytes",
    "smed_quota_written_timestamp_seconds",
)
SERIES = {
    USED: "What a user, group or project has stored.",
    LIMIT: "What it may store.",
    WRITTEN: "When this was written, epoch.",
}

_KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class _Meaning:
    series: str
    filesystem: str
    kind: Kind | None = None
    id: int = 0
    name: str = ""


def page(quotas: Iterable[Quota]) -> bytes:
    """Return quotas as Prometheus text."""
    registry = CollectorRegistry(auto_describe=False)
    labels = ["filesystem", "kind", "id", "name"]
    used, limit = (Gauge(name, SERIES[name], labels, registry=registry) for name in (USED, LIMIT))
    written = Gauge(WRITTEN, SERIES[WRITTEN], ["filesystem"], registry=registry)
    for quota in quotas:
        used.labels(quota.filesystem, quota.kind, quota.id, quota.name).set(quota.used_bytes)
        limit.labels(quota.filesystem, quota.kind, quota.id, quota.name).set(quota.limit_bytes)
        written.labels(quota.filesystem).set(quota.sampled_at)
    return generate_latest(registry)


def quotas_of(body: bytes, reader: Reader[_Meaning]) -> list[Quota]:
    """Return the quotas on a page.  Raises ContentError.

    A file system of which the page does not say when it was written is left out.
    """
    series = reader.read(body)
    written = {what.filesystem: at for what, at in series.items() if what.series == WRITTEN}
    used = {_key(what): value for what, value in series.items() if what.series == USED}
    return [
        Quota(
            meaning.filesystem,
            meaning.kind,
            meaning.id,
            meaning.name,
            used[_key(meaning)],
            limit,
            written[meaning.filesystem],
        )
        for meaning, limit in series.items()
        if meaning.series == LIMIT
        and meaning.kind
        and _key(meaning) in used
        and meaning.filesystem in written
    ]


def new_reader() -> Reader[_Meaning]:
    """Return a reader for the pages of one target."""
    return Reader(frozenset(SERIES), _meaning)


def _key(what: _Meaning) -> tuple[str, Kind | None, int]:
    return what.filesystem, what.kind, what.id


def _meaning(series: str, labels: Mapping[str, str]) -> _Meaning | None:
    if series == WRITTEN:
        return _Meaning(series, labels["filesystem"])
    if labels["kind"] not in _KINDS or not labels["id"].isdigit():
        return None
    return _Meaning(
        series, labels["filesystem"], Kind(labels["kind"]), int(labels["id"]), labels.get("name", "")
    )
