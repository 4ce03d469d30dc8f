"""The words of the knowledge base: kinds of requirement with their units, and profiles.

Which kinds there are is data of the service; the portal names none, so that one added there appears
here with its label, definition and units.  What is not described any more keeps its plain name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ses_webface.selection_model import Requirement


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
    def field(self) -> str:
        """Return the name of its fields in a form; never one of the form's own."""
        return "kind_" + self.name.replace("-", "_")

    @property
    def title(self) -> str:
        """Return the label as a heading."""
        return self.label[:1].upper() + self.label[1:]

    @property
    def bound(self) -> str:
        """Return what its number is called."""
        return "At most" if self.at_most else "At least"

    @property
    def units(self) -> tuple[str, ...]:
        """Return the units to choose from: one symbol for each size, the kind's own before others."""
        chosen: dict[float, str] = {}
        for unit, size in self.sizes:
            if chosen.get(size) != self.unit:
                chosen[size] = unit
        return tuple(chosen.values())

    def size(self, unit: str) -> float:
        """Return how many of the kind's unit one ``unit`` is.  Raises KeyError for another one."""
        return dict(self.sizes)[unit]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Kind:
        """Read one member of ``kinds``."""
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
            default_weight=float(data["default_weight"]),
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """Requirements under the name of what a program does."""

    name: str
    label: str
    definition: str
    requirements: tuple[Requirement, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Profile:
        """Read one member of ``profiles``."""
        return cls(
            name=str(data["profile"]),
            label=str(data["label"]),
            definition=str(data["definition"]),
            requirements=tuple(Requirement.read(item) for item in data["requirements"]),
        )


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Kinds in the order of the service, profiles by name."""

    kinds: tuple[Kind, ...] = ()
    profiles: tuple[Profile, ...] = ()

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Vocabulary:
        """Read the answer of ``GET /v1/vocabulary``."""
        return cls(
            tuple(Kind.read(item) for item in data["kinds"]),
            tuple(Profile.read(item) for item in data["profiles"]),
        )

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
