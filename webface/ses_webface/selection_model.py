"""What the selection service tells us, read once at the edge into frozen values.

Every reader takes the decoded JSON of one contract object and raises ``KeyError``, ``TypeError``
or ``ValueError`` when a member the portal needs is missing or of another type; the HTTP client
turns those into "an answer we cannot read".  Members that are not needed are ignored, so a
service that says more than today does not break the portal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a number was expected, not {value!r}")
    return float(value)


def _number_or_none(value: Any) -> float | None:
    return None if value is None else _number(value)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One minimum, or maximum if ``at_most``; in its kind's unit when it comes from the service.

    ``valid_from`` and ``valid_until`` are times as the service writes them.
    """

    kind: str
    minimum: float
    unit: str
    weight: float = 1.0
    strictness: str = "soft"
    at_most: bool = False
    valid_from: str | None = None
    valid_until: str | None = None

    @classmethod
    def read(cls, data: Json) -> Requirement:
        """Read the contract's Requirement."""
        return cls(
            kind=str(data["kind"]),
            minimum=_number(data["maximum"] if "maximum" in data else data["minimum"]),
            unit=str(data["unit"]),
            weight=_number(data.get("weight", 1.0)),
            strictness=str(data.get("strictness", "soft")),
            at_most="maximum" in data,
            valid_from=_text_or_none(data.get("valid_from")),
            valid_until=_text_or_none(data.get("valid_until")),
        )

    def write(self) -> dict[str, Any]:
        """Return the contract's Requirement."""
        return {
            "kind": self.kind,
            "maximum" if self.at_most else "minimum": self.minimum,
            "unit": self.unit,
            "weight": self.weight,
            "strictness": self.strictness,
            **({"valid_from": self.valid_from} if self.valid_from else {}),
            **({"valid_until": self.valid_until} if self.valid_until else {}),
        }


@dataclass(frozen=True, slots=True)
class Resolved:
    """A requirement and the level it was taken from, by a profile where one is named."""

    requirement: Requirement
    level: str
    level_name: str
    profile: str | None = None

    @classmethod
    def read(cls, data: Json) -> Resolved:
        """Read the contract's ResolvedRequirement."""
        return cls(
            Requirement.read(data),
            str(data["level"]),
            str(data.get("level_name") or ""),
            _text_or_none(data.get("profile")) or None,
        )


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """All requirements stated at one level under one name; ``revision`` 0 means never set."""

    level: str
    name: str
    requirements: tuple[Requirement, ...] = ()
    revision: int = 0
    modified_at: float | None = None
    modified_by: str | None = None
    profile: str | None = None

    @classmethod
    def read(cls, data: Json) -> RequirementSet:
        """Read the contract's RequirementSet."""
        return cls(
            level=str(data["level"]),
            name=str(data["name"]),
            requirements=tuple(Requirement.read(item) for item in data["requirements"]),
            revision=int(_number(data["revision"])),
            modified_at=_number_or_none(data.get("modified_at")),
            modified_by=_text_or_none(data.get("modified_by")),
            profile=_text_or_none(data.get("profile")),
        )

    def with_requirements(self, requirements: tuple[Requirement, ...]) -> RequirementSet:
        """Return the same set with other requirements."""
        return replace(self, requirements=requirements)


@dataclass(frozen=True, slots=True)
class Subject:
    """Who asks; ``vo`` None lets the service take the user's home VO."""

    user: str
    application: str | None = None
    vo: str | None = None

    @classmethod
    def read(cls, data: Json) -> Subject:
        """Read the contract's Subject."""
        return cls(str(data["user"]), _text_or_none(data.get("application")), _text_or_none(data.get("vo")))

    def write(self) -> dict[str, Any]:
        """Return the contract's Subject."""
        return {"user": self.user, "application": self.application, "vo": self.vo}


@dataclass(frozen=True, slots=True)
class Effective:
    """What applies to a subject; its ``vo`` is filled in from the knowledge base when not named."""

    subject: Subject
    requirements: tuple[Resolved, ...]

    @classmethod
    def read(cls, data: Json) -> Effective:
        """Read the answer of ``GET /v1/requirements/effective``."""
        return cls(Subject.read(data["subject"]), tuple(Resolved.read(item) for item in data["requirements"]))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one requirement would get on one element; ``shortfall`` 0 means met, 1 means nothing."""

    kind: str
    value: float | None
    unit: str
    minimum: float | None
    shortfall: float

    @classmethod
    def read(cls, data: Json) -> Prediction:
        """Read one member of ``predicted``."""
        return cls(
            kind=str(data["kind"]),
            value=_number_or_none(data.get("value")),
            unit=str(data["unit"]),
            minimum=_number_or_none(data.get("maximum", data.get("minimum"))),
            shortfall=_number_or_none(data.get("shortfall")) or 0.0,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One element a file may go to; rates MB/s, free space GB, age in seconds."""

    rank: int
    element: str
    distance: float
    read_mb_s: float | None
    write_mb_s: float | None
    free_gb: float | None
    predicted: tuple[Prediction, ...]
    age_seconds: float | None
    basis: str

    @classmethod
    def read(cls, data: Json) -> Candidate:
        """Read one member of ``candidates``."""
        available = data.get("available") or {}
        return cls(
            rank=int(_number(data["rank"])),
            element=str(data["element"]),
            distance=_number(data["distance"]),
            read_mb_s=_number_or_none(available.get("read_mb_s")),
            write_mb_s=_number_or_none(available.get("write_mb_s")),
            free_gb=_number_or_none(data.get("free_gb")),
            predicted=tuple(Prediction.read(item) for item in data.get("predicted") or ()),
            age_seconds=_number_or_none(data.get("age_seconds")),
            basis=str(data.get("basis") or ""),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """One element that was not considered, the reason's name and a sentence about it."""

    element: str
    reason: str
    detail: str

    @classmethod
    def read(cls, data: Json) -> Refusal:
        """Read one member of ``refused``."""
        return cls(str(data["element"]), str(data["reason"]), str(data.get("detail") or ""))


@dataclass(frozen=True, slots=True)
class Selection:
    """The ranking some requirements give at one moment."""

    decided_at: float | None
    requirements: tuple[Resolved, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    notes: tuple[str, ...]

    @classmethod
    def read(cls, data: Json) -> Selection:
        """Read the answer of ``POST /v1/selections``."""
        return cls(
            decided_at=_number_or_none(data.get("decided_at")),
            requirements=tuple(Resolved.read(item) for item in data["requirements"]),
            candidates=tuple(Candidate.read(item) for item in data["candidates"]),
            refused=tuple(Refusal.read(item) for item in data["refused"]),
            notes=tuple(str(note) for note in data.get("notes") or ()),
        )


@dataclass(frozen=True, slots=True)
class Element:
    """One storage element as it is now.  ``age_seconds`` None: the monitor has not seen it."""

    id: str
    label: str
    storage_system: str
    backend: str
    server: str
    target: str
    tier: str | None
    state: str
    read_mb_s: float | None
    write_mb_s: float | None
    nominal_read_mb_s: float | None
    nominal_write_mb_s: float | None
    capacity_bytes: float | None
    free_bytes: float | None
    observed: str
    age_seconds: float | None
    open_placements: int
    reserved_bytes: float

    @classmethod
    def read(cls, data: Json) -> Element:
        """Read one member of the answer of ``GET /v1/elements``."""
        nominal, available = data.get("nominal") or {}, data.get("available") or {}
        seen = data.get("observation") or {}
        return cls(
            id=str(data["id"]),
            label=str(data.get("label") or data["id"]),
            storage_system=str(data["storage_system"]),
            backend=str(data.get("backend") or ""),
            server=str(data.get("server") or ""),
            target=str(data.get("target") or ""),
            tier=_text_or_none(data.get("tier")),
            state=str(data["state"]),
            read_mb_s=_number_or_none(available.get("read_mb_s")),
            write_mb_s=_number_or_none(available.get("write_mb_s")),
            nominal_read_mb_s=_number_or_none(nominal.get("read_mb_s")),
            nominal_write_mb_s=_number_or_none(nominal.get("write_mb_s")),
            capacity_bytes=_number_or_none(seen.get("size_bytes"))
            or _number_or_none(data.get("capacity_bytes")),
            free_bytes=_number_or_none(seen.get("free_bytes")),
            observed=str(seen.get("state") or ("ok" if seen else "missing")),
            age_seconds=_number_or_none(seen.get("age_seconds")),
            open_placements=int(_number(data.get("open_placements", 0))),
            reserved_bytes=_number(data.get("reserved_bytes", 0)),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """Something the service reads from (monitor, knowledge base) and whether it can."""

    name: str
    reachable: bool
    age_seconds: float | None

    @classmethod
    def read(cls, name: str, data: Json) -> Source:
        """Read ``monitor`` or ``knowledge_base``."""
        return cls(name, bool(data.get("reachable")), _number_or_none(data.get("age_seconds")))


@dataclass(frozen=True, slots=True)
class Storage:
    """All elements at one moment, and where the numbers come from."""

    generated_at: float | None
    elements: tuple[Element, ...]
    sources: tuple[Source, ...]

    @classmethod
    def read(cls, data: Json) -> Storage:
        """Read the answer of ``GET /v1/elements``."""
        return cls(
            generated_at=_number_or_none(data.get("generated_at")),
            elements=tuple(Element.read(item) for item in data["elements"]),
            sources=(
                Source.read("monitor", data.get("monitor") or {}),
                Source.read("knowledge base", data.get("knowledge_base") or {}),
            ),
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one file went and why; times are seconds since the epoch.

    ``candidates`` and ``refused`` are empty in lists and filled when one placement is asked for.
    """

    id: str
    state: str
    subject: Subject
    element: str
    storage_system: str
    target: str
    path: str | None
    distance: float
    predicted: tuple[Prediction, ...]
    requirements: tuple[Resolved, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    booked_at: float | None
    opened_at: float | None
    ended_at: float | None
    end_reason: str | None
    bytes_written: float | None

    @property
    def application(self) -> str | None:
        """Return the program that made the file."""
        return self.subject.application

    @property
    def achieved_mb_s(self) -> float | None:
        """Return bytes written over the time the file was open, or None when that says nothing."""
        if self.bytes_written is None or self.opened_at is None or self.ended_at is None:
            return None
        seconds = self.ended_at - self.opened_at
        return self.bytes_written / seconds / 1e6 if seconds > 0 and self.bytes_written > 0 else None

    @classmethod
    def read(cls, data: Json) -> Placement:
        """Read the contract's placement record."""
        return cls(
            id=str(data["placement_id"]),
            state=str(data["state"]),
            subject=Subject.read(data["subject"]),
            element=str(data["element"]),
            storage_system=str(data.get("storage_system") or ""),
            target=str(data.get("target") or ""),
            path=_text_or_none(data.get("path")),
            distance=_number(data["distance"]),
            predicted=tuple(Prediction.read(item) for item in data.get("predicted") or ()),
            requirements=tuple(Resolved.read(item) for item in data.get("requirements") or ()),
            candidates=tuple(Candidate.read(item) for item in data.get("candidates") or ()),
            refused=tuple(Refusal.read(item) for item in data.get("refused") or ()),
            booked_at=_number_or_none(data.get("booked_at")),
            opened_at=_number_or_none(data.get("opened_at")),
            ended_at=_number_or_none(data.get("ended_at")),
            end_reason=_text_or_none(data.get("end_reason")),
            bytes_written=_number_or_none(data.get("bytes_written")),
        )
