"""The site: storage elements as they are now, storage systems, and the service's own state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import Answer, maybe_number, maybe_text

_FLAGS = {"read_only": "read only", "degraded": "degraded", "no_create": "no new files"}


@dataclass(frozen=True, slots=True)
class Observation:
    """What the monitor says of one element.  Rates are bytes per second over the current window.

    ``flags`` are what keeps files away from it, in words.
    """

    state: str
    age_seconds: float | None = None
    exporter: str = ""
    read_rate: float | None = None
    write_rate: float | None = None
    free_bytes: float | None = None
    detail: str = ""
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any) -> Observation:
        """Make one from JSON."""
        return cls(
            state=str(data["state"]),
            age_seconds=maybe_number(data.get("age_seconds")),
            exporter=str(data.get("target") or ""),
            read_rate=maybe_number((data.get("read_bytes_per_second") or {}).get("current")),
            write_rate=maybe_number((data.get("write_bytes_per_second") or {}).get("current")),
            free_bytes=maybe_number(data.get("free_bytes")),
            detail=str(data.get("detail") or ""),
            flags=tuple(words for name, words in _FLAGS.items() if data.get(name)),
        )


@dataclass(frozen=True, slots=True)
class Element:
    """One storage element.  ``read`` and ``write`` are what a stream that starts now would get.

    ``capacity_bytes`` is what the monitor sees, else what is stated.  ``reason`` and ``until`` (ISO 8601) are
    what an administrator said of its state.  ``free_per_day`` is how its free space changes (bytes), which at
    that pace is used up in ``full_in_days``.
    """

    id: str
    storage_system: str
    backend: str
    target: str
    state: str
    label: str = ""
    server: str = ""
    mount_point: str = ""
    iri: str = ""
    pool: str = ""
    tier: str = ""
    reason: str = ""
    until: str = ""
    nominal_read: float | None = None
    nominal_write: float | None = None
    read: float | None = None
    write: float | None = None
    capacity_bytes: float | None = None
    observation: Observation | None = None
    open_placements: int = 0
    reserved_bytes: float = 0.0
    free_per_day: float | None = None
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

    @classmethod
    def of(cls, data: Any) -> Element:
        """Make one from JSON."""
        nominal, available = data.get("nominal") or {}, data.get("available") or {}
        seen = data.get("observation")
        return cls(
            id=str(data["id"]),
            storage_system=str(data["storage_system"]),
            backend=str(data["backend"]),
            target=str(data["target"]),
            state=str(data["state"]),
            label=str(data.get("label") or data["id"]),
            server=str(data.get("server") or ""),
            mount_point=str(data["mount_point"]),
            iri=str(data.get("iri") or ""),
            pool=str(data.get("pool") or ""),
            tier=str(data.get("tier") or ""),
            reason=str(data.get("state_reason") or ""),
            until=str(data.get("state_until") or ""),
            nominal_read=maybe_number(nominal.get("read_mb_s")),
            nominal_write=maybe_number(nominal.get("write_mb_s")),
            read=maybe_number(available.get("read_mb_s")),
            write=maybe_number(available.get("write_mb_s")),
            capacity_bytes=maybe_number((seen or {}).get("size_bytes") or data.get("capacity_bytes")),
            observation=None if seen is None else Observation.of(seen),
            open_placements=int(data.get("open_placements") or 0),
            reserved_bytes=maybe_number(data.get("reserved_bytes")) or 0.0,
            free_per_day=maybe_number(data.get("free_bytes_per_day")),
            full_in_days=maybe_number(data.get("full_in_days")),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """Something the service reads: the monitor, or the knowledge base (which has a revision)."""

    name: str
    reachable: bool
    age_seconds: float | None = None
    url: str | None = None
    revision: str | None = None

    @classmethod
    def of(cls, name: str, data: Any) -> Source:
        """Make one from JSON."""
        return cls(
            name=name,
            reachable=bool(data["reachable"]),
            age_seconds=maybe_number(data.get("age_seconds")),
            url=maybe_text(data.get("url")),
            revision=maybe_text(data.get("revision")),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """How an element was read and written (MB/s), the mean over a step that ended ``at``."""

    at: float
    read: float | None
    write: float | None


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
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, data: Any) -> History:
        """Make it from JSON."""
        return cls(
            since=float(data["since"]),
            until=float(data["until"]),
            step_seconds=float(data["step_seconds"]),
            source=str(data.get("source") or ""),
            detail=str(data.get("detail") or ""),
            steps=tuple(
                Step(
                    float(one["at"]), maybe_number(one.get("read_mb_s")), maybe_number(one.get("write_mb_s"))
                )
                for one in data["points"]
            ),
        )


@dataclass(frozen=True, slots=True)
class Inventory(Answer):
    """All elements at one moment, and the state of what the service reads."""

    elements: tuple[Element, ...]
    monitor: Source
    knowledge_base: Source
    generated_at: float | None = None

    @property
    def sources(self) -> tuple[Source, Source]:
        """Where the numbers come from."""
        return self.monitor, self.knowledge_base

    @classmethod
    def of(cls, data: Any) -> Inventory:
        """Make it from JSON."""
        return cls(
            elements=tuple(map(Element.of, data["elements"])),
            monitor=Source.of("monitor", data["monitor"]),
            knowledge_base=Source.of("knowledge base", data["knowledge_base"]),
            generated_at=maybe_number(data.get("generated_at")),
        )


@dataclass(frozen=True, slots=True)
class StorageSystem:
    """One mounted file system of the site."""

    name: str
    backend: str
    mount_point: str


def storage_systems_of(data: Any) -> tuple[StorageSystem, ...]:
    """Make those of a list."""
    return tuple(
        StorageSystem(str(one["name"]), str(one["backend"]), str(one["mount_point"]))
        for one in data["storage_systems"]
    )


@dataclass(frozen=True, slots=True)
class ReadyCheck:
    """One line of the service's own readiness."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Readiness(Answer):
    """Whether the service says it is ready, and its own checks."""

    ready: bool
    checks: tuple[ReadyCheck, ...]
    version: str = ""

    @classmethod
    def of(cls, data: Any) -> Readiness:
        """Make it from JSON."""
        checks = data.get("checks") or ()
        return cls(
            bool(data.get("ready")),
            tuple(
                ReadyCheck(str(one["name"]), bool(one["ok"]), str(one.get("detail") or "")) for one in checks
            ),
            str(data.get("version") or ""),
        )
