"""What the monitor talks about: moments, readings, rates, observations.

Pure data, no I/O.  Sizes are bytes, rates bytes per second, times seconds.
"""

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on two clocks: ``monotonic`` for differences, ``wall`` (epoch) for people.

    The wall clock may be stepped at any time, so no rate and no age is ever computed from it.
    """

    monotonic: float
    wall: float


def now() -> Moment:
    """Both clocks, read together."""
    return Moment(monotonic=time.monotonic(), wall=time.time())


ONE_SIDED, PULL = "one-sided", "pull"
"""How a mirrored table comes from its node: read from its memory, or asked for over TCP."""


class State(StrEnum):
    """`ok`: seen recently. `stale`: seen, but too long ago. `missing`: not seen, or no longer."""

    OK = "ok"
    STALE = "stale"
    MISSING = "missing"


class ServerQueue(NamedTuple):
    """The queue that the elements of one server share, and the operations of all of them, as counters.

    ``request_seconds`` grows by the requests waiting or served every second.
    """

    request_seconds: float
    operations: float


@dataclass(slots=True)  # not frozen: 10,000 are made every second, and freezing triples the time
class Reading:
    """What one sample says about one element: raw counters and space.

    ``device`` is whose counters these are; when it changes, the counters cannot be compared.
    ``request_seconds`` grows by the number of requests in flight every second, ``in_flight`` is that
    number at the moment of the sample.  ``operations`` counts finished ones, ``busy_seconds`` the time
    they took together.  ``started`` changes when the counters were set to zero, ``stamp`` whenever the
    source itself looked again.  ``server_queue`` stands in where an element's own queue is not visible.
    ``None`` means the target does not say; ``note`` says why.
    """

    device: str
    read_bytes: float | None = None
    written_bytes: float | None = None
    request_seconds: float | None = None
    operations: float | None = None
    busy_seconds: float | None = None
    in_flight: float | None = None
    free_bytes: float | None = None
    size_bytes: float | None = None
    read_only: bool = False
    degraded: bool = False
    no_create: bool = False
    started: float | None = None
    stamp: float | None = None
    note: str = ""
    server_queue: ServerQueue | None = None


class RatePair(NamedTuple):
    """One rate over the short and the long window, bytes per second; ``None`` while unknown."""

    current: float | None = None
    average: float | None = None


UNKNOWN = RatePair()


@dataclass(slots=True)  # not frozen, for the same reason
class Record:
    """The latest knowledge about one element, as of ``at``; never changed, only replaced.

    ``missing`` is set when the latest good answer of the target lacks the element (``at`` is then
    when it was seen last), or when there has been no good answer yet.  ``service_seconds`` is the mean
    time of one operation over the short window.  A capability (bytes per second) is what the element
    can give at best; its source is ``given``, ``measured`` or ``learned``.  ``encoded`` is what the
    first answer that held the record made of it, for the next ones; no copy takes it along.
    ``gap`` is how long before ``at`` the sample before was taken, ``interval`` how far apart samples are:
    the shorter of the last two gaps, so that one that is late says nothing yet.
    """

    element: str
    source: str
    target: str
    at: Moment | None = None
    device: str = ""
    read: RatePair = UNKNOWN
    write: RatePair = UNKNOWN
    queue_depth: float | None = None
    service_seconds: float | None = None
    free_bytes: float | None = None
    size_bytes: float | None = None
    read_only: bool = False
    degraded: bool = False
    no_create: bool = False
    read_capability: float | None = None
    write_capability: float | None = None
    capability_source: str = ""
    missing: bool = True
    detail: str = "not scraped yet"
    gap: float | None = None
    interval: float | None = None
    encoded: bytes | None = field(default=None, init=False, repr=False, compare=False)


class Observation(NamedTuple):
    """A record together with what depends on the time of asking."""

    record: Record
    state: State
    age_seconds: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one scrape of one target ended.

    Either ``records`` holds one record per element of the target, or ``error`` says what went
    wrong, with ``reason`` as its short word.  ``way`` is that of the collector's reply.
    """

    target: str
    duration_seconds: float
    records: tuple[Record, ...] = ()
    error: str = ""
    reason: str = ""
    way: str = ""
