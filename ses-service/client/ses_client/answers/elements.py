"""The site: storage elements as they are now, storage systems, and the service's own state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ses_client.answers.nodes import ExcludedElement
from ses_client.answers.reading import Answer, At, Part, number

_FLAGS = {"read_only": "read only", "degraded": "degraded", "no_create": "no new files"}


def _flags(data: Any) -> tuple[str, ...]:
    return tuple(words for name, words in _FLAGS.items() if data.get(name))


@dataclass(frozen=True, slots=True)
class Observation(Part):
    """What the monitor says of one element.  Rates are bytes per second over the current window.

    ``flags`` are what keeps files away from it, in words.
    """

    state: str
    age_seconds: float | None = None
    exporter: Annotated[str, At("target")] = ""
    read_rate: Annotated[float | None, At("read_bytes_per_second.current")] = None
    write_rate: Annotated[float | None, At("write_bytes_per_second.current")] = None
    free_bytes: float | None = None
    detail: str = ""
    flags: Annotated[tuple[str, ...], At("", _flags)] = ()

    @property
    def load_unseen(self) -> str:
        """Why there is no rate though it is looked at; empty: there is one, or it is not looked at."""
        known = self.state != "ok" or self.read_rate is not None or self.write_rate is not None
        return "" if known else self.detail


def _label(data: Any) -> str:
    return str(data.get("label") or data["id"])


def _capacity(data: Any) -> float | None:
    found = (data.get("observation") or {}).get("size_bytes") or data.get("capacity_bytes")
    return None if found is None else number(found)


@dataclass(frozen=True, slots=True)
class Element(Part):
    """One storage element.  ``read`` and ``write`` are what a stream that starts now would get.

    ``capacity_bytes`` is what the monitor sees, else what is stated.  ``reason`` and ``until`` (ISO 8601) are
    what an administrator said of its state.  ``server_link`` is what the link of its server carries for all
    of its elements (MB/s).  ``free_per_day`` is how its free space changes (bytes), which at
    that pace is used up in ``full_in_days``.
    """

    id: str
    storage_system: str
    backend: str
    target: str
    state: str
    label: Annotated[str, At("", _label)] = ""
    server: str = ""
    mount_point: str = ""
    file_system: str = ""
    iri: str = ""
    pool: str = ""
    tier: str = ""
    reason: Annotated[str, At("state_reason")] = ""
    until: Annotated[str, At("state_until")] = ""
    nominal_read: Annotated[float | None, At("nominal.read_mb_s")] = None
    nominal_write: Annotated[float | None, At("nominal.write_mb_s")] = None
    server_link: Annotated[float | None, At("server_link_mb_s")] = None
    read: Annotated[float | None, At("available.read_mb_s")] = None
    write: Annotated[float | None, At("available.write_mb_s")] = None
    capacity_bytes: Annotated[float | None, At("", _capacity)] = None
    observation: Observation | None = None
    open_placements: int = 0
    reserved_bytes: float = 0.0
    excluded: tuple[ExcludedElement, ...] = ()
    free_per_day: Annotated[float | None, At("free_bytes_per_day")] = None
    full_in_days: float | None = None

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


@dataclass(frozen=True, slots=True)
class Source(Part):
    """Something the service reads: the monitor, or the knowledge base (which has a revision)."""

    name: str
    reachable: bool
    age_seconds: float | None = None
    url: str | None = None
    revision: str | None = None


Monitor = Annotated[Source, At("monitor", lambda data: Source.of({"name": "monitor", **data}))]
KnowledgeBase = Annotated[
    Source, At("knowledge_base", lambda data: Source.of({"name": "knowledge base", **data}))
]


@dataclass(frozen=True, slots=True)
class Step(Part):
    """How an element was read and written (MB/s), the mean over a step that ended ``at``."""

    at: float
    read: Annotated[float | None, At("read_mb_s")]
    write: Annotated[float | None, At("write_mb_s")]


@dataclass(frozen=True, slots=True)
class History(Answer):
    """What an element did between two moments, the oldest step first.

    ``source`` is where the monitor has it from, ``detail`` why it is not a better one.
    """

    since: float
    until: float
    step_seconds: float
    source: str
    detail: str
    steps: Annotated[tuple[Step, ...], At("points")]


@dataclass(frozen=True, slots=True)
class Inventory(Answer):
    """All elements at one moment, and the state of what the service reads."""

    elements: tuple[Element, ...]
    monitor: Monitor
    knowledge_base: KnowledgeBase
    generated_at: float | None = None

    @property
    def sources(self) -> tuple[Source, Source]:
        """Where the numbers come from."""
        return self.monitor, self.knowledge_base


@dataclass(frozen=True, slots=True)
class StorageSystem(Part):
    """One mounted file system of the site."""

    name: str
    backend: str
    mount_point: str


def storage_systems_of(data: Any) -> tuple[StorageSystem, ...]:
    """Make those of a list."""
    return tuple(map(StorageSystem.of, data["storage_systems"]))


@dataclass(frozen=True, slots=True)
class ReadyCheck(Part):
    """One line of the service's own readiness."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Readiness(Answer):
    """Whether the service says it is ready, and its own checks."""

    ready: bool = False
    checks: tuple[ReadyCheck, ...] = ()
    version: str = ""
