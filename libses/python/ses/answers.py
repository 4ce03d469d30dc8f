"""What the service answers, as far as the command line shows it.

One frozen dataclass per thing of ``ses-service/openapi.yaml``, each made by ``of()`` from decoded
JSON.  Fields the command line does not show are not kept; unknown ones are ignored; a missing or
misshapen one raises BadAnswerError.  Rates are MB/s, capacities GB, times seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ses.errors import BadAnswerError

T = TypeVar("T")


def parse(what: str, make: Callable[[Any], T], data: Any) -> T:
    """Return ``make(data)``; anything misshapen in ``data`` becomes a BadAnswerError."""
    try:
        return make(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadAnswerError(
            f"The service's answer about {what} is not as its contract says ({error!r}). "
            "Is something else listening at this address, or are the versions different?"
        ) from error


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One bound, a minimum unless ``at_most``, with where it came from when the service resolved it.

    Without a weight it has the one of its kind.  Times are as ISO 8601 writes them.
    """

    kind: str
    bound: float
    unit: str
    weight: float | None = None
    strictness: str = "soft"
    level: str | None = None
    level_name: str | None = None
    at_most: bool = False
    valid_from: str | None = None
    valid_until: str | None = None
    profile: str | None = None

    @classmethod
    def of(cls, data: Any) -> Requirement:
        """Make one from JSON."""
        return cls(
            kind=str(data["kind"]),
            bound=float(data["maximum"] if "maximum" in data else data["minimum"]),
            unit=str(data["unit"]),
            weight=float(data.get("weight", 1.0)),
            strictness=str(data.get("strictness", "soft")),
            level=data.get("level"),
            level_name=data.get("level_name"),
            at_most="maximum" in data,
            valid_from=data.get("valid_from"),
            valid_until=data.get("valid_until"),
            profile=data.get("profile"),
        )

    def as_json(self) -> dict[str, Any]:
        """Return what the service accepts."""
        stated = {"weight": self.weight, "valid_from": self.valid_from, "valid_until": self.valid_until}
        return {
            "kind": self.kind,
            "maximum" if self.at_most else "minimum": self.bound,
            "unit": self.unit,
            "strictness": self.strictness,
            **{name: value for name, value in stated.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """All requirements stated at one level under one name."""

    level: str
    name: str
    requirements: tuple[Requirement, ...]
    revision: int
    modified_at: float | None
    modified_by: str | None
    profile: str | None = None

    @classmethod
    def of(cls, data: Any) -> RequirementSet:
        """Make one from JSON."""
        return cls(
            level=str(data["level"]),
            name=str(data["name"]),
            requirements=tuple(Requirement.of(one) for one in data["requirements"]),
            revision=int(data["revision"]),
            modified_at=_number(data.get("modified_at")),
            modified_by=data.get("modified_by"),
            profile=data.get("profile"),
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be required: at least, or at most, in one of these units."""

    kind: str
    definition: str
    at_most: bool
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What a program moved and computed in the run a profile is from: bytes, seconds, cores used at once."""

    read_bytes: float
    written_bytes: float
    seconds: float
    processor_seconds: float
    cores: int

    @classmethod
    def of(cls, data: Any) -> MeasuredRun:
        """Make one from JSON."""
        return cls(
            float(data["read_bytes"]),
            float(data["written_bytes"]),
            float(data["seconds"]),
            float(data["processor_seconds"]),
            int(data["cores"]),
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """Requirements under the name of what a program does; who stored it, if a person did."""

    name: str
    definition: str
    requirements: tuple[Requirement, ...]
    measured: MeasuredRun | None = None
    modified_by: str | None = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The kinds and profiles a service knows."""

    kinds: tuple[Kind, ...]
    profiles: tuple[Profile, ...]

    @classmethod
    def of(cls, data: Any) -> Vocabulary:
        """Make one from JSON."""
        return cls(
            tuple(
                Kind(str(one["kind"]), str(one["definition"]), one["bound"] == "maximum", tuple(one["units"]))
                for one in data["kinds"]
            ),
            tuple(
                Profile(
                    str(one["profile"]),
                    str(one["definition"]),
                    tuple(Requirement.of(item) for item in one["requirements"]),
                    MeasuredRun.of(one["measured"]) if one.get("measured") else None,
                    one.get("modified_by"),
                )
                for one in data["profiles"]
            ),
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one element would offer for one kind, beside the bound asked for."""

    kind: str
    value: float | None
    unit: str
    bound: float | None
    shortfall: float | None

    @classmethod
    def of(cls, data: Any) -> Prediction:
        """Make one from JSON."""
        return cls(
            kind=str(data["kind"]),
            value=_number(data.get("value")),
            unit=str(data["unit"]),
            bound=_number(data.get("maximum", data.get("minimum"))),
            shortfall=_number(data.get("shortfall")),
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One ranked element of a decision."""

    rank: int
    element: str
    distance: float
    read: float | None
    write: float | None
    free_gb: float | None
    predicted: tuple[Prediction, ...]
    age_seconds: float | None
    basis: str

    @classmethod
    def of(cls, data: Any) -> Candidate:
        """Make one from JSON."""
        available = data.get("available") or {}
        return cls(
            rank=int(data["rank"]),
            element=str(data["element"]),
            distance=float(data["distance"]),
            read=_number(available.get("read_mb_s")),
            write=_number(available.get("write_mb_s")),
            free_gb=_number(data.get("free_gb")),
            predicted=tuple(Prediction.of(one) for one in data.get("predicted") or ()),
            age_seconds=_number(data.get("age_seconds")),
            basis=str(data.get("basis", "")),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """An element that was out, and why."""

    element: str
    reason: str
    detail: str

    @classmethod
    def of(cls, data: Any) -> Refusal:
        """Make one from JSON."""
        return cls(str(data["element"]), str(data["reason"]), str(data.get("detail") or ""))


@dataclass(frozen=True, slots=True)
class Selection:
    """A decision: requirements as resolved, candidates in order, refused elements."""

    requirements: tuple[Requirement, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> Selection:
        """Make one from JSON."""
        return cls(
            requirements=tuple(Requirement.of(one) for one in data["requirements"]),
            candidates=tuple(Candidate.of(one) for one in data["candidates"]),
            refused=tuple(Refusal.of(one) for one in data["refused"]),
            notes=tuple(str(one) for one in data.get("notes") or ()),
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """The record of one placed file, with the explanation when it was asked for by id.

    ``turns`` files were chosen from the same candidates, this one as number ``turn``; ``candidates`` are
    the ranks before the first of them, where its element had ``rank``.
    """

    placement_id: str
    state: str
    user: str
    application: str | None
    element: str
    target: str | None
    path: str | None
    device: int | None
    inode: str | None
    distance: float
    predicted: tuple[Prediction, ...]
    requirements: tuple[Requirement, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    booked_at: float | None
    opened_at: float | None
    end_reason: str | None
    bytes_written: float | None
    rank: int
    turn: int
    turns: int

    @classmethod
    def of(cls, data: Any) -> Placement:
        """Make one from JSON."""
        subject = data.get("subject") or {}
        return cls(
            placement_id=str(data["placement_id"]),
            state=str(data["state"]),
            user=str(subject.get("user") or ""),
            application=subject.get("application"),
            element=str(data["element"]),
            target=data.get("target"),
            path=data.get("path"),
            device=None if data.get("device") is None else int(data["device"]),
            inode=None if data.get("inode") is None else str(data["inode"]),
            distance=float(data["distance"]),
            predicted=tuple(Prediction.of(one) for one in data.get("predicted") or ()),
            requirements=tuple(Requirement.of(one) for one in data.get("requirements") or ()),
            candidates=tuple(Candidate.of(one) for one in data.get("candidates") or ()),
            refused=tuple(Refusal.of(one) for one in data.get("refused") or ()),
            booked_at=_number(data.get("booked_at")),
            opened_at=_number(data.get("opened_at")),
            end_reason=data.get("end_reason"),
            bytes_written=_number(data.get("bytes_written")),
            rank=int(data.get("rank") or 1),
            turn=int(data.get("turn") or 1),
            turns=int(data.get("turns") or 1),
        )


FLAGS = {"read_only": "read only", "degraded": "degraded", "no_create": "no new files"}


@dataclass(frozen=True, slots=True)
class Observation:
    """What the monitor says of one element.  Rates are bytes per second over the current window.

    ``flags`` are what keeps files away from it, in words.
    """

    state: str
    age_seconds: float | None
    exporter: str
    read_rate: float | None
    write_rate: float | None
    free_bytes: float | None
    detail: str
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any) -> Observation:
        """Make one from JSON."""
        return cls(
            state=str(data["state"]),
            age_seconds=_number(data.get("age_seconds")),
            exporter=str(data.get("target") or ""),
            read_rate=_number((data.get("read_bytes_per_second") or {}).get("current")),
            write_rate=_number((data.get("write_bytes_per_second") or {}).get("current")),
            free_bytes=_number(data.get("free_bytes")),
            detail=str(data.get("detail") or ""),
            flags=tuple(words for name, words in FLAGS.items() if data.get(name)),
        )


@dataclass(frozen=True, slots=True)
class Element:
    """One storage element.  ``read``/``write`` are what a stream that starts now would get, MB/s."""

    id: str
    storage_system: str
    backend: str
    mount_point: str
    target: str
    state: str
    nominal_read: float | None
    nominal_write: float | None
    read: float | None
    write: float | None
    observation: Observation | None
    open_placements: int

    @classmethod
    def of(cls, data: Any) -> Element:
        """Make one from JSON."""
        nominal, available = data.get("nominal") or {}, data.get("available") or {}
        seen = data.get("observation")
        return cls(
            id=str(data["id"]),
            storage_system=str(data["storage_system"]),
            backend=str(data["backend"]),
            mount_point=str(data["mount_point"]),
            target=str(data["target"]),
            state=str(data["state"]),
            nominal_read=_number(nominal.get("read_mb_s")),
            nominal_write=_number(nominal.get("write_mb_s")),
            read=_number(available.get("read_mb_s")),
            write=_number(available.get("write_mb_s")),
            observation=None if seen is None else Observation.of(seen),
            open_placements=int(data.get("open_placements") or 0),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """Something the service reads: the monitor, or the knowledge base (which has a revision)."""

    url: str | None
    reachable: bool
    age_seconds: float | None
    revision: str | None = None

    @classmethod
    def of(cls, data: Any) -> Source:
        """Make one from JSON."""
        revision = data.get("revision")
        return cls(
            url=data.get("url"),
            reachable=bool(data["reachable"]),
            age_seconds=_number(data.get("age_seconds")),
            revision=None if revision is None else str(revision),
        )


@dataclass(frozen=True, slots=True)
class Inventory:
    """All elements, and the state of what the service reads."""

    elements: tuple[Element, ...]
    monitor: Source
    knowledge_base: Source

    @classmethod
    def of(cls, data: Any) -> Inventory:
        """Make one from JSON."""
        return cls(
            elements=tuple(Element.of(one) for one in data["elements"]),
            monitor=Source.of(data["monitor"]),
            knowledge_base=Source.of(data["knowledge_base"]),
        )


@dataclass(frozen=True, slots=True)
class ReadyCheck:
    """One line of the service's own readiness."""

    name: str
    ok: bool
    detail: str

    @classmethod
    def of(cls, data: Any) -> ReadyCheck:
        """Make one from JSON."""
        return cls(str(data["name"]), bool(data["ok"]), str(data.get("detail") or ""))
