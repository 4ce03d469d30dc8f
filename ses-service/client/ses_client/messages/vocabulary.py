"""The words of the knowledge base: kinds of requirement with their units, profiles, sentences.

Which kinds there are is data of the service.  What is not described any more keeps its plain name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from ses_client.messages.message import Message
from ses_client.messages.requirements import MeasuredRun, Requirement, ShownUnit


class Kind(Message):
    """A kind of requirement.  `bound` says which one it takes; answers are in `unit`.

    `sizes` has how many of `unit` one of each of `units` is.  Requests may name the kind by one of
    `spellings`, too.
    """

    kind: str
    spellings: Sequence[str] = ()
    label: str
    definition: str
    bound: Annotated[str, Literal["minimum", "maximum"]] = "minimum"
    unit: ShownUnit
    units: Sequence[str]
    sizes: Mapping[str, float]
    default_weight: float = 1.0

    @classmethod
    def of(cls, data: Any) -> Self:
        """Make one of decoded JSON; raises ValueError for one with a unit that has no size, too."""
        kind = super().of(data)
        if not all(math.isfinite(kind.sizes[unit]) and kind.sizes[unit] > 0 for unit in kind.units):
            raise ValueError(f"a unit of {kind.kind} has no size")
        return kind

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.kind)

    @property
    def at_most(self) -> bool:
        """Whether less is better."""
        return self.bound == "maximum"

    @property
    def choices(self) -> tuple[str, ...]:
        """The units to choose from: one symbol for each size, the kind's own before others."""
        chosen: dict[float, str] = {}
        for unit in self.units:
            if chosen.get(self.sizes[unit]) != self.unit:
                chosen[self.sizes[unit]] = unit
        return tuple(chosen.values())

    @property
    def title(self) -> str:
        """The label as a heading."""
        return self.label[:1].upper() + self.label[1:]

    def size(self, unit: str) -> float:
        """Return how many of the kind's unit one ``unit`` is.  Raises KeyError for another one."""
        return self.sizes[unit]


class Profile(Message):
    """Requirements under the name of what a program does.

    One that a person stored has who did and when, and what was measured of the program, if it was.
    """

    profile: str
    label: str
    definition: str
    requirements: Sequence[Requirement]
    measured: MeasuredRun | None = None
    modified_at: float | None = None
    modified_by: str | None = None


class Workload(Message):
    """What a program does, as a sentence with quantities; `example` is one that is understood."""

    workload: str
    definition: str
    example: str


class Vocabulary(Message):
    """Kinds in the order of answers, profiles and workloads by name."""

    kinds: Sequence[Kind] = ()
    profiles: Sequence[Profile] = ()
    workloads: Sequence[Workload] = ()

    def kind(self, name: str) -> Kind | None:
        """Return a kind, None for one that is not described."""
        return next((kind for kind in self.kinds if kind.kind == name), None)

    def label(self, name: str) -> str:
        """Return the words for a kind."""
        kind = self.kind(name)
        return kind.title if kind else name

    def rank(self, name: str) -> int:
        """Return where a kind comes in lists; those that are not described come last."""
        return next((place for place, kind in enumerate(self.kinds) if kind.kind == name), len(self.kinds))

    def profile(self, name: str | None) -> Profile | None:
        """Return a profile, None for one that is not described."""
        return next((profile for profile in self.profiles if profile.profile == name), None)

    def required_by(self, profile: str | None) -> Sequence[Requirement]:
        """Return what a profile requires; nothing for none and for one that is not described."""
        described = self.profile(profile)
        return described.requirements if described else ()


class Parameter(Message):
    """A parameter, its meaning and the value that was used."""

    name: str
    definition: str
    value: str


class Derived(Message):
    """One requirement, the formula of its bound, and the formula with the values in it."""

    requirement: Requirement
    formula: str = ""
    arithmetic: str


class Expansion(Message):
    """What a sentence was understood as, and what follows.  Nothing is stored."""

    workload: str
    phrase: str = ""
    definition: str
    parameters: Sequence[Parameter]
    derived: Sequence[Derived]
