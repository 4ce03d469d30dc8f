"""The answer to ``GET /v1/observations`` as bytes: each record is encoded once, however many readers ask.

Only state, age and detail depend on the moment of asking; they stand at the end of an observation, and
all that one scrape saw has the same.  Says what ``schemas.ObservationsOut`` says, which a test compares.
"""

from collections.abc import Iterable

import orjson

from smed_monitor.core.model import Observation, Record
from smed_monitor.core.rates import Windows
from smed_monitor.state.table import Snapshot


def observations_json(snapshot: Snapshot, windows: Windows, *, complete: bool = True) -> bytes:
    """``snapshot`` as JSON; ``complete`` says that it holds every element."""
    head = b'{"sequence":%d,"complete":%s,"current_window_seconds":%b,"average_window_seconds":%b,' % (
        snapshot.sequence,
        b"true" if complete else b"false",
        orjson.dumps(windows.current),
        orjson.dumps(windows.average),
    )
    head += b'"observations":['
    return head + b",".join(_observations(snapshot.observations)) + b"]}"


def _observations(observations: Iterable[Observation]) -> Iterable[bytes]:
    last: tuple[object, ...] = ()
    ending = b""
    for record, state, age, detail in observations:
        if (state, age, detail) != last:
            last = (state, age, detail)
            asked = {"state": state.value, "age_seconds": age, "detail": detail}
            ending = b"," + orjson.dumps(asked)[1:]
        yield (record.encoded or _encoded(record)) + ending


def _encoded(record: Record) -> bytes:
    """What does not change with the time of asking, without its closing brace; kept on the record."""
    facts = {
        "element": record.element,
        "source": record.source,
        "target": record.target,
        "sampled_at": record.at.wall if record.at else None,
        "interval_seconds": None if record.interval is None else round(record.interval, 3),
        "read_bytes_per_second": {"current": record.read.current, "average": record.read.average},
        "write_bytes_per_second": {"current": record.write.current, "average": record.write.average},
        "queue_depth": record.queue_depth,
        "service_seconds": record.service_seconds,
        "free_bytes": record.free_bytes,
        "size_bytes": record.size_bytes,
        "read_only": record.read_only,
        "degraded": record.degraded,
        "no_create": record.no_create,
        "read_capability_bytes_per_second": record.read_capability,
        "write_capability_bytes_per_second": record.write_capability,
        "capability_source": record.capability_source,
    }
    record.encoded = orjson.dumps(facts)[:-1]
    return record.encoded
