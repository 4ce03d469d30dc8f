"""What the selection service makes of a sentence about a program, read once at the edge."""

from __future__ import annotations

from dataclasses import dataclass

from ses_webface.selection_model import Json, Requirement


@dataclass(frozen=True, slots=True)
class Parameter:
    """A quantity of the sentence, or its standard value, as it is written."""

    name: str
    definition: str
    value: str


@dataclass(frozen=True, slots=True)
class Derived:
    """One requirement, and its formula with the values in it."""

    requirement: Requirement
    arithmetic: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a sentence was understood as, and what follows from it."""

    workload: str
    definition: str
    parameters: tuple[Parameter, ...]
    derived: tuple[Derived, ...]

    @classmethod
    def read(cls, data: Json) -> Expansion:
        """Read the answer of ``POST /v1/workloads/expansions``."""
        return cls(
            workload=str(data["workload"]),
            definition=str(data["definition"]),
            parameters=tuple(
                Parameter(str(one["name"]), str(one["definition"]), str(one["value"]))
                for one in data["parameters"]
            ),
            derived=tuple(
                Derived(Requirement.read(one["requirement"]), str(one["arithmetic"]))
                for one in data["derived"]
            ),
        )
