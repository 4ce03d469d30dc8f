"""The site: storage elements as they are now, storage systems, and the service's own state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Message
from ses_client.messages.nodes import ExcludedElement
from ses_client.messages.selections import Rates

StateName = Literal["active", "degraded", "draining", "read-only", "inactive"]
_FLAGS = {"read_only": "read only", "degraded": "degraded", "no_create": "no new files"}


class RatePair(Message):
    """A rate over the monitor's short and its long window, bytes per second."""

    current: float | None = None
    average: float | None = None


class Observation(Message):
    """What the monitor last saw of an element.

    ``degraded``: it works on with less than it has, such as a RAID without a disk.  ``no_create``: it takes
    no new files, though those that are there can be written.
    """

    element: str = ""
    source: str = ""
    target: str = ""
    state: Annotated[str, Literal["ok", "stale", "missing"]]
    sampled_at: float | None = None
    age_seconds: float | None = None
    read_bytes_per_second: RatePair = RatePair()
    write_bytes_per_second: RatePair = RatePair()
    queue_depth: float | None = None
    free_bytes: float | None = None
    size_bytes: float | None = None
    read_only: bool = False
    degraded: bool = False
    no_create: bool = False
    detail: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What keeps files away from it, in words."""
        return tuple(words for name, words in _FLAGS.items() if self.get(name))

    @property
    def load_unseen(self) -> str:
        """Why there is no rate though it is looked at; empty: there is one, or it is not looked at."""
        rates = self.read_bytes_per_second.current, self.write_bytes_per_second.current
        return "" if self.state != "ok" or rates != (None, None) else self.detail


class Element(Message):
    """One element: static facts, the last observation, and what a stream would get now.

    `state_reason` is the administrator's; the state ends by itself at `state_until` (ISO 8601).
    `server_link_mb_s` is what the link of its server carries for all elements there.
    `free_bytes_per_day` is how the free space changes, by a line through the last weeks, null before a day of
    samples; at that pace it is used up in `full_in_days`, null where it is not within ten years.
    `excluded` names the nodes whose files cannot go there.
    """

    id: str
    iri: str = ""
    label: str = ""
    storage_system: str
    backend: str
    mount_point: str = ""
    target: str
    file_system: str | None = None
    server: str = ""
    tier: str | None = None
    pool: str | None = None
    state: Annotated[str, StateName]
    state_reason: str | None = None
    state_until: str | None = None
    capacity_bytes: float | None = None
    nominal: Rates = Rates()
    server_link_mb_s: float | None = None
    observation: Observation | None = None
    available: Rates = Rates()
    open_placements: int = 0
    reserved_bytes: float = 0.0
    excluded: Sequence[ExcludedElement] = ()
    free_bytes_per_day: float | None = None
    full_in_days: float | None = None

    @property
    def name(self) -> str:
        """Its label, or its id where it has none."""
        return self.label or self.id

    @property
    def observed(self) -> str:
        """How the monitor sees it: ``ok``, ``stale`` or ``missing``."""
        return self.observation.state if self.observation else "missing"

    @property
    def age_seconds(self) -> float | None:
        """The age of what the monitor says; None: it has not seen it."""
        return self.observation.age_seconds if self.observation else None

    @property
    def free_bytes(self) -> float | None:
        """What it can still take in."""
        return self.observation.free_bytes if self.observation else None

    @property
    def size_bytes(self) -> float | None:
        """Its capacity as the monitor sees it, else as it is stated."""
        return (self.observation and self.observation.size_bytes) or self.capacity_bytes


class HistoryPoint(Message):
    """Means over one step, which ended `at`."""

    at: float
    read_mb_s: float | None = None
    write_mb_s: float | None = None
    queue_depth: float | None = None


class History(Message):
    """What an element did, the oldest step first; steps of which nothing is known are left out.

    `source` is where the monitor has it from, `detail` why it is not a better one.
    """

    element: str = ""
    since: float
    until: float
    step_seconds: float
    source: str
    detail: str
    points: Sequence[HistoryPoint]


class MonitorSource(Message):
    """The monitor, as this service sees it.  ``age_seconds`` is since its last answer."""

    url: str | None = None
    reachable: bool
    age_seconds: float | None = None


class KnowledgeBaseSource(MonitorSource):
    """The knowledge base, as this service sees it."""

    revision: str | None = None


class Sources(Message):
    """What the service reads, as it sees it."""

    monitor: MonitorSource
    knowledge_base: KnowledgeBaseSource

    @property
    def sources(self) -> tuple[tuple[str, MonitorSource], ...]:
        """Both by their names in words."""
        return ("monitor", self.monitor), ("knowledge base", self.knowledge_base)


class Inventory(Sources):
    """Every element that was asked for."""

    generated_at: float = 0.0
    elements: Sequence[Element]


class StorageSystem(Message):
    """One mounted file system, or a set of directories, which has no mount point.

    Later kinds (`backend`) may come: a caller leaves alone what it does not know.
    """

    name: str
    backend: str
    mount_point: str
    elements: int = 0


class StorageSystems(Message):
    """Every storage system of the site."""

    storage_systems: Sequence[StorageSystem]


class Health(Message):
    """The process answers."""

    status: Annotated[str, Literal["ok"]]


class Check(Message):
    """One thing the service needs."""

    name: str
    ok: bool
    detail: str = ""


class Readiness(Message):
    """Whether decisions are made, and whether with less than there should be, by which version."""

    ready: bool = False
    degraded: bool = False
    version: str = ""
    checks: Sequence[Check] = ()
