"""The words of the knowledge base: kinds of requirement with their units, profiles, sentences.

Which kinds there are is data of the service.  What is not described any more keeps its plain name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from ses_client.answers.reading import Answer, At, Part
from ses_client.answers.requirements import Requirement


def _sizes(data: Any) -> tuple[tuple[str, float], ...]:
    sizes = tuple((str(unit), float(data["sizes"][unit])) for unit in data["units"])
    if not all(math.isfinite(size) and size > 0 for _unit, size in sizes):
        raise ValueError(f"a unit of {data['kind']} has no size")
    return sizes


def _is_maximum(bound: Any) -> bool:
    return bool(bound == "maximum")


@dataclass(frozen=True, slots=True)
class Kind(Part):
    """One kind of requirement; ``sizes`` has how many of ``unit`` one of each of its units is."""

    name: Annotated[str, At("kind")]
    label: str
    definition: str
    unit: str
    sizes: Annotated[tuple[tuple[str, float], ...], At("", _sizes)]
    at_most: Annotated[bool, At("bound", _is_maximum)] = False
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


@dataclass(frozen=True, slots=True)
class MeasuredRun(Part):
    """What a program moved and computed in the run a profile is from: bytes, seconds, cores used at once."""

    read_bytes: float
    written_bytes: float
    seconds: float
    processor_seconds: float
    cores: int


@dataclass(frozen=True, slots=True)
class Profile(Part):
    """Requirements under the name of what a program does; who stored it and when, if a person did."""

    name: Annotated[str, At("profile")]
    label: str
    definition: str
    requirements: tuple[Requirement, ...]
    measured: MeasuredRun | None = None
    modified_by: str | None = None
    modified_at: float | None = None


@dataclass(frozen=True, slots=True)
class Workload(Part):
    """A kind of sentence about a program; ``example`` is one of its sentences."""

    name: Annotated[str, At("workload")]
    definition: str
    example: str


@dataclass(frozen=True, slots=True)
class Vocabulary(Answer):
    """Kinds in the order of the service, profiles and workloads by name; older services tell no workloads."""

    kinds: tuple[Kind, ...] = ()
    profiles: tuple[Profile, ...] = ()
    workloads: tuple[Workload, ...] = ()

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
class Parameter(Part):
    """A quantity of a sentence about a program, or its standard value, as it is written."""

    name: str
    definition: str
    value: str


@dataclass(frozen=True, slots=True)
class Derived(Part):
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
