"""The words of the knowledge base: kinds of requirement with their units, profiles, sentences.

Which kinds there are is data of the service.  What is not described any more keeps its plain name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import Answer, maybe_number, maybe_text, number
from ses_client.answers.requirements import Requirement, requirements_of


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of requirement; ``sizes`` has how many of ``unit`` one of each of its units is."""

    name: str
    label: str
    definition: str
    unit: str
    sizes: tuple[tuple[str, float], ...]
    at_most: bool = False
    default_weight: float = 1.0

    @property
    def units(self) -> tuple[str, ...]:
        """The units to choose from: one symbol for each size, the kind's own before others."""
        chosen: dict[float, str] = {}
        for unit, size in self.sizes:
            if chosen.get(size) != self.unit:
                chosen[size] = unit
        return tuple(chosen.values())

    @property
    def title(self) -> str:
        """The label as a heading."""
        return self.label[:1].upper() + self.label[1:]

    def size(self, unit: str) -> float:
        """Return how many of the kind's unit one ``unit`` is.  Raises KeyError for another one."""
        return dict(self.sizes)[unit]

    @classmethod
    def of(cls, data: Any) -> Kind:
        """Make one from JSON."""
        sizes = tuple((str(unit), float(data["sizes"][unit])) for unit in data["units"])
        if not all(math.isfinite(size) and size > 0 for _unit, size in sizes):
            raise ValueError(f"a unit of {data['kind']} has no size")
        return cls(
            name=str(data["kind"]),
            label=str(data["label"]),
            definition=str(data["definition"]),
            unit=str(data["unit"]),
            sizes=sizes,
            at_most=data["bound"] == "maximum",
            default_weight=number(data["default_weight"]),
        )


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
            number(data["read_bytes"]),
            number(data["written_bytes"]),
            number(data["seconds"]),
            number(data["processor_seconds"]),
            int(data["cores"]),
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """Requirements under the name of what a program does; who stored it and when, if a person did."""

    name: str
    label: str
    definition: str
    requirements: tuple[Requirement, ...]
    measured: MeasuredRun | None = None
    modified_by: str | None = None
    modified_at: float | None = None

    @classmethod
    def of(cls, data: Any) -> Profile:
        """Make one from JSON."""
        return cls(
            name=str(data["profile"]),
            label=str(data["label"]),
            definition=str(data["definition"]),
            requirements=requirements_of(data["requirements"]),
            measured=MeasuredRun.of(data["measured"]) if data.get("measured") else None,
            modified_by=maybe_text(data.get("modified_by")),
            modified_at=maybe_number(data.get("modified_at")),
        )


@dataclass(frozen=True, slots=True)
class Vocabulary(Answer):
    """Kinds in the order of the service, profiles by name."""

    kinds: tuple[Kind, ...] = ()
    profiles: tuple[Profile, ...] = ()

    @classmethod
    def of(cls, data: Any) -> Vocabulary:
        """Make it from JSON."""
        return cls(tuple(map(Kind.of, data["kinds"])), tuple(map(Profile.of, data["profiles"])))

    def kind(self, name: str) -> Kind | None:
        """Return a kind, None for one that is not described."""
        return next((one for one in self.kinds if one.name == name), None)

    def label(self, name: str) -> str:
        """Return the words for a kind."""
        found = self.kind(name)
        return found.title if found else name

    def rank(self, name: str) -> int:
        """Return where a kind comes in lists; those that are not described come last."""
        return next((place for place, one in enumerate(self.kinds) if one.name == name), len(self.kinds))

    def profile(self, name: str | None) -> Profile | None:
        """Return a profile, None for one that is not described."""
        return next((one for one in self.profiles if one.name == name), None)

    def required_by(self, profile: str | None) -> tuple[Requirement, ...]:
        """Return what a profile requires; nothing for none and for one that is not described."""
        found = self.profile(profile)
        return found.requirements if found else ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A quantity of a sentence about a program, or its standard value, as it is written."""

    name: str
    definition: str
    value: str


@dataclass(frozen=True, slots=True)
class Derived:
    """One requirement, and its formula with the values in it."""

    requirement: Requirement
    arithmetic: str


@dataclass(frozen=True, slots=True)
class Expansion(Answer):
    """What a sentence about a program was understood as, and what follows from it."""

    workload: str
    definition: str
    parameters: tuple[Parameter, ...]
    derived: tuple[Derived, ...]

    @classmethod
    def of(cls, data: Any) -> Expansion:
        """Make it from JSON."""
        return cls(
            workload=str(data["workload"]),
            definition=str(data["definition"]),
            parameters=tuple(
                Parameter(str(one["name"]), str(one["definition"]), str(one["value"]))
                for one in data["parameters"]
            ),
            derived=tuple(
                Derived(Requirement.of(one["requirement"]), str(one["arithmetic"])) for one in data["derived"]
            ),
        )
