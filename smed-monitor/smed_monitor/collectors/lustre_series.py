"""What the exporters of Lustre servers have in common: series of OSTs, one for each ``target``.

Rules that hold for all of them: only ``component="ost"`` counts (clients export the same names), a
target's series are added up over all other labels, sizes are KiB whatever the name says, and a
counter that is absent while the target itself is there is an idle one: zero.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from smed_monitor.collectors.base import Collector, Source
from smed_monitor.collectors.exposition import Reader, beginning
from smed_monitor.collectors.http import HttpSource
from smed_monitor.collectors.layout import Fill, Pages, filler
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ContentError, ElementMissingError
from smed_monitor.core.model import Reading

KIB = 1024.0
COMMON: Mapping[str, str] = {
    "lustre_read_bytes_total": "read_bytes",
    "lustre_write_bytes_total": "written_bytes",
    "lustre_read_samples_total": "operations",
    "lustre_write_samples_total": "operations",
    "lustre_available_kilobytes": "free",
    "lustre_capacity_kilobytes": "size",
}
"""Names that several exporters have from the first one."""
OstSample = Mapping[str, Mapping[str, float]]
"""OST name -> what it is (a field of Dialect) -> value."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one exporter names what the monitor wants; ``fields`` maps a series' name to its meaning.

    ``operations`` are series that say something else for each value of their ``operation`` label:
    (name, operation) to meaning.
    """

    who: str
    fields: Mapping[str, str]
    operations: Mapping[tuple[str, str], str] = field(default_factory=dict)


class LustreExporter(Collector[OstSample]):
    """An exporter of OSTs with the names of ``dialect``."""

    finds_by = "ost"

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        names = frozenset(dialect.fields) | {name for name, _ in dialect.operations}
        self._reader = Reader(names, self._meaning)

    def open(self, target: Target) -> Source:
        """Plain HTTP."""
        return HttpSource(target)

    def parse(self, body: bytes) -> OstSample:
        """Keep the series of OSTs.  A page without one is refused."""
        osts = _by_ost(self._reader.read(body))
        if not osts and b"lustre_" not in body:
            raise ContentError(f"is not the page of {self.dialect.who} (it begins with {beginning(body)})")
        return osts

    def parser(self) -> Callable[[bytes], OstSample]:
        """Remembers the layout of the last page."""
        return Pages(self._reader, self.parse, _form).parse

    def names(self, sample: OstSample) -> Iterable[str]:
        """The names of the OSTs this server has mounted."""
        return sample.keys()

    def reading(self, sample: OstSample, element: ElementSettings) -> Reading:
        """Counters and space of the element's OST."""
        if element.ost not in sample:
            raise ElementMissingError(
                f"{self.dialect.who} reports no OST {element.ost}: is it mounted on another server now?"
            )
        values = sample[element.ost or ""]
        busy = values["busy_microseconds"] / 1e6 if "busy_microseconds" in values else None
        return Reading(
            device=element.ost or "",
            read_bytes=values.get("read_bytes", 0.0),
            written_bytes=values.get("written_bytes", 0.0),
            operations=values.get("operations", 0.0),
            busy_seconds=busy,
            request_seconds=busy,
            in_flight=values.get("in_flight"),
            free_bytes=_bytes(values.get("free")),
            size_bytes=_bytes(values.get("size")),
            read_only=bool(values.get("read_only")),
            degraded=bool(values.get("degraded")),
            no_create=bool(values.get("no_create")),
            started=values.get("started"),
            stamp=values.get("stamp"),
        )

    def _meaning(self, name: str, labels: Mapping[str, str]) -> tuple[str, str] | None:
        if labels.get("component", "ost") != "ost" or "target" not in labels:
            return None
        field = self.dialect.fields.get(name) or self.dialect.operations.get(
            (name, labels.get("operation", ""))
        )
        return (labels["target"], field) if field else None


def _by_ost(values: Mapping[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    osts: dict[str, dict[str, float]] = {}
    for (ost, what), value in values.items():
        osts.setdefault(ost, {})[what] = value
    return osts


def _form(meanings: Sequence[tuple[str, str]]) -> Fill[OstSample]:
    """Sorts the places of the values by OST as the values themselves would be."""
    return filler(_by_ost({each: place for place, each in enumerate(meanings)}))


def _bytes(kib: float | None) -> float | None:
    return None if kib is None else kib * KIB
